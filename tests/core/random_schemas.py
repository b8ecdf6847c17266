"""Random JSON schemas and tool definitions from Hypothesis, and one-member changes of them."""

import copy
from typing import Any

from hypothesis import strategies as st

from core.tool_definitions import Definition

_WORDS = st.sampled_from(["a", "b", "Rows", "of all", "first \u0441olour", " edge ", ""])
_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0]) | _WORDS
_REFERENCES = st.sampled_from(
    [
        "#",
        "#/$defs/A",
        "#/$defs/B",
        "#/properties/a",
        "#/$defs/C",
        "#/x-more",
        "https://schemas.example.com/a",
    ]
)
_TYPES = st.sampled_from(["string", "integer", "number", "object", "array", "null", "boolean"])


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    listed = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _TYPES | st.lists(_TYPES, max_size=3, unique=True),
            "properties": named,
            "$defs": st.dictionaries(st.sampled_from(["A", "B"]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
            "additionalProperties": inner | st.booleans(),
            "items": inner | listed,
            "prefixItems": listed,
            "anyOf": listed,
            "oneOf": listed,
            "allOf": listed,
            "not": inner,
            "then": inner,
            "dependencies": st.dictionaries(st.just("a"), inner | st.just(["b"]), max_size=1),
            "$ref": _REFERENCES,
            "enum": st.lists(_SCALARS, max_size=3),
            "const": _SCALARS,
            "default": _SCALARS,
            "title": _WORDS,
            "description": _WORDS,
            "examples": st.lists(_SCALARS, max_size=2),
            "minimum": st.integers(0, 2),
            "pattern": _WORDS,
            "$schema": st.sampled_from(["one", "two"]),
            "x-mcp-header": _WORDS,
            "x-more": inner | _SCALARS,
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.builds(dict) | st.fixed_dictionaries({"type": _TYPES}) | _SCALARS,
    _nested,
    max_leaves=8,
)
OBJECT_SCHEMAS = _nested(SCHEMAS)

DEFINITIONS: st.SearchStrategy[Definition] = st.fixed_dictionaries(
    {"name": st.just("look_up"), "inputSchema": OBJECT_SCHEMAS},
    optional={
        "title": st.none() | _WORDS,
        "description": st.none() | _WORDS,
        "outputSchema": st.none() | OBJECT_SCHEMAS | st.booleans(),
        "annotations": st.fixed_dictionaries(
            {},
            optional={
                "title": st.none() | _WORDS,
                "readOnlyHint": st.none() | st.booleans(),
                "destructiveHint": st.booleans(),
                "openWorldHint": st.booleans(),
                "category": _SCALARS,
            },
        ),
        "_meta": st.dictionaries(_WORDS, _SCALARS, max_size=2),
        "icons": st.lists(st.fixed_dictionaries({"src": _WORDS}), max_size=2),
        "execution": st.builds(dict),
        "x-more": _SCALARS,
    },
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict | list):
            members = list(part) if isinstance(part, dict) else list(range(len(part)))
            found += [(part, member) for member in members]
            stack += [part[member] for member in members]
    return found


@st.composite
def changed_definitions(draw: st.DrawFn) -> tuple[Definition, Definition]:
    """A definition, and the same with one member of one of its schemas dropped, exchanged or added."""
    before = draw(DEFINITIONS)
    after = copy.deepcopy(before)
    schema = after["inputSchema"]
    places = _places(schema)
    if not places or draw(st.booleans()):
        targets = [schema, *(holder[member] for holder, member in places)]
        holder = draw(st.sampled_from([part for part in targets if isinstance(part, dict)]))
        holder.update(draw(_nested(SCHEMAS)))
        return before, after
    holder, member = draw(st.sampled_from(places))
    if draw(st.booleans()):
        del holder[member]
    else:
        holder[member] = draw(SCHEMAS)
    return before, after


PAIRS = st.tuples(DEFINITIONS, DEFINITIONS) | changed_definitions()


def reordered(value: Any) -> Any:
    """The same value, members in the other order and whole numbers spelt as fractions."""
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [reordered(item) for item in value]
    return float(value) if type(value) is int else value

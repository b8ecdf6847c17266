"""Digests and classes of definitions: what moves them, what must not, and what is refused."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolvet.core.errors import ContractError
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.tool_mapping import ToolMapping
from toolvet.mcp.catalog import catalog_of_definitions
from toolvet.mcp.definition import implementation_id, schema_digest, side_effect_class

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)
DEFINITIONS = st.dictionaries(TEXT, VALUES, min_size=1, max_size=5)
MAPPING = ToolMapping("org.example", "1.0.0", "capability:org.example/x")


def shuffled(value, rng):
    if isinstance(value, dict):
        items = [(key, shuffled(item, rng)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def members(value, path=()):
    """Paths of every object member at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from members(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from members(item, (*path, index))


def changed(value, path, mutation):
    if isinstance(value, list):
        return [
            changed(item, path[1:], mutation) if index == path[0] else item
            for index, item in enumerate(value)
        ]
    if len(path) > 1:
        return {
            key: changed(item, path[1:], mutation) if key == path[0] else item for key, item in value.items()
        }
    return mutation(value, path[0])


def without(value, key):
    return {name: item for name, item in value.items() if name != key}


MUTATIONS = {
    "replaced": lambda value, key: value | {key: {"was": value[key]}},
    "removed": without,
    "renamed": lambda value, key: without(value, key) | {max(value) + "x": value[key]},
    "added": lambda value, _: value | {max(value) + "x": None},
}


@given(DEFINITIONS, st.randoms(use_true_random=False))
def test_key_order_never_moves_a_digest(definition, rng):
    assert implementation_id(shuffled(definition, rng)) == implementation_id(definition)
    schemas = {"inputSchema": definition, "outputSchema": definition}
    assert schema_digest(shuffled(schemas, rng)) == schema_digest(schemas)


@given(DEFINITIONS, st.sampled_from(sorted(MUTATIONS)), st.data())
def test_any_one_member_mutation_moves_the_digests(definition, mutation, data):
    path = data.draw(st.sampled_from(list(members(definition))))
    other = changed(definition, path, MUTATIONS[mutation])
    assert implementation_id(other) != implementation_id(definition)
    assert schema_digest({"inputSchema": other}) != schema_digest({"inputSchema": definition})


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


@given(st.permutations([tool(f"t{index}") for index in range(6)]))
def test_listing_order_never_moves_the_catalog_digest(definitions):
    in_order = sorted(definitions, key=lambda item: item["name"])
    assert (
        catalog_of_definitions(definitions, MAPPING).digest
        == catalog_of_definitions(in_order, MAPPING).digest
    )


def test_the_implementation_id_is_that_of_the_standard_form():
    definition = {
        "b": 1.0,
        "a": [1e21, 0.000001, 1e-7, -0.0, True, None],
        "\U00010000": "é/\u007f\n",
        "\uffff": {},
    }
    # RFC 8785: numbers as ECMAScript prints them, members by UTF-16 code unit, only what must be is escaped.
    canonical = '{"a":[1e+21,0.000001,1e-7,0,true,null],"b":1,"\U00010000":"é/\u007f\\n","\uffff":{}}'
    preimage = b"toolvet.dev/mcp-tool-definition.v1\0" + canonical.encode()
    assert implementation_id(definition) == "sha256:" + hashlib.sha256(preimage).hexdigest()


@pytest.mark.parametrize(
    "value",
    [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}],
    ids=ascii,
)
def test_what_the_form_cannot_say_is_refused(value):
    with pytest.raises(ContractError, match=r"^definition: not_canonical$") as caught:
        implementation_id({"name": "a", "x": [value]})
    assert caught.value.__context__ is None


def test_an_absent_output_schema_is_null_and_not_the_empty_one():
    plain = {"inputSchema": {"type": "object"}}
    assert schema_digest(plain) == schema_digest(plain | {"outputSchema": None})
    assert (
        len({schema_digest(plain | extra) for extra in ({}, {"outputSchema": {}}, {"outputSchema": True})})
        == 3
    )


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        ({}, "input_schema: missing"),
        ({"inputSchema": None}, "input_schema: missing"),
        ({"inputSchema": []}, "input_schema: invalid_type"),
        ({"inputSchema": True}, "input_schema: invalid_type"),
        ({"inputSchema": {}, "outputSchema": "x"}, "output_schema: invalid_type"),
    ],
)
def test_bad_schemas(definition, error):
    with pytest.raises(ContractError) as caught:
        schema_digest(definition)
    assert str(caught.value) == error


HINT = st.sampled_from([True, False, None, ...])


@given(HINT, HINT, HINT, HINT)
def test_the_class_follows_mcp_order_and_defaults(read_only, destructive, idempotent, open_world):
    given_hints = zip(
        ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"),
        (read_only, destructive, idempotent, open_world),
        strict=True,
    )
    annotations = {"title": "x"} | {name: value for name, value in given_hints if value is not ...}
    if read_only is True:
        expected = SideEffectClass.READ_ONLY
    elif destructive is not False:
        expected = SideEffectClass.DESTRUCTIVE
    elif idempotent is True:
        expected = SideEffectClass.IDEMPOTENT_WRITE
    else:
        expected = SideEffectClass.NON_IDEMPOTENT_WRITE
    assert side_effect_class({"annotations": annotations}) is expected


@pytest.mark.parametrize("name", ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
@pytest.mark.parametrize("value", ["false", 0, 1, 1.0, [], {}])
def test_only_booleans_count(name, value):
    with pytest.raises(ContractError, match=r"^annotations: invalid_hint$"):
        side_effect_class({"annotations": {name: value}})


def test_annotations_are_an_object_or_absent():
    assert side_effect_class({}) is side_effect_class({"annotations": None}) is SideEffectClass.DESTRUCTIVE
    with pytest.raises(ContractError, match=r"^annotations: invalid_type$"):
        side_effect_class({"annotations": [True]})


@pytest.mark.parametrize(
    "name", ["a b", "ä", "1st", "_x", "a/b", "\u212aelvin", "x" * 65, "-", "tool:x.y/z", "a@1.0.0"]
)
def test_a_name_that_does_not_fit_is_not_bent(name):
    with pytest.raises(ContractError, match=r"^tools\[1\]\.name: unmapped_tool$"):
        MAPPING.resolve(["fits", name])


def test_names_that_become_one_collide():
    with pytest.raises(ContractError, match=r"^tools\[2\]\.tool_id: collision$"):
        MAPPING.resolve(["other", "read_file", "Read.File"])


def test_versions_stated_elsewhere_let_a_name_come_twice_and_leave_none_to_the_mapping():
    plain = ToolMapping("org.example", None, "capability:org.example/x")
    found = plain.resolve(["read", "read"], ["1.0.0", "1.10.0"])
    assert [(item.tool_id[-4:], item.version) for item in found] == [("read", "1.0.0"), ("read", "1.10.0")]
    for mapping, error in (
        (MAPPING, r"^mapping\.defaults\.version: stated_elsewhere$"),
        (replace(plain, tools={"read": {"version": "1.0.0"}}), r"^mapping\.tools\[0\]\.version: stated_else"),
        (plain, r"^tools\[0\]\.version: invalid_semver$"),
    ):
        with pytest.raises(ContractError, match=error):
            mapping.resolve(["read"], ["1.0.0-rc.1"])

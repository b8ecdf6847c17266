"""One schema as a whole: its references resolved within it, and what each part accepts.

References are followed in the same document only: nothing is ever fetched. Every question is answered in
time linear in the document, whatever the references look like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from toolvet.core.schema_keywords import BRANCHES, EXTRA_INPUTS, INPUT_MAPS

ALL_TYPES: Final = frozenset({"null", "boolean", "object", "array", "integer", "fraction", "string"})
"""JSON's types; ``number`` is integers and fractions, so that ``integer`` is part of it."""
MAX_HOPS: Final = 16
MAX_ROUNDS: Final = 32

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_DECLARED = {name: frozenset({name}) for name in ALL_TYPES - {"fraction"}}
_DECLARED["number"] = frozenset({"integer", "fraction"})


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a schema accepts, as far as types, listed values and named inputs tell."""

    types: frozenset[str]
    finite: bool
    """Whether listed values (enum, const) are all it accepts."""
    inputs: bool
    """Whether it declares an input."""


_ANYTHING = Acceptance(ALL_TYPES, finite=False, inputs=False)
_NOTHING = Acceptance(frozenset(), finite=True, inputs=False)


class SchemaDocument:
    """Answers questions about the parts of one schema; the schema must not change meanwhile."""

    def __init__(self, root: object) -> None:
        self.root = root
        self.input_names: set[str] = set()
        """Every name declared under ``properties``, wherever."""
        self._anchors: dict[str, object] = {}
        self._targets: dict[str, object | None] = {}
        self._flat: dict[int, tuple[dict[str, object], tuple[object, ...]]] = {}
        self._accepted: dict[int, Acceptance | None] = {}
        nodes = self._survey()
        self._merges = 4 * nodes + 1024  # members that flattening may copy, all in all

    def _survey(self) -> int:
        stack, nodes = [self.root], 0
        while stack:
            value = stack.pop()
            nodes += 1
            if isinstance(value, list):
                stack.extend(value)
            elif isinstance(value, dict):
                stack.extend(value.values())
                declared = value.get("properties")
                if isinstance(declared, dict):
                    self.input_names.update(declared)
                for keyword in ("$anchor", "$dynamicAnchor"):
                    anchor = value.get(keyword)
                    if isinstance(anchor, str):
                        self._anchors.setdefault(anchor, value)
        return nodes

    def target(self, reference: object) -> object | None:
        """Return what a reference within the document leads to, ``None`` where it leads nowhere in it."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        if reference not in self._targets:
            self._targets[reference] = self._resolve(unquote(reference[1:]))
        return self._targets[reference]

    def _resolve(self, pointer: str) -> object | None:
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        found = self.root
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found

    def flat(self, node: dict[str, object]) -> tuple[dict[str, object], tuple[object, ...]]:
        """Return a schema with its references replaced by what they lead to, and the targets on the way.

        A ``$ref`` stays where its target states a keyword that stands beside it, leads nowhere, or would
        make the document grow: the caller then compares it as a part of its own.
        """
        known = self._flat.get(id(node))
        if known is None:
            known = self._flat[id(node)] = self._flatten(node)
        return known

    def _flatten(self, node: dict[str, object]) -> tuple[dict[str, object], tuple[object, ...]]:
        passed: list[object] = []
        merged, seen = node, {id(node)}
        while "$ref" in merged and len(passed) < MAX_HOPS:
            target = self.target(merged["$ref"])
            if not isinstance(target, dict) or id(target) in seen:
                break
            beside = merged.keys() - {"$ref"}
            if beside:
                self._merges -= len(beside) + len(target)
                if self._merges < 0 or not beside.isdisjoint(target.keys()):
                    break
                merged = {**target, **{name: merged[name] for name in beside}}
            else:
                merged = target
            passed.append(target)
            seen.add(id(target))
        return merged, tuple(passed)

    def acceptance(self, node: object) -> Acceptance | None:
        """Return what a schema accepts, or ``None`` where its references are too entangled to tell."""
        if not isinstance(node, dict):
            return _ANYTHING if node is not False else _NOTHING
        if id(node) not in self._accepted:
            self._settle(node)
        return self._accepted[id(node)]

    def types_of(self, node: object) -> frozenset[str] | None:
        """Return the types a schema accepts, ``None`` where that cannot be told."""
        accepted = self.acceptance(node)
        return accepted.types if accepted is not None else None

    def accepts_any_input(self, node: object) -> bool:
        """Tell whether a schema accepts objects with inputs that it does not declare."""
        types = self.types_of(node)
        if types is not None and "object" not in types:
            return False
        return not isinstance(node, dict) or all(
            self.flat(node)[0].get(keyword) is not False for keyword in EXTRA_INPUTS
        )

    def _settle(self, node: dict[str, object]) -> None:
        """Find the fixed point over the alternatives a schema is made of; recursion is legal in schemas."""
        order = self._alternatives(node)
        current: dict[int, Acceptance | None] = {id(part): _NOTHING for part in order}
        for _ in range(MAX_ROUNDS):
            settled = True
            for part in order:
                accepted = self._accept(part, current)
                settled = settled and accepted == current[id(part)]
                current[id(part)] = accepted
            if settled:
                self._accepted.update(current)
                return
            order.reverse()  # what a cycle leads back to is not left for one round each
        self._accepted.update(dict.fromkeys(current))

    def _alternatives(self, node: dict[str, object]) -> list[dict[str, object]]:
        """Return the schema and all it is made of, each after its own alternatives as far as cycles allow."""
        order: list[dict[str, object]] = []
        seen = {id(node)}
        stack = [(node, iter(self._children(node)))]
        while stack:
            part, children = stack[-1]
            for child in children:
                if isinstance(child, dict) and id(child) not in seen and id(child) not in self._accepted:
                    seen.add(id(child))
                    stack.append((child, iter(self._children(child))))
                    break
            else:
                order.append(part)
                stack.pop()
        return order

    def _children(self, part: dict[str, object]) -> list[object]:
        members, _ = self.flat(part)
        children = [item for keyword in BRANCHES for item in alternatives(members, keyword)]
        if "$ref" in members:
            children.append(self.target(members["$ref"]))
        return children

    def _accept(self, part: dict[str, object], current: dict[int, Acceptance | None]) -> Acceptance:
        def of(child: object) -> Acceptance:
            if not isinstance(child, dict):
                return _ANYTHING if child is not False else _NOTHING
            # What was too entangled before counts as anything here; its own comparison says so.
            return current.get(id(child)) or self._accepted.get(id(child)) or _ANYTHING

        members, _ = self.flat(part)
        types = declared_types(members)
        values = listed_values(members)
        finite = values is not None
        if values is not None:
            types &= frozenset().union(*(_types_of(value) for value in values))
        inputs = any(bool(members.get(keyword)) for keyword in INPUT_MAPS)
        for keyword in BRANCHES:
            accepted = [of(child) for child in alternatives(members, keyword)]
            if not accepted:
                continue
            inputs = inputs or any(child.inputs for child in accepted)
            if keyword == "allOf":
                types = types.intersection(*(child.types for child in accepted))
                finite = finite or any(child.finite for child in accepted)
            else:
                types &= frozenset().union(*(child.types for child in accepted))
                finite = finite or all(child.finite for child in accepted)
        if "$ref" in members:
            target = of(self.target(members["$ref"]))
            types &= target.types
            finite = finite or target.finite
            inputs = inputs or target.inputs
        return Acceptance(types, finite or types <= {"null"}, inputs)


def alternatives(members: dict[str, object], keyword: str) -> list[object]:
    """Return the schemas under anyOf, oneOf or allOf; none where the keyword is absent or no list."""
    found = members.get(keyword)
    return found if isinstance(found, list) else []


def declared_types(members: dict[str, object]) -> frozenset[str]:
    """Return the types of the keyword ``type``; all where it is absent or names one that JSON has not."""
    declared = members.get("type")
    names = declared if isinstance(declared, list) else [declared]
    if not all(isinstance(name, str) and name in _DECLARED for name in names):
        return ALL_TYPES
    return frozenset().union(*(_DECLARED[str(name)] for name in names))


def listed_values(members: dict[str, object]) -> list[object] | None:
    """Return the values of ``enum`` and ``const``, ``None`` where neither restricts anything."""
    listed = members.get("enum")
    values = list(listed) if isinstance(listed, list) else None
    if "const" in members:
        values = [*(values or []), members["const"]]
    return values


def _types_of(value: object) -> frozenset[str]:
    if value is None:
        return _DECLARED["null"]
    if isinstance(value, bool):
        return _DECLARED["boolean"]
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return _DECLARED["integer"]
    if isinstance(value, float):
        return frozenset({"fraction"})
    kinds: tuple[tuple[type, str], ...] = ((str, "string"), (list, "array"), (dict, "object"))
    return next(_DECLARED[name] for kind, name in kinds if isinstance(value, kind))

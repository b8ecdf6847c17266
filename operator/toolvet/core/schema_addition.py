"""What comes into being with a new part of a schema: a new input, alternative or definition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from toolvet.core.change_findings import Budget, Place, Report
from toolvet.core.change_reason import ChangeReason
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.schema_document import SchemaDocument, alternatives, listed_values
from toolvet.core.schema_keywords import (
    BRANCHES,
    CONSTRAINTS,
    EXTRA_INPUTS,
    HEADER,
    IDENTITY,
    INPUT_MAPS,
    MACHINE_TEXT,
    REFERENCES,
    SUBSCHEMA_LISTS,
    SUBSCHEMA_MAPS,
    SUBSCHEMAS,
)
from toolvet.core.schema_text import has_prose, looks_generated, texts
from toolvet.core.text_flags import is_prose

_SILENT: Final = frozenset({"required", *CONSTRAINTS, *IDENTITY, *MACHINE_TEXT})
"""Keywords of which a new part says nothing unless they hold language."""


@dataclass(frozen=True, slots=True)
class Known:
    """Inputs and listed values that stood at the same place before, so that moving one is no addition."""

    inputs: dict[str, int] = field(default_factory=dict)
    choices: frozenset[int] = frozenset()


NOTHING_KNOWN: Final = Known()


def known_before(members: dict[str, object], document: SchemaDocument, keys: StructuralKeys) -> Known:
    """Collect what a schema and its direct alternatives state."""
    parts = [members]
    for keyword in BRANCHES:
        parts.extend(
            document.flat(branch)[0] for branch in alternatives(members, keyword) if isinstance(branch, dict)
        )
    inputs: dict[str, int] = {}
    choices: set[int] = set()
    for part in parts:
        declared = part.get("properties")
        if isinstance(declared, dict):
            inputs.update((name, keys.key(schema)) for name, schema in declared.items())
        choices.update(keys.key(value) for value in listed_values(part) or ())
    return Known(inputs, frozenset(choices))


@dataclass(frozen=True, slots=True)
class _Spot:
    place: Place
    within: bool
    known: Known = NOTHING_KNOWN


class SchemaAddition:
    """Reports what new parts of one document bring; each part once."""

    def __init__(
        self, document: SchemaDocument, keys: StructuralKeys, budget: Budget, report: Report
    ) -> None:
        self._document = document
        self._keys = keys
        self._budget = budget
        self._report = report
        self._done: set[tuple[int, bool, int]] = set()
        self._stack: list[tuple[object, _Spot]] = []
        self._kept: list[Known] = []  # an id is that of an object only as long as it lives
        self.reached: set[int] = set()
        """Ids of the schemas that were looked at where they are used."""

    def add(
        self, schema: object, place: Place, *, within: bool = False, known: Known = NOTHING_KNOWN
    ) -> None:
        """Report what a new part brings; ``within`` an added input, its texts are part of that finding.

        ``known`` is what stood at the same place before; it says nothing of parts further down.
        """
        self._kept.append(known)
        self._stack.append((schema, _Spot(place, within, known)))
        while self._stack and not self._budget.exhausted:
            part, spot = self._stack.pop()
            if isinstance(part, dict):
                self._part(part, spot)
            elif not isinstance(part, bool):
                self._report(ChangeReason.UNCLASSIFIABLE, spot.place)
        self._stack.clear()

    def _part(self, part: dict[str, object], spot: _Spot) -> None:
        covered = {
            (id(part), spot.within, id(spot.known)),
            (id(part), spot.within, id(NOTHING_KNOWN)),
            (id(part), False, id(NOTHING_KNOWN)),
        }
        if not covered.isdisjoint(self._done):
            return
        self._done.add((id(part), spot.within, id(spot.known)))
        self._budget.spend(len(part) + 1)
        self.reached.add(id(part))
        for index, keyword in enumerate(sorted(part)):
            self._keyword(keyword, part[keyword], spot, index)

    def _keyword(self, keyword: str, value: object, spot: _Spot, index: int) -> None:
        if keyword in INPUT_MAPS and isinstance(value, dict):
            self._inputs(keyword, value, spot)
        elif keyword in SUBSCHEMA_MAPS and isinstance(value, dict):
            parts = (value[name] for name in sorted(value))
            self._push(keyword, [part for part in parts if not isinstance(part, list)], spot)
        elif (keyword in SUBSCHEMA_LISTS or keyword == "items") and isinstance(value, list):
            self._push(keyword, value, spot)
        elif keyword in SUBSCHEMAS or keyword in EXTRA_INPUTS:
            self._stack.append((value, _Spot(spot.place.at(keyword), spot.within)))
        elif keyword in REFERENCES:
            self._reference(keyword, value, spot)
        else:
            self._content(keyword, value, spot, spot.place.at(keyword_shown(keyword, index)))

    def _push(self, keyword: str, parts: list[object], spot: _Spot) -> None:
        for index, part in enumerate(parts):
            self._stack.append((part, _Spot(spot.place.at(f"{keyword}[{index}]"), spot.within)))

    def _inputs(self, keyword: str, declared: dict[str, object], spot: _Spot) -> None:
        for index, name in enumerate(sorted(declared)):
            schema = declared[name]
            if not spot.within and spot.known.inputs.get(name) == self._keys.key(schema):
                continue
            where = spot.place.at(f"{keyword}[{index}]", name)
            self._report(ChangeReason.INPUT_ADDED, where, prose=is_prose(name), within=spot.within)
            self._stack.append((schema, _Spot(where, within=True)))

    def _reference(self, keyword: str, value: object, spot: _Spot) -> None:
        where = spot.place.at(keyword)
        if not isinstance(value, str) or not value.startswith("#"):
            self._report(ChangeReason.REMOTE_REFERENCE, where, prose=has_prose(value))
        elif keyword == "$ref":
            target = self._document.target(value)
            if target is None:
                self._report(ChangeReason.UNRESOLVED_REFERENCE, where)
            else:
                self._stack.append((target, _Spot(where, spot.within, spot.known)))

    def _content(self, keyword: str, value: object, spot: _Spot, where: Place) -> None:
        within = spot.within
        prose = has_prose(value) or is_prose(keyword)
        if keyword in ("enum", "const"):
            values = value if keyword == "enum" and isinstance(value, list) else [value]
            if any(self._keys.key(item) not in spot.known.choices for item in values):
                self._report(ChangeReason.CHOICE_ADDED, where, prose=prose, within=within)
        elif keyword == "default":
            self._report(ChangeReason.DEFAULT_CHANGED, where, prose=prose, within=within)
        elif keyword == HEADER:
            self._report(ChangeReason.ARGUMENT_IN_HEADER, where, prose=prose)
        elif keyword == "title" and looks_generated(value, spot.place.name):
            self._report(ChangeReason.WORDING_ADDED, where, within=within)
        elif prose or (keyword not in _SILENT and texts(value)):
            self._report(ChangeReason.WORDING_ADDED, where, prose=prose, within=within)
        if keyword == "required" and isinstance(value, list):
            self._required(value, where)

    def _required(self, names: list[object], where: Place) -> None:
        if any(isinstance(name, str) and name not in self._document.input_names for name in names):
            self._report(ChangeReason.UNDECLARED_INPUT_REQUIRED, where)


_SHOWN = frozenset(
    {
        *(*SUBSCHEMAS, *SUBSCHEMA_LISTS, *SUBSCHEMA_MAPS, *EXTRA_INPUTS, *REFERENCES, *CONSTRAINTS),
        *(*IDENTITY, *MACHINE_TEXT, "title", "description", "examples", "$comment", "default", "enum"),
        *("const", "required", HEADER),
    }
)


def keyword_shown(keyword: str, index: int) -> str:
    """Return a keyword of the standards as it is; any other name is the server's text."""
    return keyword if keyword in _SHOWN else f"keyword[{index}]"


def report_new_schema(schema: object, place: Place, keys: StructuralKeys, report: Report) -> None:
    """Report what a schema brings where there was none."""
    keys.key(schema)
    budget = Budget(keys.nodes)
    SchemaAddition(SchemaDocument(schema), keys, budget, report).add(schema, place)
    if budget.exhausted:
        report(ChangeReason.UNCLASSIFIABLE, place)

"""The walk over two versions of one schema, side by side: every difference becomes a reason and a place.

Neither recursion nor a hostile schema makes it slow: pairs wait in a list, each is compared once, and what
the budget does not cover is ``unclassifiable``, hence material.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolvet.core.change_findings import Budget, Place, Report
from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.schema_addition import NOTHING_KNOWN, Known, SchemaAddition, keyword_shown, known_before
from toolvet.core.schema_branches import match_branches
from toolvet.core.schema_content import Content, ContentComparison, input_names
from toolvet.core.schema_document import ALL_TYPES, SchemaDocument, alternatives
from toolvet.core.schema_keywords import (
    BRANCHES,
    DEFINITIONS,
    ELEMENTS,
    EXTRA_INPUTS,
    INPUT_MAPS,
    NEGATIONS,
    SUBSCHEMAS,
)
from toolvet.core.text_flags import is_prose

_R = ChangeReason
_OPEN: Final[dict[str, object]] = {}
"""The schema ``true``, and what an absent one means."""
_HANDLED_APART: Final = frozenset({*BRANCHES, "$ref"})


@dataclass(frozen=True, slots=True)
class Pair:
    """Both versions of one schema, references replaced, and where they are."""

    before: dict[str, object]
    after: dict[str, object]
    place: Place


class SchemaComparison:
    """One comparison of two schemas; ``run`` reports everything once."""

    def __init__(
        self,
        before: object,
        after: object,
        keys: StructuralKeys,
        report: Report,
        flag: Callable[[ToolFlag], None],
    ) -> None:
        self._before = SchemaDocument(before)
        self._after = SchemaDocument(after)
        self._keys = keys
        self._report = report
        self._contents = ContentComparison(keys, report, flag)
        keys.key(before)
        keys.key(after)
        self._budget = Budget(keys.nodes)
        self._addition = SchemaAddition(self._after, keys, self._budget, report)
        self._waiting: list[tuple[object, object, Place]] = []
        self._definitions: deque[tuple[object, object, Place]] = deque()
        self._done: set[tuple[int, int]] = set()
        self._known_of: tuple[Pair | None, Known] = (None, NOTHING_KNOWN)

    def run(self, place: Place) -> None:
        """Compare everything that either root leads to."""
        self._waiting.append((self._before.root, self._after.root, place))
        while self._waiting or self._definitions:
            if self._budget.exhausted:
                self._report(_R.UNCLASSIFIABLE, place)
                return
            if self._waiting:
                self._compare(*self._waiting.pop())
            else:
                # Last, when it is known which definitions were compared where they are used.
                self._compare_definitions(*self._definitions.popleft())

    # one pair of schemas

    def _same(self, before: object, after: object) -> bool:
        key = self._keys.key(before)
        return key == self._keys.key(after) and not self._keys.refers(key)

    def _compare(self, before: object, after: object, place: Place) -> None:
        self._budget.spend(1)
        if self._same(before, after):
            return
        if not isinstance(before, dict | bool) or not isinstance(after, dict | bool):
            if self._keys.key(before) != self._keys.key(after):
                self._report(_R.UNCLASSIFIABLE, place)
            return
        if before is False:
            self._report(_R.TYPE_WIDENED, place)
            self._addition.add(after, place)
        elif after is False:
            self._report(_R.TYPE_NARROWED, place)
        else:
            self._compare_members(_members(before), _members(after), place)

    def _compare_members(self, before: dict[str, object], after: dict[str, object], place: Place) -> None:
        old, _ = self._before.flat(before)
        new, passed = self._after.flat(after)
        self._addition.reached.update(map(id, (after, *passed)))
        stated = (before.get("$ref"), after.get("$ref"))
        self._reference(*stated, place)
        if (id(old), id(new)) in self._done:
            return
        self._done.add((id(old), id(new)))
        self._budget.spend(len(old) + len(new))
        pair = Pair(old, new, place)
        self._acceptance(before, after, pair)
        remaining = (old.get("$ref"), new.get("$ref"))
        if remaining != stated:
            self._reference(*remaining, place)
        self._remaining_reference(pair)
        self._branches(pair)
        for index, keyword in enumerate(sorted((old.keys() | new.keys()) - _HANDLED_APART)):
            self._keyword(keyword, pair, index)

    def _keyword(self, keyword: str, pair: Pair, index: int) -> None:
        if keyword in DEFINITIONS:
            old, new = pair.before.get(keyword, _OPEN), pair.after.get(keyword, _OPEN)
            if self._keys.key(old) != self._keys.key(new):
                self._definitions.append((old, new, pair.place.at(keyword)))
        elif keyword in INPUT_MAPS:
            self._inputs(keyword, pair)
        elif keyword in EXTRA_INPUTS:
            self._extra_inputs(keyword, pair)
        elif keyword in ("dependentSchemas", "dependencies"):
            self._dependent(keyword, pair)
        elif keyword == "prefixItems" or any(
            isinstance(side.get(keyword), list) for side in (pair.before, pair.after) if keyword == "items"
        ):
            self._positional(keyword, pair)
        elif keyword in SUBSCHEMAS:
            self._subschema(keyword, pair)
        else:
            shown = pair.place.at(keyword_shown(keyword, index), pair.place.name)
            self._content(keyword, pair, shown)

    def _content(self, keyword: str, pair: Pair, where: Place) -> None:
        self._contents.compare(Content(keyword, pair.before, pair.after, where))
        if keyword == "required":
            names = input_names(pair.after.get(keyword)) - input_names(pair.before.get(keyword))
            if names - self._after.input_names:
                self._report(_R.UNDECLARED_INPUT_REQUIRED, where)
        elif keyword in ("enum", "const"):
            self._choices(pair, where)
        elif keyword in ("$dynamicRef", "$recursiveRef"):
            new = pair.after.get(keyword)
            remote = isinstance(new, str) and not new.startswith("#")
            if remote and new != pair.before.get(keyword):
                self._report(_R.REMOTE_REFERENCE, where)

    # references and definitions

    def _reference(self, before: object, after: object, place: Place) -> None:
        if after is None or before == after:
            if before != after:
                self._report(_R.REFERENCE_CHANGED, place.at("$ref"))
            return
        if not isinstance(after, str) or not after.startswith("#"):
            self._report(_R.REMOTE_REFERENCE, place.at("$ref"))
        elif self._after.target(after) is None:
            self._report(_R.UNRESOLVED_REFERENCE, place.at("$ref"))
        else:
            self._report(_R.REFERENCE_CHANGED, place.at("$ref"))

    def _remaining_reference(self, pair: Pair) -> None:
        """Compare what a reference leads to where it could not be put in place of itself."""
        old, new = pair.before.get("$ref"), pair.after.get("$ref")
        target = self._after.target(new)
        if target is None:
            return
        former = self._before.target(old)
        self._addition.reached.add(id(target))
        if former is None:
            self._addition.add(target, pair.place.at("$ref"), known=self._known(pair))
        else:
            self._waiting.append((former, target, pair.place.at("$ref")))

    def _compare_definitions(self, before: object, after: object, place: Place) -> None:
        if not isinstance(before, dict) or not isinstance(after, dict):
            self._report(_R.UNCLASSIFIABLE, place)
            return
        self._budget.spend(len(before) + len(after))
        if before.keys() != after.keys():
            self._report(_R.DEFINITIONS_CHANGED, place)
        for index, name in enumerate(sorted(after)):
            where = place.at(f"definition[{index}]")
            if name not in before and is_prose(name):
                self._report(_R.WORDING_ADDED, where, prose=True)
            if id(after[name]) in self._addition.reached:
                continue
            if name in before:
                self._waiting.append((before[name], after[name], where))
            else:
                self._addition.add(after[name], where)

    # what is accepted

    def _acceptance(self, before: dict[str, object], after: dict[str, object], pair: Pair) -> None:
        old, new = self._before.acceptance(before), self._after.acceptance(after)
        place = pair.place
        if old is None or new is None:
            self._report(_R.UNCLASSIFIABLE, place)
            return
        if new.types - old.types:
            self._report(_R.TYPE_WIDENED, place)
        if old.types - new.types:
            self._report(_R.TYPE_NARROWED, place)
            if not new.types:
                self._report(_R.UNSATISFIABLE_SCHEMA, place)
        if old.finite and not new.finite and old.types != {"null"}:
            self._report(_R.CHOICES_OPENED, place)
        closed = any(pair.after.get(keyword) is False for keyword in EXTRA_INPUTS)
        if old.inputs and not new.inputs and "object" in new.types and not closed:
            self._report(_R.SCHEMA_ERASED, place)

    def _choices(self, pair: Pair, where: Place) -> None:
        """Report values listed where none were before, unless they stood in an alternative."""
        old, new = (("enum" in side or "const" in side) for side in (pair.before, pair.after))
        if not old and new:
            known = self._known(pair).choices
            listed = pair.after.get("enum", [pair.after.get("const")])
            values = listed if isinstance(listed, list) else [listed]
            if any(isinstance(value, str) and self._keys.key(value) not in known for value in values):
                self._report(_R.CHOICE_ADDED, where, prose=True)
            else:
                self._report(_R.CONSTRAINT_CHANGED, where)

    # alternatives

    def _branches(self, pair: Pair) -> None:
        for keyword in BRANCHES:
            old, new = pair.before.get(keyword), pair.after.get(keyword)
            malformed = any(side is not None and not isinstance(side, list) for side in (old, new))
            if malformed and self._keys.key(old) != self._keys.key(new):
                self._report(_R.UNCLASSIFIABLE, pair.place.at(keyword))
        old = {keyword: alternatives(pair.before, keyword) for keyword in BRANCHES}
        new = {keyword: alternatives(pair.after, keyword) for keyword in BRANCHES}
        for one, other in (("anyOf", "oneOf"), ("oneOf", "anyOf")):
            if old[one] and not old[other] and new[other] and not new[one]:
                old[other], old[one] = old[one], []
                self._report(_R.SCHEMA_EDITED, pair.place.at(other))
        for keyword in BRANCHES:
            if old[keyword] or new[keyword]:
                self._branch_lists(keyword, old[keyword], new[keyword], pair)

    def _branch_lists(self, keyword: str, old: list[object], new: list[object], pair: Pair) -> None:
        self._budget.spend(len(old) + len(new))
        places = [pair.place.at(f"{keyword}[{index}]") for index in range(max(len(old), len(new)))]
        types = (self._before.types_of, self._after.types_of)
        matched = match_branches(old, new, self._keys.key, types)
        if matched.reordered:
            self._report(_R.BRANCHES_REORDERED, pair.place.at(keyword))
        for before, after in matched.pairs:
            self._waiting.append((old[before], new[after], places[after]))
        for index in matched.gone:
            self._report(_R.BRANCH_REMOVED, places[index])
        for index in matched.come:
            self._report(_R.BRANCH_ADDED, places[index])
            self._addition.add(new[index], places[index], known=self._known(pair))
        # Alternatives that are the first to stand there narrow; further ones widen.
        if keyword != "allOf" and old and self._opens([new[index] for index in matched.come], old, pair):
            self._report(_R.EXTRA_INPUTS_ALLOWED, pair.place.at(keyword))

    def _opens(self, come: list[object], old: list[object], pair: Pair) -> bool:
        if any(pair.after.get(keyword) is False for keyword in EXTRA_INPUTS):
            return False
        return any(map(self._after.accepts_any_input, come)) and not any(
            map(self._before.accepts_any_input, old)
        )

    # parts that are schemas

    def _inputs(self, keyword: str, pair: Pair) -> None:
        old, new = pair.before.get(keyword, _OPEN), pair.after.get(keyword, _OPEN)
        if not isinstance(old, dict) or not isinstance(new, dict):
            if self._keys.key(old) != self._keys.key(new):
                self._report(_R.UNCLASSIFIABLE, pair.place.at(keyword))
            return
        self._budget.spend(len(old) + len(new))
        for index, name in enumerate(sorted(new)):
            where = pair.place.at(f"{keyword}[{index}]", name)
            if name in old:
                self._waiting.append((old[name], new[name], where))
            elif self._known(pair).inputs.get(name) == self._keys.key(new[name]):
                self._report(_R.SCHEMA_EDITED, where)
            else:
                self._report(_R.INPUT_ADDED, where)
                self._addition.add(new[name], where, within=True)
        for index, name in enumerate(sorted(old)):
            if name not in new:
                self._report(_R.INPUT_REMOVED, pair.place.at(f"{keyword}[{index}]"))

    def _extra_inputs(self, keyword: str, pair: Pair) -> None:
        where = pair.place.at(keyword)
        old, new = (_extra(side.get(keyword, True)) for side in (pair.before, pair.after))
        if old is None or new is None:
            if self._keys.key(pair.before.get(keyword)) != self._keys.key(pair.after.get(keyword)):
                self._report(_R.UNCLASSIFIABLE, where)
        elif isinstance(old, dict) and isinstance(new, dict):
            self._waiting.append((old, new, where))
        elif (new is True and old is not True) or (old is False and new is not False):
            self._report(_R.EXTRA_INPUTS_ALLOWED, where)
            self._addition.add(new, where)
        elif new is False and old is not False:
            self._report(_R.EXTRA_INPUTS_CLOSED, where)
        elif isinstance(new, dict):
            self._report(_R.CONSTRAINT_CHANGED, where)
            self._addition.add(new, where)
        elif pair.before.get(keyword) != pair.after.get(keyword):
            self._report(_R.SCHEMA_EDITED, where)

    def _dependent(self, keyword: str, pair: Pair) -> None:
        old, new = pair.before.get(keyword, _OPEN), pair.after.get(keyword, _OPEN)
        if not isinstance(old, dict) or not isinstance(new, dict):
            if self._keys.key(old) != self._keys.key(new):
                self._report(_R.UNCLASSIFIABLE, pair.place.at(keyword))
            return
        for index, name in enumerate(sorted(new)):
            where = pair.place.at(f"{keyword}[{index}]")
            if isinstance(new[name], list):  # draft 7: names of inputs
                if name not in old or self._keys.key(old[name]) != self._keys.key(new[name]):
                    self._report(_R.CONSTRAINT_CHANGED, where)
            elif name in old and not isinstance(old[name], list):
                self._waiting.append((old[name], new[name], where))
            else:
                self._report(_R.CONSTRAINT_CHANGED, where)
                self._addition.add(new[name], where)
        if old.keys() - new.keys():
            self._report(_R.CONSTRAINT_CHANGED, pair.place.at(keyword))

    def _positional(self, keyword: str, pair: Pair) -> None:
        old, new = pair.before.get(keyword, []), pair.after.get(keyword, [])
        if not isinstance(old, list) or not isinstance(new, list):
            if self._keys.key(old) != self._keys.key(new):
                self._report(_R.UNCLASSIFIABLE, pair.place.at(keyword))
            return
        for index, element in enumerate(new):
            where = pair.place.at(f"{keyword}[{index}]")
            if index < len(old):
                self._waiting.append((old[index], element, where))
            else:
                self._report(_R.BRANCH_ADDED, where)
                self._addition.add(element, where)
        if len(old) > len(new):
            self._report(_R.BRANCH_REMOVED, pair.place.at(keyword))

    def _subschema(self, keyword: str, pair: Pair) -> None:
        where = pair.place.at(keyword)
        old, new = pair.before.get(keyword), pair.after.get(keyword)
        changed = self._keys.key(old) != self._keys.key(new)
        if changed and keyword in NEGATIONS:
            self._report(_R.NEGATION_CHANGED, where)
        if keyword in pair.before and keyword in pair.after:
            self._waiting.append((old, new, where))
        elif keyword in pair.after:
            self._report(_R.CONSTRAINT_CHANGED, where)
            self._addition.add(new, where)
        else:
            accepted = self._before.acceptance(old)
            dropped = accepted is None or accepted.types != ALL_TYPES or accepted.finite or accepted.inputs
            widened = keyword in ELEMENTS and dropped
            self._report(_R.TYPE_WIDENED if widened else _R.CONSTRAINT_CHANGED, where)

    def _known(self, pair: Pair) -> Known:
        if self._known_of[0] is not pair:
            known = known_before(pair.before, self._before, self._keys)
            self._budget.spend(len(known.inputs) + len(known.choices))
            self._known_of = (pair, known)
        return self._known_of[1]


def _members(schema: dict[str, object] | bool) -> dict[str, object]:
    return schema if isinstance(schema, dict) else _OPEN


def _extra(value: object) -> dict[str, object] | bool | None:
    """Return what is said of undeclared inputs: all, none, a schema; ``None`` for what is no schema."""
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return value or True
    return None

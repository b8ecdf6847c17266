"""Keywords of a schema that hold no schema: texts, listed values, defaults, bounds, identities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolvet.core.change_findings import Place, Report
from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.schema_document import declared_types, listed_values
from toolvet.core.schema_keywords import CONSTRAINTS, HEADER, MACHINE_TEXT, REFERENCES
from toolvet.core.schema_text import has_prose, looks_generated, texts
from toolvet.core.text_flags import is_prose, looks_alike

_R = ChangeReason
_NAMES: Final = frozenset({"required", "dependentRequired"})
"""Keywords whose strings are names of inputs, which are compared as such where they are declared."""


@dataclass(frozen=True, slots=True)
class Content:
    """One such keyword on both sides of a pair; ``None`` stands for absent, as null does."""

    keyword: str
    before: dict[str, object]
    after: dict[str, object]
    place: Place

    @property
    def old(self) -> object:
        """The value before."""
        return self.before.get(self.keyword)

    @property
    def new(self) -> object:
        """The value after."""
        return self.after.get(self.keyword)

    @property
    def names_language(self) -> bool:
        """Whether the keyword itself may be read as language and came or went."""
        return (self.keyword in self.before) is not (self.keyword in self.after) and is_prose(self.keyword)

    @property
    def language(self) -> bool:
        """Whether either value has a string that may be read as language."""
        return has_prose(self.old) or has_prose(self.new) or self.names_language


class ContentComparison:
    """Compares such keywords and reports each difference."""

    def __init__(self, keys: StructuralKeys, report: Report, flag: Callable[[ToolFlag], None]) -> None:
        self._keys = keys
        self._report = report
        self._flag = flag

    def compare(self, content: Content) -> None:
        """Report the difference, if there is one."""
        keyword = content.keyword
        # {"default": null} says something, unlike no default at all.
        if (keyword in content.before) is (keyword in content.after) and self._same(content.old, content.new):
            return
        if keyword in ("enum", "const"):
            self._listed(content)
        elif keyword == "default":
            gone = keyword not in content.after
            reason = _R.DEFAULT_REMOVED if gone else _R.DEFAULT_CHANGED
            self._report(reason, content.place, prose=has_prose(content.new))
        elif keyword == "required":
            self._required(content)
        elif keyword == HEADER:
            gone = keyword not in content.after
            self._report(_R.CONSTRAINT_CHANGED if gone else _R.ARGUMENT_IN_HEADER, content.place)
        elif keyword in MACHINE_TEXT or keyword in _NAMES:
            self._machine(content)
        else:
            self._text(content)

    def _same(self, one: object, other: object) -> bool:
        return self._keys.key(one) == self._keys.key(other)

    def _machine(self, content: Content) -> None:
        if content.language:
            self._report(_R.WORDING_CHANGED, content.place, prose=True)
        elif content.keyword != "type":
            self._report(_structural(content.keyword), content.place)
        elif declared_types(content.before) == declared_types(content.after):
            self._report(_R.SCHEMA_EDITED, content.place)
        # Other types are reported with what the whole schema accepts.

    def _text(self, content: Content) -> None:
        old, new = content.old, content.new
        if isinstance(old, str) and isinstance(new, str) and looks_alike(old, new):
            self._flag(ToolFlag.CONFUSABLE)
        if texts(old) == texts(new) and not content.names_language:
            self._report(_structural(content.keyword), content.place)
        elif content.keyword == "title" and all(
            looks_generated(side, content.place.name) for side in (old, new) if side is not None
        ):
            self._report(_R.SCHEMA_TITLE_CHANGED, content.place)
            self._flag(ToolFlag.LIKELY_GENERATED)
        else:
            self._report(_R.WORDING_CHANGED, content.place, prose=content.language)

    def _listed(self, content: Content) -> None:
        both_const = "const" in content.before and "const" in content.after
        if content.keyword == "const" and both_const:
            self._report(_R.CONST_CHANGED, content.place, prose=content.language)
            return
        if content.keyword == "enum" and not all(
            side is None or isinstance(side, list) for side in (content.old, content.new)
        ):
            self._report(_R.UNCLASSIFIABLE, content.place)
            return
        old, new = listed_values(content.before), listed_values(content.after)
        if old is None or new is None:
            return  # reported with what the whole schema accepts, and with what came to be listed
        former, present = ({self._keys.key(value): value for value in side} for side in (old, new))
        added = [value for key, value in present.items() if key not in former]
        if added:
            self._report(_R.CHOICE_ADDED, content.place, prose=has_prose(added))
        if former.keys() - present.keys():
            self._report(_R.CHOICE_REMOVED, content.place)
        if former.keys() == present.keys():
            self._report(_R.CHOICES_REORDERED, content.place)

    def _required(self, content: Content) -> None:
        old, new = (side if side is not None else [] for side in (content.old, content.new))
        if not _are_names(old) or not _are_names(new):
            self._report(_R.UNCLASSIFIABLE, content.place)
            return
        former, present = input_names(old), input_names(new)
        if present - former:
            self._report(_R.REQUIRED_GROWN, content.place)
        if former - present:
            self._report(_R.REQUIRED_SHRUNK, content.place)
        if former == present:
            self._report(_R.REQUIRED_REORDERED if former else _R.SCHEMA_EDITED, content.place)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def input_names(value: object) -> set[str]:
    """Return the names in a ``required`` list; none in what is no list."""
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _structural(keyword: str) -> ChangeReason:
    if keyword == "$schema":
        return _R.DIALECT_CHANGED
    if keyword in REFERENCES:
        return _R.REFERENCE_CHANGED
    if keyword in CONSTRAINTS:
        return _R.CONSTRAINT_CHANGED
    return _R.SCHEMA_EDITED

"""Per-tool findings between a reviewed catalog and a live one, and the contract's flat reasons.

The findings mask nothing: schema, class, capability and identity are tested independently. The reasons
follow CONTRACTS 9.3 and 9.5, where a schema change of a tool hides its class change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.identifiers import version_key
from toolvet.core.reasons import Reason

DIFFERENCE_CODES = (
    Reason.TOOL_ADDED,
    Reason.TOOL_UNAVAILABLE,
    Reason.SCHEMA_CHANGED,
    Reason.SIDE_EFFECT_CHANGED,
    Reason.CAPABILITY_CHANGED,
    Reason.IMPLEMENTATION_CHANGED,
)
"""Every code a finding can carry, in the order in which it lists them."""


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """One tool that is not the same on both sides, with every way in which it differs."""

    tool_id: str
    version: str
    codes: tuple[Reason, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the dict form used in statuses and reports."""
        return {"toolId": self.tool_id, "version": self.version, "codes": [str(code) for code in self.codes]}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tools were added, removed and changed."""

    added: int
    removed: int
    changed: int

    def __str__(self) -> str:
        return f"{self.added} added, {self.removed} removed, {self.changed} changed"


def differences(reviewed: Catalog, live: Catalog) -> tuple[ToolDifference, ...]:
    """Compare two catalogs; sorted as CONTRACTS 5.3; empty exactly when their digests are equal."""
    if reviewed.bindings == live.bindings:
        return ()
    before = {binding.key: binding for binding in reviewed.bindings}
    after = {binding.key: binding for binding in live.bindings}
    found = [
        ToolDifference(*key, codes)
        for key in before.keys() | after.keys()
        if (codes := _codes(before.get(key), after.get(key)))
    ]
    return tuple(sorted(found, key=lambda item: (item.tool_id, version_key(item.version))))


def _codes(before: ToolBinding | None, after: ToolBinding | None) -> tuple[Reason, ...]:
    if before is None:
        return (Reason.TOOL_ADDED,)
    if after is None:
        return (Reason.TOOL_UNAVAILABLE,)
    old, new = before.tool, after.tool
    tests = (
        (Reason.SCHEMA_CHANGED, old.schema_digest != new.schema_digest),
        (Reason.SIDE_EFFECT_CHANGED, old.side_effect_class != new.side_effect_class),
        (Reason.CAPABILITY_CHANGED, old.capability_class != new.capability_class),
        (Reason.IMPLEMENTATION_CHANGED, before.implementation_id != after.implementation_id),
    )
    return tuple(code for code, differs in tests if differs)


def reasons(found: Iterable[ToolDifference]) -> tuple[Reason, ...]:
    """Project findings to the distinct, sorted reasons of an eligibility report (CONTRACTS 9.1, 9.5)."""
    codes: set[Reason] = set()
    for difference in found:
        own = set(difference.codes)
        if Reason.SCHEMA_CHANGED in own:
            own.discard(Reason.SIDE_EFFECT_CHANGED)
        codes |= own
    return tuple(sorted(codes))


def count(found: Iterable[ToolDifference]) -> Counts:
    """Count the findings by what happened to the tool."""
    added = removed = changed = 0
    for difference in found:
        if difference.codes == (Reason.TOOL_ADDED,):
            added += 1
        elif difference.codes == (Reason.TOOL_UNAVAILABLE,):
            removed += 1
        else:
            changed += 1
    return Counts(added, removed, changed)

"""What changed between two generations of an inventory: ``status.lastChange``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolvet.core.binding import Catalog
from toolvet.core.differences import ToolDifference, count, differences
from toolvet.core.reasons import Reason

MAX_ENTRIES = 32

# In the order in which a contract's change lists its fields (CONTRACTS 7.2), ours last.
_FIELDS = {
    Reason.CAPABILITY_CHANGED: "capability_class",
    Reason.SIDE_EFFECT_CHANGED: "side_effect_class",
    Reason.SCHEMA_CHANGED: "schema_digest",
    Reason.IMPLEMENTATION_CHANGED: "implementation_id",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A generation whose catalog differs from the one observed before it.

    ``differences`` is None where the earlier catalog is not known any more.
    """

    generation: int
    previous_generation: int
    digest: str
    previous_digest: str
    differences: tuple[ToolDifference, ...] | None
    tool_count: int

    def to_status(self, time: str) -> dict[str, Any]:
        """Return the status form; counts and entries are left out where nobody knows them."""
        status: dict[str, Any] = {
            "observedGeneration": self.generation,
            "previousGeneration": self.previous_generation,
            "time": time,
            "catalogDigest": self.digest,
            "previousCatalogDigest": self.previous_digest,
        }
        if self.differences is None:
            return status
        counts = count(self.differences)
        return status | {
            "added": counts.added,
            "removed": counts.removed,
            "changed": counts.changed,
            "unchanged": self.tool_count - counts.added - counts.changed,
            "entries": [_entry(item) for item in self.differences[:MAX_ENTRIES]],
        }


def _entry(item: ToolDifference) -> dict[str, Any]:
    entry: dict[str, Any] = {"toolId": item.tool_id, "version": item.version}
    if item.codes == (Reason.TOOL_ADDED,):
        return entry | {"change": "added"}
    if item.codes == (Reason.TOOL_UNAVAILABLE,):
        return entry | {"change": "removed"}
    return entry | {
        "change": "changed",
        "fields": [name for code, name in _FIELDS.items() if code in item.codes],
    }


def change_since(
    generation: int, catalog: Catalog, status: Mapping[str, Any], earlier: tuple[int, Catalog] | None
) -> Change | None:
    """Compare a newly observed generation with the newest one known before; None where they are equal.

    ``status`` is the stored one, ``earlier`` the generation and catalog kept in the history. Where the
    history has nothing, the stored digest still tells that there was a change, and from which generation.
    """
    if earlier is not None:
        since, before = earlier
        if before.digest == catalog.digest:
            return None
        found = differences(before, catalog)
        return Change(generation, since, catalog.digest, before.digest, found, len(catalog.bindings))
    digest, observed = status.get("catalogDigest"), status.get("observedGeneration")
    if not isinstance(digest, str) or type(observed) is not int or digest == catalog.digest:
        return None
    return Change(generation, observed, catalog.digest, digest, None, len(catalog.bindings))

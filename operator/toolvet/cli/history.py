"""``toolvet history`` and ``catalog diff --from --to``: what an inventory was, and what changed since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolvet.cli.diff_documents import Comparison, compare_catalogs
from toolvet.cli.session import Session
from toolvet.cli.table import table
from toolvet.core.binding import Catalog
from toolvet.core.denial import short_digest
from toolvet.core.differences import Counts, count, differences
from toolvet.core.errors import ContractError
from toolvet.kube.names import INVENTORIES, SNAPSHOTS, is_object_name
from toolvet.kube.resources import catalog_from_inventory, catalog_from_snapshot
from toolvet.kube.revisions import generation_of, read_revisions, unpack

LIVE = "live"
_MAX_GENERATION_DIGITS = 18  # an int64, as the API has it


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation: what it held, if that can be read, and what it changed."""

    number: int
    catalog: Catalog | None
    live: bool
    recorded: bool
    """Whether a revision keeps it: the newest is kept a moment after it was applied."""
    changes: Counts | None
    """Since the one before; None where that is not kept or cannot be read."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        changes = self.changes
        return {
            "generation": self.number,
            "live": self.live,
            "recorded": self.recorded,
            "readable": self.catalog is not None,
            "catalogDigest": None if self.catalog is None else self.catalog.digest,
            "toolCount": None if self.catalog is None else len(self.catalog.bindings),
            "changes": None
            if changes is None
            else {"added": changes.added, "removed": changes.removed, "changed": changes.changed},
        }


@dataclass(frozen=True, slots=True)
class History:
    """The generations of an inventory that are known, the oldest first."""

    inventory: str
    generations: tuple[Generation, ...]

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Runs of generations that nothing keeps, by their first and last number."""
        found, expected = [], 1
        for item in self.generations:
            if item.number > expected:
                found.append((expected, item.number - 1))
            expected = item.number + 1
        return found

    @property
    def json_text(self) -> str:
        """The history as JSON."""
        whole = {
            "inventory": self.inventory,
            "generations": [item.to_dict() for item in self.generations],
            "gaps": [{"from": first, "to": last} for first, last in self.gaps],
        }
        return json.dumps(whole, indent=2) + "\n"

    @property
    def text(self) -> str:
        """A table, the newest generation last; a gap is a row."""
        rows = [("GENERATION", "CATALOG", "TOOLS", "CHANGES")]
        gaps = {last + 1: (first, last) for first, last in self.gaps}
        for item in self.generations:
            if item.number in gaps:
                first, last = gaps[item.number]
                rows.append((str(first) if first == last else f"{first}-{last}", "-", "-", "not kept"))
            rows.append(_row(item))
        return table(rows)


def _row(item: Generation) -> tuple[str, str, str, str]:
    note = "" if item.changes is None else str(item.changes)
    if item.catalog is None:
        return str(item.number), "-", "-", "unreadable"
    if item.live:
        note = ", ".join(
            part for part in (note, "live" if item.recorded else "live, not recorded yet") if part
        )
    return str(item.number), short_digest(item.catalog.digest), str(len(item.catalog.bindings)), note or "-"


async def history(session: Session, inventory: str) -> History:
    """Read the generations of an inventory; raises ContractError, and ApiError where that is forbidden."""
    live, revisions = await _read(session, inventory)
    current = int(live["metadata"].get("generation", 0))
    catalogs: dict[int, Catalog | None] = {}
    for item in revisions:
        number = generation_of(item)
        # A generation that has not come yet was written by somebody else.
        if 0 < number <= current:
            catalogs[number] = _readable(item)
    recorded = set(catalogs)
    # The live one is not a matter of record.
    catalogs[current] = catalog_from_inventory(live)
    found: list[Generation] = []
    for number in sorted(catalogs):
        catalog, before = catalogs[number], catalogs.get(number - 1)
        changes = count(differences(before, catalog)) if catalog is not None and before is not None else None
        found.append(Generation(number, catalog, number == current, number in recorded, changes))
    return History(inventory, tuple(found))


def _readable(revision: Mapping[str, Any]) -> Catalog | None:
    try:
        return unpack(revision.get("data"))
    except ContractError:
        return None


async def _read(session: Session, inventory: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    live = await _inventory(session, inventory)
    uid = str(live["metadata"]["uid"])
    return live, await read_revisions(session.api, session.namespace, uid)


async def _inventory(session: Session, name: str) -> Mapping[str, Any]:
    live = await session.api.get(INVENTORIES, session.namespace, name) if is_object_name(name) else None
    if live is None:
        raise ContractError("inventory", "not_found")
    return live


async def compare_versions(session: Session, inventory: str, before: str, after: str) -> Comparison:
    """Compare two versions of an inventory, each a generation, a snapshot's name or ``live``."""
    first = await _version(session, inventory, before, "from")
    return compare_catalogs(first, await _version(session, inventory, after, "to"))


async def _version(session: Session, inventory: str, version: str, field: str) -> Catalog:
    if version == LIVE:
        return catalog_from_inventory(await _inventory(session, inventory))
    if version.isascii() and version.isdigit() and len(version) <= _MAX_GENERATION_DIGITS:
        return await _generation(session, inventory, int(version), field)
    stored = None
    if is_object_name(version):
        stored = await session.api.get(SNAPSHOTS, session.namespace, version)
    if stored is None:
        raise ContractError(field, "not_found")
    if stored["spec"].get("inventoryName") != inventory:
        raise ContractError(field, "another_inventory")
    return catalog_from_snapshot(stored)


async def _generation(session: Session, inventory: str, number: int, field: str) -> Catalog:
    live, revisions = await _read(session, inventory)
    if number == live["metadata"].get("generation"):
        return catalog_from_inventory(live)
    found = [item for item in revisions if generation_of(item) == number]
    if not found:
        raise ContractError(field, "not_kept")
    catalog = _readable(found[0])
    if catalog is None:
        raise ContractError(field, "unreadable")
    return catalog

"""``toolvet capture``: take the evidence of an inventory as it is now."""

from __future__ import annotations

from typing import Any

from toolvet.cli.changes import describe
from toolvet.cli.output import print_note
from toolvet.cli.session import Session
from toolvet.core.approval import ReviewedSnapshot, snapshot_name
from toolvet.core.binding import Catalog
from toolvet.core.denial import short_digest
from toolvet.core.differences import differences
from toolvet.core.errors import ContractError
from toolvet.core.side_effect import SideEffectClass
from toolvet.kube.client import HTTP_CONFLICT, ApiError
from toolvet.kube.names import INVENTORIES, SNAPSHOTS
from toolvet.kube.reads import last_approved
from toolvet.kube.resources import (
    catalog_from_inventory,
    catalog_from_snapshot,
    manifest,
    snapshot_from_object,
    tools_to_spec,
)


async def capture(session: Session, inventory: str) -> dict[str, Any]:
    """Create the snapshot of the live catalog, or find it; say what changed since the last approved one."""
    live = await session.api.get(INVENTORIES, session.namespace, inventory)
    if live is None:
        raise ContractError("inventory", "not_found")
    catalog = catalog_from_inventory(live)
    name = snapshot_name(inventory, catalog.digest)
    created = await _store(session, name, inventory, catalog)
    baseline = await _baseline(session, live)
    found = differences(baseline.catalog, catalog) if baseline is not None else ()
    print_note(
        f"{'captured' if created else 'already captured'} {len(catalog.bindings)} tools "
        f"of inventory {inventory}, catalog {short_digest(catalog.digest)}"
    )
    if baseline is None:
        print_note("nothing was approved before: read the whole inventory")
    else:
        print_note(describe(baseline.name, found))
    declared = sum(binding.tool.side_effect_class is SideEffectClass.NONE for binding in catalog.bindings)
    if declared:
        print_note(f"note: {declared} tools are declared none, which hints never say: no run can bind them")
    print_note(f"approve: kubectl toolvet approve {name} -n {session.namespace}")
    return {
        "snapshot": name,
        "inventory": inventory,
        "catalogDigest": catalog.digest,
        "created": created,
        "baseline": baseline.name if baseline is not None else None,
        "differences": [difference.to_dict() for difference in found],
    }


async def _store(session: Session, name: str, inventory: str, catalog: Catalog) -> bool:
    spec = {
        "inventoryName": inventory,
        "catalogDigest": catalog.digest,
        "bindings": tools_to_spec(catalog),
        "capturedBy": await session.user_name(),
    }
    try:
        await session.api.create(
            SNAPSHOTS, session.namespace, manifest(SNAPSHOTS, name, session.namespace, spec)
        )
    except ApiError as error:
        if error.status != HTTP_CONFLICT:
            raise
    else:
        return True
    stored = await session.api.get(SNAPSHOTS, session.namespace, name)
    if stored is None or catalog_from_snapshot(stored).digest != catalog.digest:
        # The same first digits and other content: only by design, or by an object older than our rules.
        raise ContractError("snapshot", "name_taken")
    return False


async def _baseline(session: Session, live: dict[str, Any]) -> ReviewedSnapshot | None:
    name = last_approved(live)
    stored = await session.api.get(SNAPSHOTS, session.namespace, name) if name else None
    return None if stored is None else snapshot_from_object(stored)

"""``toolvet approve`` and ``toolvet revoke``: a reviewer's yes to one snapshot, and taking it back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from toolvet.cli.output import print_note
from toolvet.cli.session import Session
from toolvet.core.approval import ApprovalState, ReviewedSnapshot, approval_state
from toolvet.core.denial import short_digest
from toolvet.core.errors import ContractError
from toolvet.kube.names import APPROVALS, INVENTORIES, SNAPSHOTS
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    manifest,
    snapshot_from_object,
    timestamp,
)

_DURATION = re.compile(r"([1-9][0-9]{0,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def expiry(text: str, now: datetime) -> str:
    """Turn ``12h``, ``30d``, ``4w`` or an RFC 3339 time into the time an approval ends; ContractError."""
    match = _DURATION.fullmatch(text)
    moment = now + int(match[1]) * _UNITS[match[2]] if match else timestamp(text, "expires")
    if moment <= now:
        raise ContractError("expires", "in_the_past")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _snapshot(session: Session, name: str) -> ReviewedSnapshot:
    stored = await session.api.get(SNAPSHOTS, session.namespace, name)
    if stored is None:
        raise ContractError("snapshot", "not_found")
    return snapshot_from_object(stored)


async def _approvals(session: Session, snapshot: str) -> list[dict[str, Any]]:
    return await session.api.items(
        APPROVALS, session.namespace, fieldSelector=f"spec.snapshotName={snapshot}"
    )


async def approve(session: Session, name: str, expires: str | None, now: datetime) -> dict[str, Any]:
    """Approve a snapshot as the caller; an approval of theirs that counts already is left as it is."""
    snapshot = await _snapshot(session, name)
    user = await session.user_name()
    await _note_if_not_live(session, snapshot)
    ends = None if expires is None else expiry(expires, now)
    for item in await _approvals(session, name):
        given = approval_from_object(item)
        if given.approved_by == user and approval_state(given, snapshot, now) is ApprovalState.VALID:
            if expires is None or ends == item["spec"].get("expiresAt"):
                print_note(f"already approved by {user}")
                return {"approval": given.name, "snapshot": name, "created": False}
        elif given.approved_by == user and given.revoked:
            # A revocation beats every other approval of the same approver: another would not count.
            raise ContractError("approval", "revoked_before")
    spec = {
        "inventoryName": snapshot.inventory_name,
        "snapshotName": name,
        "snapshotDigest": snapshot.evidence.digest,
        "catalogDigest": snapshot.catalog.digest,
        "approvedBy": user,
    }
    if ends is not None:
        spec["expiresAt"] = ends
    obj = manifest(APPROVALS, "", session.namespace, spec)
    obj["metadata"] = {"generateName": f"{name}-", "namespace": session.namespace}
    created = await session.api.create(APPROVALS, session.namespace, obj)
    print_note(f"approved as {user}" + (f" until {ends}" if ends else ""))
    return {"approval": created["metadata"]["name"], "snapshot": name, "created": True}


async def _note_if_not_live(session: Session, snapshot: ReviewedSnapshot) -> None:
    live = await session.api.get(INVENTORIES, session.namespace, snapshot.inventory_name)
    if live is None:
        print_note(f"note: inventory {snapshot.inventory_name} does not exist (yet)")
        return
    digest = catalog_from_inventory(live).digest
    if digest != snapshot.catalog.digest:
        print_note(f"note: this snapshot is not the live catalog, which is {short_digest(digest)}")


async def revoke(session: Session, name: str) -> dict[str, Any]:
    """Take back, for good, one approval by its name or every approval of a snapshot by the snapshot's."""
    stored = await session.api.get(APPROVALS, session.namespace, name)
    found = [stored] if stored is not None else await _approvals(session, name)
    if not found:
        raise ContractError("approval", "not_found")
    names = [str(item["metadata"]["name"]) for item in found if not item["spec"].get("revoked")]
    for approval in names:
        await session.api.merge(APPROVALS, session.namespace, approval, {"spec": {"revoked": True}})
    print_note(f"revoked {len(names)} of {len(found)} approvals" if names else "revoked before")
    return {"revoked": names}

"""``toolvet approve`` and ``toolvet revoke``: a reviewer's yes to one snapshot, and taking it back."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from toolvet.cli.output import print_note
from toolvet.cli.session import Session
from toolvet.core.approval import ApprovalState, ReviewedSnapshot, approval_state, snapshot_name
from toolvet.core.denial import short_digest
from toolvet.core.errors import ContractError
from toolvet.core.policy import BUILT_IN
from toolvet.kube.client import HTTP_FORBIDDEN, ApiError
from toolvet.kube.guard import guarded_since
from toolvet.kube.names import APPROVALS, INVENTORIES, POLICIES, POLICY_NAME, SNAPSHOTS
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    manifest,
    policies_from_object,
    snapshot_from_object,
    timestamp,
)

T = TypeVar("T")

_ALWAYS = datetime.min.replace(tzinfo=UTC)
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
    if name != snapshot_name(snapshot.inventory_name, snapshot.catalog.digest):
        # Nobody would find it by the digest of what it holds; an approval of it could never count.
        raise ContractError("snapshot", "digest_mismatch")
    user = await session.user_name()
    await _note_if_not_live(session, snapshot)
    ends = None if expires is None else expiry(expires, now)
    since = await _if_readable(guarded_since(session.api), _ALWAYS)
    stored = await _if_readable(session.api.get(POLICIES, None, POLICY_NAME), None)
    policies = BUILT_IN if stored is None else policies_from_object(stored)
    policy = policies.for_namespace(session.namespace)
    if user in policy.delivery_subjects:
        raise ContractError("approval", "delivery_subject")
    for item in await _approvals(session, name):
        given = approval_from_object(item, since)
        state = approval_state(given, snapshot, policy, now)
        if given.approved_by == user and state is ApprovalState.REVOKED:
            # A revocation beats every other approval of the same approver: another would not count.
            raise ContractError("approval", "revoked_before")
        if (
            given.approved_by == user
            and state is ApprovalState.VALID
            and ends in {None, item["spec"].get("expiresAt")}
        ):
            print_note(f"already approved by {user}")
            return {"approval": given.name, "snapshot": name, "created": False}
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


async def _if_readable(read: Awaitable[T], otherwise: T) -> T:
    """Await a read of the cluster's settings; a reviewer of one namespace may not be allowed to."""
    try:
        return await read
    except ApiError as error:
        if error.status != HTTP_FORBIDDEN:
            raise
        return otherwise


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

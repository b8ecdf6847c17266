"""Who approved a snapshot, and whether that still counts (DESIGN 3, "Who approved")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from toolvet.core.binding import Catalog, RunToolCatalogSnapshot
from toolvet.core.policy import Policy

SNAPSHOT_NAME_DIGITS = 16


def snapshot_name(inventory_name: str, catalog_digest: str) -> str:
    """Name the snapshot of a catalog, so that looking it up needs no list."""
    return f"{inventory_name}-{catalog_digest.removeprefix('sha256:')[:SNAPSHOT_NAME_DIGITS]}"


@dataclass(frozen=True)
class ReviewedSnapshot:
    """A stored snapshot: its object name, the inventory it was taken of, and the evidence."""

    name: str
    inventory_name: str
    evidence: RunToolCatalogSnapshot

    @property
    def catalog(self) -> Catalog:
        """The catalog that was reviewed."""
        return self.evidence.catalog


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval. ``approved_by`` was stamped by the API server's policy, not claimed."""

    name: str
    inventory_name: str
    snapshot_name: str
    snapshot_digest: str
    catalog_digest: str
    approved_by: str
    expires_at: datetime | None = None
    revoked: bool = False
    created_at: datetime | None = None
    """By the API server's clock; None where it is not stored yet."""
    origin_verified: bool = True
    """Whether the policy that checks ``approved_by`` stood when this was created."""


class ApprovalState(StrEnum):
    """What an approval is worth for one snapshot at one time."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    UNVERIFIED = "unverified_origin"
    """It is older than the policy that checks who approves: anybody may have written it."""
    DELIVERED = "delivered"
    """Its author only carries what others decided."""
    MISMATCH = "mismatch"
    """It was given to other content than the snapshot holds now."""


def ends_at(approval: Approval, policy: Policy) -> datetime | None:
    """Return when an approval stops to count: by its own word or by its age, whichever is first."""
    ends = [] if approval.expires_at is None else [approval.expires_at]
    if policy.max_approval_age is not None and approval.created_at is not None:
        ends.append(approval.created_at + policy.max_approval_age)
    return min(ends, default=None)


def approval_state(
    approval: Approval, snapshot: ReviewedSnapshot, policy: Policy, now: datetime
) -> ApprovalState:
    """Judge one approval; names select, recomputed digests decide."""
    covered = (snapshot.name, snapshot.inventory_name, snapshot.evidence.digest, snapshot.catalog.digest)
    given = (
        approval.snapshot_name,
        approval.inventory_name,
        approval.snapshot_digest,
        approval.catalog_digest,
    )
    if given != covered:
        return ApprovalState.MISMATCH
    if approval.revoked:
        return ApprovalState.REVOKED
    if not approval.origin_verified:
        return ApprovalState.UNVERIFIED
    if approval.approved_by in policy.delivery_subjects:
        return ApprovalState.DELIVERED
    ends = ends_at(approval, policy)
    if ends is not None and ends <= now:
        return ApprovalState.EXPIRED
    return ApprovalState.VALID


@dataclass(frozen=True, slots=True)
class Tally:
    """Distinct approvers of a snapshot, and the approvals that made them count."""

    required: int
    valid: int
    counted: tuple[str, ...]
    """Names of the approvals that count, sorted."""
    with_expired: int
    """Distinct approvers, had nothing expired."""
    revoked: int
    """Distinct approvers who took their approval back."""
    unverified: int = 0
    """Approvals older than the policy that checks who approves."""

    @property
    def sufficient(self) -> bool:
        """Tell whether the quorum is met."""
        return self.valid >= self.required


def tally(approvals: Sequence[Approval], snapshot: ReviewedSnapshot, policy: Policy, now: datetime) -> Tally:
    """Count distinct approvers; a revocation beats every other approval of the same approver."""
    states = [(approval, approval_state(approval, snapshot, policy, now)) for approval in approvals]
    revoked = {item.approved_by for item, state in states if state is ApprovalState.REVOKED}
    valid: dict[str, str] = {}
    expired: set[str] = set()
    for item, state in sorted(states, key=lambda pair: pair[0].name):
        if item.approved_by in revoked:
            continue
        if state is ApprovalState.VALID:
            valid.setdefault(item.approved_by, item.name)
        elif state is ApprovalState.EXPIRED:
            expired.add(item.approved_by)
    return Tally(
        required=policy.required_approvals,
        valid=len(valid),
        counted=tuple(sorted(valid.values())),
        with_expired=len(expired | valid.keys()),
        revoked=len(revoked),
        unverified=sum(state is ApprovalState.UNVERIFIED for _, state in states),
    )

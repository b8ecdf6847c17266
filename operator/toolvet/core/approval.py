"""Who approved a snapshot, and whether that still counts (DESIGN 3, "Who approved")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from toolvet.core.binding import Catalog, RunToolCatalogSnapshot

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


class ApprovalState(StrEnum):
    """What an approval is worth for one snapshot at one time."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    MISMATCH = "mismatch"
    """It was given to other content than the snapshot holds now."""


def approval_state(approval: Approval, snapshot: ReviewedSnapshot, now: datetime) -> ApprovalState:
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
    if approval.expires_at is not None and approval.expires_at <= now:
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

    @property
    def sufficient(self) -> bool:
        """Tell whether the quorum is met."""
        return self.valid >= self.required


def tally(approvals: Sequence[Approval], snapshot: ReviewedSnapshot, required: int, now: datetime) -> Tally:
    """Count distinct approvers; a revocation beats every other approval of the same approver."""
    states = [(approval, approval_state(approval, snapshot, now)) for approval in approvals]
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
        required=required,
        valid=len(valid),
        counted=tuple(sorted(valid.values())),
        with_expired=len(expired | valid.keys()),
        revoked=len(revoked),
    )

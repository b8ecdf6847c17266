"""The statuses of a snapshot and of an approval, and what an inventory's status shares with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from toolvet.controller.conditions import Condition, ConditionType, condition, explained
from toolvet.controller.observed import Observed, Stored
from toolvet.core.approval import (
    Approval,
    ApprovalState,
    ReviewedSnapshot,
    Tally,
    approval_state,
    snapshot_name,
)
from toolvet.core.binding import Catalog
from toolvet.core.decision import Decision, Unknown, is_expired
from toolvet.core.denial import short_digest
from toolvet.core.differences import ToolDifference, differences, reasons
from toolvet.core.errors import ContractError
from toolvet.core.policy import Policy
from toolvet.core.reasons import Reason

MAX_DIFFERENCES = 32

Status = dict[str, Any]


def stalled(of: Stored[Any], fault: ContractError, now: datetime) -> Condition:
    """Return the condition of an object that cannot be understood."""
    # The text of a ContractError is a place and a code.
    return condition(of, ConditionType.STALLED, True, Reason.STATE_INVALID, str(fault), now)


def is_well_named(state: Observed, snapshot: ReviewedSnapshot) -> bool:
    """Tell whether the bindings are those that the name claims: only then is it found by name."""
    return snapshot.name == snapshot_name(state.name, snapshot.catalog.digest)


def difference_fields(found: Sequence[ToolDifference]) -> Status:
    """Return the count of findings and the first of them."""
    return {
        "differenceCount": len(found),
        "differences": [item.to_dict() for item in found[:MAX_DIFFERENCES]],
    }


def approved_condition(of: Stored[Any], decision: Decision, now: datetime) -> Condition:
    """Return the condition Approved for a verdict."""
    count = decision.approvals
    counts = f"{count.valid} of {count.required} approvals" if count is not None else ""
    if decision.minor_change:
        message = f"{counts} of {decision.snapshot}: {explained(Reason.MINOR_CHANGE)}"
        return condition(of, ConditionType.APPROVED, True, Reason.MINOR_CHANGE, message, now)
    if decision.allowed:
        return condition(of, ConditionType.APPROVED, True, "approved", counts, now)
    reason = decision.reason or Reason.INTERNAL_ERROR
    message = ": ".join(part for part in (counts, explained(reason)) if part)
    holds = None if reason is Reason.OBSERVATION_EXPIRED else False
    return condition(of, ConditionType.APPROVED, holds, reason, message, now)


def snapshot_status(state: Observed, item: Stored[ReviewedSnapshot], now: datetime) -> Status:
    """Compare a snapshot with the live catalog and count its approvals."""
    snapshot, live = item.value, state.catalog
    if isinstance(snapshot, ContractError):
        return _unreadable_snapshot(item, snapshot, now)
    # Approved: would it be admitted if this were the live catalog?
    approved = state.judge(state.agent(item.name), now, live=snapshot.catalog)
    found = _against(snapshot, live)
    expired = isinstance(live, Catalog) and is_expired(live, now)
    codes = _eligibility_reasons(found, live)
    count = state.tally(snapshot, now)
    # Eligible: is it admitted now, live as the catalog is? The contract's fields know equality alone.
    covers = state.judge(state.agent(item.name), now, live=live).minor_change
    verdict = _eligible(codes, live, approved, covers)
    if expired and verdict[0]:
        reason = Reason.OBSERVATION_EXPIRED
        verdict = None, reason, explained(reason)
    eligible = condition(item, ConditionType.ELIGIBLE, *verdict, now)
    conditions = [approved_condition(item, approved, now), eligible]
    if not is_well_named(state, snapshot):
        conditions.append(stalled(item, ContractError("spec.catalog_digest", "digest_mismatch"), now))
    status: Status = {
        "observedGeneration": item.generation,
        "digest": short_digest(snapshot.catalog.digest),
        "snapshotDigest": snapshot.evidence.digest,
        **_eligibility(codes, expired=expired),
        **difference_fields(found),
        "conditions": conditions,
    }
    if isinstance(count, Tally):
        status["approvals"] = {"required": count.required, "valid": count.valid}
    return status


def _unreadable_snapshot(item: Stored[ReviewedSnapshot], fault: ContractError, now: datetime) -> Status:
    return {
        "observedGeneration": item.generation,
        **_eligibility((Reason.STATE_INVALID,)),
        "conditions": [
            condition(item, ConditionType.APPROVED, False, Reason.STATE_INVALID, str(fault), now),
            condition(item, ConditionType.ELIGIBLE, False, Reason.STATE_INVALID, str(fault), now),
            stalled(item, fault, now),
        ],
    }


def _against(snapshot: ReviewedSnapshot, live: Catalog | None | Unknown) -> tuple[ToolDifference, ...]:
    if isinstance(live, Unknown):
        return ()
    return differences(snapshot.catalog, live if live is not None else Catalog(()))


def _eligibility_reasons(
    found: Sequence[ToolDifference], live: Catalog | None | Unknown
) -> tuple[Reason, ...]:
    if isinstance(live, Unknown):
        return (live.reason,)
    if live is None and not found:
        # A snapshot of no tools has none that could be unavailable, and is not eligible all the same.
        return (Reason.INVENTORY_MISSING,)
    return reasons(found)


def _eligibility(codes: Sequence[Reason], *, expired: bool = False) -> Status:
    """Return the fields of the contract's eligibility report (CONTRACTS 9.1).

    ``unknown`` is ours: no difference to what a live server was last seen to serve, too long ago to count.
    That clears no difference, so that there the contract's own word stays.
    """
    all_codes = sorted({*codes, *([Reason.OBSERVATION_EXPIRED] if expired else [])})
    without = "unknown" if expired else "eligible"
    return {
        "eligibility": "re-review-required" if codes else without,
        "previewValid": not all_codes,
        "resumeEligible": not all_codes,
        "reasons": [str(code) for code in all_codes],
    }


def _eligible(
    codes: Sequence[Reason], live: Catalog | None | Unknown, approved: Decision, covers: bool
) -> tuple[bool | None, str, str]:
    """Return whether the snapshot may stand for the live catalog now, with reason and message."""
    if live is None:
        return False, Reason.INVENTORY_MISSING, "the inventory does not exist"
    if isinstance(live, Unknown):
        return False, live.reason, explained(live.reason)
    if covers:
        return True, Reason.MINOR_CHANGE, "the live catalog differs by minor changes: " + ", ".join(codes)
    if codes:
        return False, Reason.SNAPSHOT_OUTDATED, "the live catalog differs: " + ", ".join(codes)
    if not approved.allowed:
        reason = approved.reason or Reason.INTERNAL_ERROR
        return False, reason, explained(reason)
    return True, "eligible", "the live catalog equals this approved snapshot"


_APPROVAL_TEXTS = {
    ApprovalState.VALID: "it counts",
    ApprovalState.EXPIRED: "its time has passed",
    ApprovalState.REVOKED: "its approver took it back",
    ApprovalState.UNVERIFIED: "it is older than the admission policy that checks who approves",
    ApprovalState.DELIVERED: "its author is a delivery subject of the policy, whose approvals never count",
    ApprovalState.MISMATCH: "it was given to other content than the snapshot holds",
}


def approval_status(state: Observed, item: Stored[Approval], now: datetime) -> Status:
    """Say whether an approval counts."""
    approval = item.value
    if isinstance(approval, ContractError):
        invalid = condition(item, ConditionType.VALID, False, Reason.STATE_INVALID, str(approval), now)
        return {
            "observedGeneration": item.generation,
            "conditions": [invalid, stalled(item, approval, now)],
        }
    holds, reason, message = _worth(state, approval, now)
    valid = condition(item, ConditionType.VALID, holds, reason, message, now)
    return {"observedGeneration": item.generation, "conditions": [valid]}


def _worth(state: Observed, approval: Approval, now: datetime) -> tuple[bool, str, str]:
    found = next((item for item in state.snapshots if item.name == approval.snapshot_name), None)
    if found is None:
        return False, Reason.SNAPSHOT_MISSING, "its snapshot does not exist"
    snapshot = found.value
    if isinstance(snapshot, ContractError):
        return False, Reason.STATE_INVALID, explained(Reason.STATE_INVALID)
    policy = state.policy
    if isinstance(policy, Unknown):
        return False, policy.reason, explained(policy.reason)
    worth = approval_state(approval, snapshot, policy, now)
    if worth is ApprovalState.VALID and approval.approved_by in _took_back(state, snapshot, policy, now):
        worth = ApprovalState.REVOKED
    return worth is ApprovalState.VALID, str(worth), _APPROVAL_TEXTS[worth]


def _took_back(state: Observed, snapshot: ReviewedSnapshot, policy: Policy, now: datetime) -> set[str]:
    """Approvers who revoked any approval of a snapshot: none of theirs counts."""
    values = (item.value for item in state.approvals)
    return {
        value.approved_by
        for value in values
        if not isinstance(value, ContractError)
        and approval_state(value, snapshot, policy, now) is ApprovalState.REVOKED
    }

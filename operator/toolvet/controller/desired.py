"""The statuses that follow from what a pass observed. Pure: the same state and time give the same statuses.

Verdicts are the gate's own: every "would this be admitted" is ``core.decision.decide`` on a creation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from toolvet.controller.change import Change, change_since
from toolvet.controller.conditions import ConditionType, condition, timestamp
from toolvet.controller.evidence import (
    Status,
    approval_status,
    approved_condition,
    difference_fields,
    is_well_named,
    snapshot_status,
    stalled,
)
from toolvet.controller.observed import Observed, Stored
from toolvet.core.approval import ReviewedSnapshot, Tally, ends_at
from toolvet.core.binding import Catalog, LiveCatalog
from toolvet.core.decision import Decision, Unknown
from toolvet.core.denial import short_digest
from toolvet.core.differences import differences
from toolvet.core.errors import ContractError
from toolvet.core.policy import PolicySet
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload


@dataclass(frozen=True, slots=True)
class Judged:
    """A governed workload and what the gate would say if it were created now."""

    workload: Stored[Workload]
    decision: Decision


@dataclass(frozen=True, slots=True)
class Desired:
    """What a pass wants to be true. Statuses are by object name."""

    inventory: Status | None
    """None where the inventory does not exist."""
    snapshots: Mapping[str, Status]
    approvals: Mapping[str, Status]
    approved: Decision
    """The verdict on a plain workload of the inventory."""
    workloads: Sequence[Judged]
    change: Change | None
    """Set where the generation is new and its catalog differs from the one before."""
    next_expiry: datetime | None
    """When the first approval that still counts, or the observation of a live server, stops to."""


def desired(state: Observed, now: datetime) -> Desired:
    """Judge everything that belongs to one inventory."""
    baseline = _last_approved(state, now)
    base = baseline.name if baseline is not None else None
    live = state.catalog
    approved = state.judge(state.agent(), now, live=live, baseline=base)
    workloads = [
        Judged(item, state.judge(item.value, now, live=live, baseline=base))
        for item in state.workloads
        if not isinstance(item.value, ContractError)
    ]
    change = _change(state)
    return Desired(
        inventory=_inventory_status(state, approved, workloads, baseline, change, now),
        snapshots={item.name: snapshot_status(state, item, now) for item in state.snapshots},
        approvals={item.name: approval_status(state, item, now) for item in state.approvals},
        approved=approved,
        workloads=workloads,
        change=change,
        next_expiry=_next_expiry(state, now),
    )


def policy_status(policy: Stored[PolicySet], now: datetime) -> Status:
    """Say whether the CatalogPolicy is in force."""
    fault = policy.value if isinstance(policy.value, ContractError) else None
    if fault is None:
        ready = condition(policy, ConditionType.READY, True, "accepted", "the policy is in force", now)
        return {"observedGeneration": policy.generation, "conditions": [ready]}
    ready = condition(policy, ConditionType.READY, False, Reason.STATE_INVALID, str(fault), now)
    return {"observedGeneration": policy.generation, "conditions": [ready, stalled(policy, fault, now)]}


def _change(state: Observed) -> Change | None:
    inventory, live = state.inventory, state.catalog
    if inventory is None or not isinstance(live, Catalog):
        return None
    if inventory.status.get("observedGeneration") == inventory.generation:
        return None
    earlier = None if state.previous is None else (state.previous.generation, state.previous.catalog)
    return change_since(inventory.generation, live, inventory.status, earlier)


def _last_approved(state: Observed, now: datetime) -> ReviewedSnapshot | None:
    """Find the approved snapshot that equals the live catalog, else the one approved last."""
    live = state.catalog
    given = {item.name: str(item.obj["metadata"].get("creationTimestamp", "")) for item in state.approvals}
    best: tuple[bool, str, str, ReviewedSnapshot] | None = None
    for item in state.snapshots:
        snapshot = item.value
        if isinstance(snapshot, ContractError) or not is_well_named(state, snapshot):
            continue
        count = state.tally(snapshot, now)
        if not isinstance(count, Tally) or not count.sufficient:
            continue
        is_live = isinstance(live, Catalog) and snapshot.catalog.digest == live.digest
        rank = (is_live, max(given.get(name, "") for name in count.counted), snapshot.name)
        if best is None or rank > best[:3]:
            best = (*rank, snapshot)
    return best[3] if best is not None else None


def _inventory_status(
    state: Observed,
    approved: Decision,
    workloads: Sequence[Judged],
    baseline: ReviewedSnapshot | None,
    change: Change | None,
    now: datetime,
) -> Status | None:
    inventory, live = state.inventory, state.catalog
    if inventory is None:
        return None
    eligible = sum(item.decision.allowed for item in workloads)
    status: Status = {
        "observedGeneration": inventory.generation,
        "workloads": {
            "governed": len(workloads),
            "eligible": eligible,
            "drifted": len(workloads) - eligible,
        },
    }
    last_change = (
        change.to_status(timestamp(now)) if change is not None else inventory.status.get("lastChange")
    )
    if last_change:
        status["lastChange"] = last_change
    if isinstance(inventory.value, ContractError) or not isinstance(live, Catalog):
        fault = (
            inventory.value
            if isinstance(inventory.value, ContractError)
            else ContractError("spec", "unreadable")
        )
        invalid = condition(inventory, ConditionType.APPROVED, False, Reason.STATE_INVALID, str(fault), now)
        return status | {"conditions": [invalid, stalled(inventory, fault, now)]}
    status |= {
        "toolCount": len(live.bindings),
        "digest": short_digest(live.digest),
        "catalogDigest": live.digest,
        "inventoryDigest": live.inventory_digest,
        "conditions": [approved_condition(inventory, approved, now)],
    }
    if baseline is not None:
        found = differences(baseline.catalog, live)
        status["lastApproved"] = {
            "snapshotName": baseline.name,
            "catalogDigest": baseline.catalog.digest,
            **difference_fields(found),
        }
    return status


def _next_expiry(state: Observed, now: datetime) -> datetime | None:
    policy, live = state.policy, state.catalog
    ends = [live.observed_until if isinstance(live, LiveCatalog) else None]
    if not isinstance(policy, Unknown):
        ends += [
            ends_at(item.value, policy)
            for item in state.approvals
            if not isinstance(item.value, ContractError) and not item.value.revoked
        ]
    return min((end for end in ends if end is not None and end > now), default=None)

"""The one decision behind the webhook, the controller and the command line (DESIGN 2, 4).

``decide`` is total and pure: knowledge that could not be had is a value, and no value of it is ever
permission. Digests claimed by stored objects only select; what is compared is recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum

from toolvet.core.approval import Approval, ReviewedSnapshot, Tally, snapshot_name, tally
from toolvet.core.binding import Catalog, LiveCatalog
from toolvet.core.differences import ToolDifference, differences
from toolvet.core.policy import Policy, PolicySet, ReviewOn
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload, is_governed_change


class Unknown(Enum):
    """Why a piece of state is not known; never the same as knowing that it does not exist."""

    UNAVAILABLE = Reason.STATE_UNAVAILABLE
    """The read failed, was slow, or was not made."""
    INVALID = Reason.STATE_INVALID
    """It was read and cannot be understood."""

    @property
    def reason(self) -> Reason:
        """The code of a denial on this ground."""
        return self.value


Inventories = Mapping[str, Catalog | None | Unknown]
"""By name; None = does not exist. A name that is not a key was not read."""
Snapshots = Mapping[str, ReviewedSnapshot | None | Unknown]
"""By name, in the same way."""
Approvals = Sequence[Approval] | Unknown
"""Those of one snapshot."""

_ONLY_UNAPPROVED = frozenset({Reason.NOT_APPROVED, Reason.APPROVAL_EXPIRED, Reason.UNVERIFIED_ORIGIN})
"""Refusals of a live catalog that nobody said no to: a minor change may still be admitted."""


class Verdict(StrEnum):
    """What becomes of a change in enforce mode."""

    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, its reason, and everything that led to it; free of content."""

    verdict: Verdict
    reason: Reason | None = None
    """None where the change is allowed."""
    inventory: str | None = None
    """The governing inventory; None where nothing governs."""
    live_digest: str | None = None
    snapshot: str | None = None
    """The snapshot that covers, or would have to cover, the live catalog."""
    snapshot_exists: bool = False
    approvals: Tally | None = None
    baseline: str | None = None
    """The snapshot that ``differences`` compares the live catalog with."""
    differences: tuple[ToolDifference, ...] = ()
    misplaced: tuple[str, ...] = ()
    pending: bool = False
    """The only obstacle is a pinned snapshot that may still arrive: a dry run warns instead."""
    minor_change: bool = False
    """Allowed although the live catalog is not the snapshot's: ``differences`` are minor, and to be told."""
    unread: tuple[str, ...] = ()
    """Snapshots that the verdict depends on and that were not read, or not their approvals."""

    @property
    def allowed(self) -> bool:
        """Tell whether enforce mode admits the change."""
        return self.verdict is Verdict.ALLOWED

    @property
    def code(self) -> Reason | None:
        """The reason, or what an admission is to be told with; None where there is nothing to tell."""
        return Reason.MINOR_CHANGE if self.minor_change else self.reason


_UNGOVERNED = Decision(Verdict.ALLOWED)


def _denied(reason: Reason) -> Decision:
    return Decision(Verdict.DENIED, reason)


@dataclass(frozen=True, slots=True)
class Governing:
    """Which inventory governs a workload: its name and catalog, or neither."""

    name: str | None = None
    catalog: Catalog | None = None


def governing(workload: Workload, live: Inventories) -> Governing | Decision:
    """Find the inventory that governs; a Decision where that alone refuses the workload (DESIGN 4)."""
    own = live.get(workload.service_account, Unknown.UNAVAILABLE)
    if isinstance(own, Unknown):
        return _denied(own.reason)
    named = workload.inventory
    if own is not None:
        if named is not None and named != workload.service_account:
            return replace(_denied(Reason.BINDING_MISMATCH), inventory=workload.service_account)
        return Governing(workload.service_account, own)
    if named is None:
        return Governing()
    annotated = live.get(named, Unknown.UNAVAILABLE)
    if isinstance(annotated, Unknown):
        return replace(_denied(annotated.reason), inventory=named)
    if annotated is None:
        return replace(_denied(Reason.INVENTORY_MISSING), inventory=named)
    return Governing(named, annotated)


def inventories_to_read(old: Workload | None, new: Workload) -> frozenset[str]:
    """Name the inventories a decision about this change looks at."""
    names = {new.service_account, new.inventory}
    if old is not None and old.service_account != new.service_account:
        names.add(old.service_account)
    return frozenset(name for name in names if name is not None)


def snapshot_to_read(workload: Workload, governed_by: Governing) -> str | None:
    """Name the snapshot a decision looks at, once its inventory is known."""
    if governed_by.name is None or governed_by.catalog is None:
        return None
    return _wanted(workload, governed_by.name, governed_by.catalog)


def _wanted(workload: Workload, inventory: str, catalog: Catalog) -> str:
    # An empty pin is a pin that names nothing; reading it as none would be a guess.
    return snapshot_name(inventory, catalog.digest) if workload.snapshot is None else workload.snapshot


def is_expired(catalog: Catalog, now: datetime) -> bool:
    """Tell whether a catalog was observed at a live server too long ago to say what that serves now."""
    end = catalog.observed_until if isinstance(catalog, LiveCatalog) else None
    return end is not None and now >= end


def leaves_governance(old: Workload | None, live: Inventories) -> bool | Unknown:
    """Tell whether the old object was bound, so that an ungoverned new one takes the binding away."""
    if old is None:
        return False
    if old.inventory is not None:
        return True
    own = live.get(old.service_account, Unknown.UNAVAILABLE)
    return own if isinstance(own, Unknown) else own is not None


def decide(
    policies: PolicySet | Unknown,
    live: Inventories,
    snapshots: Snapshots,
    approvals: Approvals,
    old: Workload | None,
    new: Workload,
    now: datetime,
    *,
    namespace: str,
    may_exempt: bool | Unknown = False,
    baseline: str | None = None,
    other_approvals: Mapping[str, Approvals] | None = None,
) -> Decision:
    """Decide one change of one workload in a namespace with a mode.

    ``approvals`` are those of the snapshot named by ``snapshot_to_read``. ``may_exempt`` is the caller's
    verb ``exempt``, asked for only where a binding goes away. ``baseline`` names a snapshot to describe a
    refusal with; it has no part in the verdict. ``other_approvals`` are those of further snapshots by name,
    needed where a decision names them as ``unread``.
    """
    if not is_governed_change(old, new):
        return _UNGOVERNED
    if new.misplaced:
        return replace(_denied(Reason.BINDING_MISPLACED), misplaced=new.misplaced)
    found = governing(new, live)
    if isinstance(found, Decision):
        return found
    if isinstance(policies, Unknown):
        return replace(_denied(policies.reason), inventory=found.name)
    policy = policies.for_namespace(namespace)
    if found.name is None or found.catalog is None:
        return _ungoverned(policy, old, new, live, may_exempt)
    if is_expired(found.catalog, now):
        # What the server serves now is not known, whatever was approved of what it served.
        return replace(
            _denied(Reason.OBSERVATION_EXPIRED), inventory=found.name, live_digest=found.catalog.digest
        )
    decision = _judge(new, found.name, found.catalog, policy, snapshots, approvals, now)
    if not decision.allowed and policy.review_on is ReviewOn.MATERIAL_CHANGE:
        given = {**(other_approvals or {}), _wanted(new, found.name, found.catalog): approvals}
        decision = _by_minor_change(decision, new, found.catalog, policy, snapshots, given, now)
    return decision if decision.allowed else _described(decision, found.catalog, snapshots, baseline)


def _ungoverned(
    policy: Policy, old: Workload | None, new: Workload, live: Inventories, may_exempt: bool | Unknown
) -> Decision:
    if policy.agents.selects(new):
        return _denied(Reason.BINDING_MISSING)
    was_bound = leaves_governance(old, live)
    if isinstance(was_bound, Unknown):
        return _denied(was_bound.reason)
    if not was_bound or may_exempt is True:
        return _UNGOVERNED
    if isinstance(may_exempt, Unknown):
        return _denied(may_exempt.reason)
    return _denied(Reason.BINDING_REMOVED)


def _judge(
    new: Workload,
    inventory: str,
    catalog: Catalog,
    policy: Policy,
    snapshots: Snapshots,
    approvals: Approvals,
    now: datetime,
) -> Decision:
    name = _wanted(new, inventory, catalog)
    pinned = new.snapshot is not None
    state = Decision(Verdict.DENIED, None, inventory=inventory, live_digest=catalog.digest, snapshot=name)
    snapshot = snapshots.get(name, Unknown.UNAVAILABLE)
    if isinstance(snapshot, Unknown):
        return replace(state, reason=snapshot.reason)
    if snapshot is None:
        reason = Reason.SNAPSHOT_MISSING if pinned else Reason.NOT_APPROVED
        return replace(state, reason=reason, pending=pinned)
    state = replace(state, snapshot_exists=True)
    if snapshot.inventory_name != inventory:
        return replace(state, reason=Reason.BINDING_MISMATCH)
    if snapshot.catalog.bindings != catalog.bindings:
        reason = Reason.SNAPSHOT_OUTDATED if pinned else Reason.NOT_APPROVED
        return replace(state, reason=reason, pending=pinned)
    if isinstance(approvals, Unknown):
        return replace(state, reason=approvals.reason)
    count = tally(approvals, snapshot, policy, now)
    state = replace(state, approvals=count)
    if count.sufficient:
        return replace(state, verdict=Verdict.ALLOWED)
    return replace(state, reason=_approval_reason(count), pending=pinned)


def _approval_reason(count: Tally) -> Reason:
    if count.revoked:
        return Reason.APPROVAL_REVOKED
    if count.with_expired >= count.required:
        return Reason.APPROVAL_EXPIRED
    if count.unverified:
        return Reason.UNVERIFIED_ORIGIN
    return Reason.NOT_APPROVED


def _listed(new: Workload, inventory: str, catalog: Catalog) -> dict[str, str]:
    """Return the digests that the live catalog is a minor change of, by snapshot name, in their order."""
    digests = catalog.minor_change_of if isinstance(catalog, LiveCatalog) else ()
    listed = {snapshot_name(inventory, digest): digest for digest in digests if digest != catalog.digest}
    if new.snapshot is None:
        return listed
    # A pin reaches no further than the snapshot it names.
    return {name: digest for name, digest in listed.items() if name == new.snapshot}


def _by_minor_change(
    refused: Decision,
    new: Workload,
    catalog: Catalog,
    policy: Policy,
    snapshots: Snapshots,
    approvals: Mapping[str, Approvals],
    now: datetime,
) -> Decision:
    """Admit what is refused for want of an approval alone, under that of a listed snapshot (DESIGN 6)."""
    inventory = refused.inventory or ""
    listed = _listed(new, inventory, catalog)
    curable = _ONLY_UNAPPROVED if new.snapshot is None else {Reason.SNAPSHOT_OUTDATED}
    if not listed or refused.reason not in curable:
        return refused
    live = snapshot_name(inventory, catalog.digest)
    unread = [
        name for name in (live, *listed) if name not in approvals or (name != live and name not in snapshots)
    ]
    if unread:
        return replace(refused, reason=Reason.STATE_UNAVAILABLE, pending=False, unread=tuple(unread))
    of_live = approvals[live]
    if isinstance(of_live, Unknown):
        return replace(refused, reason=of_live.reason, pending=False)
    if any(item.revoked and item.catalog_digest == catalog.digest for item in of_live):
        # Somebody looked at just this catalog and took the yes back: that outweighs "minor".
        return refused
    unknown: Unknown | None = None
    for name, digest in listed.items():
        count = _count(snapshots[name], inventory, digest, approvals[name], policy, now)
        if isinstance(count, Unknown):
            unknown = unknown or count
        elif count is not None and count[1].sufficient:
            return replace(
                refused,
                verdict=Verdict.ALLOWED,
                reason=None,
                pending=False,
                snapshot=name,
                snapshot_exists=True,
                approvals=count[1],
                baseline=name,
                differences=differences(count[0].catalog, catalog),
                minor_change=True,
            )
    return refused if unknown is None else replace(refused, reason=unknown.reason, pending=False)


def _count(
    snapshot: ReviewedSnapshot | None | Unknown,
    inventory: str,
    digest: str,
    approvals: Approvals,
    policy: Policy,
    now: datetime,
) -> tuple[ReviewedSnapshot, Tally] | None | Unknown:
    """Count the approvals of a listed snapshot; None where it is not there or holds another catalog."""
    if snapshot is None or isinstance(snapshot, Unknown):
        return snapshot
    if snapshot.inventory_name != inventory or snapshot.catalog.digest != digest:
        return None
    return (
        approvals if isinstance(approvals, Unknown) else (snapshot, tally(approvals, snapshot, policy, now))
    )


def _described(decision: Decision, catalog: Catalog, snapshots: Snapshots, baseline: str | None) -> Decision:
    """Add what changed since the baseline (or since the pinned snapshot), for the text alone."""
    name = decision.snapshot if decision.reason is Reason.SNAPSHOT_OUTDATED else baseline
    known = snapshots.get(name) if name is not None else None
    if not isinstance(known, ReviewedSnapshot) or known.inventory_name != decision.inventory:
        return decision
    return replace(decision, baseline=known.name, differences=differences(known.catalog, catalog))

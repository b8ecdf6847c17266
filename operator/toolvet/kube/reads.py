"""The read plan of a decision: current state, no cache, two rounds in parallel (DESIGN 2, "Read plan").

Round 1: the inventory of the service account's name, the annotated one if another, the policy. Round 2: the
snapshot by its computed or pinned name, its approvals, since when the API server checks approvers, and,
where that snapshot is not the last approved one, the latter too, to say what changed. Round 3, only where
the policy reviews material changes alone and the live catalog is not approved: the snapshots that it is said
to be a minor change of, and their approvals. A read that fails or cannot be understood is ``Unknown``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from toolvet.core.approval import Approval, ReviewedSnapshot
from toolvet.core.binding import Catalog, RunToolCatalogSnapshot
from toolvet.core.decision import (
    Decision,
    Governing,
    Unknown,
    decide,
    governing,
    inventories_to_read,
    leaves_governance,
    snapshot_to_read,
)
from toolvet.core.errors import ContractError
from toolvet.core.policy import BUILT_IN, PolicySet
from toolvet.core.workload import Workload, is_governed_change
from toolvet.kube.client import ApiError
from toolvet.kube.guard import guarded_since
from toolvet.kube.names import (
    ACCESS_REVIEWS,
    APPROVALS,
    GROUP,
    INVENTORIES,
    POLICIES,
    POLICY_NAME,
    SNAPSHOTS,
    Resource,
    is_object_name,
)
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    policies_from_object,
    snapshot_from_object,
)

MAX_APPROVALS = 64

Object = Mapping[str, Any]
Caller = Mapping[str, Any]
"""``userInfo`` of an admission request."""


class Reader(Protocol):
    """What a decision needs of the API server; raises ApiError."""

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> dict[str, Any] | None:
        """Read one object, or its metadata alone, as it is now."""

    async def list(
        self, resource: Resource, namespace: str | None = None, **parameters: str | int
    ) -> dict[str, Any]:
        """Read a list."""

    async def create(
        self, resource: Resource, namespace: str | None, obj: dict[str, Any], *, dry_run: bool = False
    ) -> dict[str, Any]:
        """Create an object; used for access reviews, which are never stored."""


@dataclass(slots=True)
class State:
    """Everything a decision is made of, as far as it was read."""

    policies: PolicySet | Unknown = Unknown.UNAVAILABLE
    live: dict[str, Catalog | None | Unknown] = field(default_factory=dict)
    snapshots: dict[str, ReviewedSnapshot | None | Unknown] = field(default_factory=dict)
    approvals: Sequence[Approval] | Unknown = Unknown.UNAVAILABLE
    may_exempt: bool | Unknown = False
    baseline: str | None = None
    other_approvals: dict[str, Sequence[Approval] | Unknown] = field(default_factory=dict)
    """Of the snapshots of round 3, by name."""


T = TypeVar("T")

_NOT_UNDERSTOOD = (AttributeError, ContractError, LookupError, TypeError, ValueError)
"""What parsing an object of a strange shape can raise."""


async def _known(
    read: Awaitable[Object | None], parse: Callable[[Object], T], absent: T | None
) -> T | None | Unknown:
    """Await one read and parse it; what is not there is ``absent``, what is not known is Unknown."""
    try:
        found = await read
        return absent if found is None else parse(found)
    except ApiError:
        return Unknown.UNAVAILABLE
    except _NOT_UNDERSTOOD:
        return Unknown.INVALID


async def _each(reads: Iterable[Awaitable[T]]) -> list[T]:
    waiting = list(reads)
    # One is the rule, and needs no task of its own.
    return [await waiting[0]] if len(waiting) == 1 else await asyncio.gather(*waiting)


async def _nothing() -> None:
    return None


def last_approved(inventory: Object) -> str | None:
    """Return the name of the snapshot that an inventory's status calls the one approved last."""
    # Only texts depend on a status, so that a strange one is the same as none.
    found: object = inventory
    for name in ("status", "lastApproved", "snapshotName"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if is_object_name(found) else None


@dataclass(frozen=True, slots=True)
class _KnownTools:
    """A list of tools that was understood: as the object holds it, and what it says."""

    listed: object
    catalog: Catalog


def _snapshot(known: _KnownTools | None, obj: Object) -> ReviewedSnapshot:
    """Read a snapshot. An allowed one lists just what the inventory does: that is taken apart once."""
    spec = obj.get("spec")
    if known is None or not isinstance(spec, Mapping) or spec.get("bindings") != known.listed:
        return snapshot_from_object(obj)
    rest = snapshot_from_object({**obj, "spec": {**spec, "bindings": []}})
    return replace(rest, evidence=RunToolCatalogSnapshot.of(rest.evidence.run_id, known.catalog))


class Plan:
    """Reads the state of one decision. ``reads`` counts what was asked of the API server."""

    def __init__(self, api: Reader, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._baselines: dict[str, str] = {}
        self._tools: dict[str, _KnownTools] = {}
        self._guard: datetime | None = None
        self.reads = 0

    def _get(self, resource: Resource, name: str) -> Awaitable[Object | None]:
        if not is_object_name(name):
            # Not a name: nothing of that name exists, and it must not become part of a path.
            return _nothing()
        self.reads += 1
        return self._api.get(resource, self._namespace if resource.namespaced else None, name)

    async def read(self, old: Workload | None, new: Workload, caller: Caller) -> State:
        """Read what ``decide`` needs, and stop as soon as the verdict cannot depend on more."""
        state = State()
        if not is_governed_change(old, new) or new.misplaced:
            return state
        names = sorted(inventories_to_read(old, new))
        policies, catalogs = await asyncio.gather(
            _known(self._get(POLICIES, POLICY_NAME), policies_from_object, BUILT_IN),
            _each(_known(self._get(INVENTORIES, name), self._inventory(name), None) for name in names),
        )
        # An absent policy is the built-in one, so None cannot come back; if it did, nothing is assumed.
        state.policies = policies if policies is not None else Unknown.INVALID
        state.live = dict(zip(names, catalogs, strict=True))
        found = governing(new, state.live)
        if isinstance(found, Decision):
            return state
        wanted = snapshot_to_read(new, found)
        if wanted is None:
            if leaves_governance(old, state.live) is True:
                state.may_exempt = await self._may_exempt(caller)
            return state
        await self._read_snapshots(state, found, wanted)
        return state

    def _inventory(self, name: str) -> Callable[[Object], Catalog]:
        def parse(obj: Object) -> Catalog:
            if (baseline := last_approved(obj)) is not None:
                self._baselines[name] = baseline
            catalog = catalog_from_inventory(obj)
            self._tools[name] = _KnownTools(obj["spec"]["tools"], catalog)
            return catalog

        return parse

    async def _read_snapshots(self, state: State, found: Governing, wanted: str) -> None:
        state.baseline = self._baselines.get(found.name or "")
        parse = partial(_snapshot, self._tools.get(found.name or ""))
        names = [wanted] if state.baseline in {None, wanted} else [wanted, str(state.baseline)]
        state.approvals, snapshots = await asyncio.gather(
            self._approvals(wanted),
            _each(_known(self._get(SNAPSHOTS, name), parse, None) for name in names),
        )
        state.snapshots = dict(zip(names, snapshots, strict=True))

    async def read_further(self, state: State, snapshots: Sequence[str]) -> None:
        """Read what a decision names as ``unread``: snapshots by name, and their approvals."""
        missing = [name for name in snapshots if name not in state.snapshots]
        found, lists = await asyncio.gather(
            _each(_known(self._get(SNAPSHOTS, name), snapshot_from_object, None) for name in missing),
            _each(self._listed(name) for name in snapshots),
        )
        state.snapshots |= dict(zip(missing, found, strict=True))
        state.other_approvals |= dict(zip(snapshots, lists, strict=True))

    async def _approvals(self, snapshot: str) -> Sequence[Approval] | Unknown:
        if not is_object_name(snapshot):
            return ()
        self.reads += 2
        items, since = await asyncio.gather(self._items(snapshot), self._guarded_since())
        if isinstance(since, Unknown):
            return since
        self._guard = since
        return self._understood(items)

    async def _guarded_since(self) -> datetime | None | Unknown:
        try:
            return await guarded_since(self._api)
        except ApiError:
            return Unknown.UNAVAILABLE
        except _NOT_UNDERSTOOD:
            return Unknown.INVALID

    async def _listed(self, snapshot: str) -> Sequence[Approval] | Unknown:
        return self._understood(await self._items(snapshot))

    def _understood(self, items: Sequence[Object] | Unknown) -> Sequence[Approval] | Unknown:
        if isinstance(items, Unknown):
            return items
        try:
            return tuple(approval_from_object(item, self._guard) for item in items)
        except _NOT_UNDERSTOOD:
            return Unknown.INVALID

    async def _items(self, snapshot: str) -> Sequence[Object] | Unknown:
        """List the approvals of a snapshot; a list that goes on is not enough knowledge."""
        self.reads += 1
        try:
            answer = await self._api.list(
                APPROVALS,
                self._namespace,
                fieldSelector=f"spec.snapshotName={snapshot}",
                limit=MAX_APPROVALS,
            )
            goes_on = bool((answer.get("metadata") or {}).get("continue"))
            return Unknown.UNAVAILABLE if goes_on else tuple(answer["items"])
        except ApiError:
            return Unknown.UNAVAILABLE
        except _NOT_UNDERSTOOD:
            return Unknown.INVALID

    async def _may_exempt(self, caller: Caller) -> bool | Unknown:
        self.reads += 1
        review = {
            "apiVersion": ACCESS_REVIEWS.api_version,
            "kind": ACCESS_REVIEWS.kind,
            "spec": {
                **{key: caller[key] for key in ("groups", "uid", "extra") if caller.get(key)},
                "user": caller.get("username", ""),
                "resourceAttributes": {"group": GROUP, "resource": POLICIES.plural, "verb": "exempt"},
            },
        }
        try:
            answer = await self._api.create(ACCESS_REVIEWS, None, review)
        except ApiError:
            return Unknown.UNAVAILABLE
        status = answer.get("status")
        return isinstance(status, Mapping) and status.get("allowed") is True


async def judge(
    plan: Plan, namespace: str, old: Workload | None, new: Workload, caller: Caller, now: datetime
) -> Decision:
    """Read the state of one change and decide it."""
    state = await plan.read(old, new, caller)
    decision = _decided(state, namespace, old, new, now)
    if decision.unread:
        await plan.read_further(state, decision.unread)
        decision = _decided(state, namespace, old, new, now)
    return decision


def _decided(state: State, namespace: str, old: Workload | None, new: Workload, now: datetime) -> Decision:
    return decide(
        state.policies,
        state.live,
        state.snapshots,
        state.approvals,
        old,
        new,
        now,
        namespace=namespace,
        may_exempt=state.may_exempt,
        baseline=state.baseline,
        other_approvals=state.other_approvals,
    )

"""The live reads of one pass. Nothing is kept; a read that fails ends the pass, which is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolvet.controller.history import newest_before
from toolvet.controller.observed import Observed, Stored, governs, known, stored
from toolvet.core.approval import ReviewedSnapshot
from toolvet.core.binding import Catalog
from toolvet.core.decision import Unknown
from toolvet.core.errors import ContractError
from toolvet.core.policy import BUILT_IN, PolicySet
from toolvet.core.workload import Workload
from toolvet.kube.client import ApiClient, Object
from toolvet.kube.guard import guarded_since
from toolvet.kube.kinds import KINDS, GovernedKind, workload
from toolvet.kube.names import (
    APPROVALS,
    INVENTORIES,
    MODE_LABEL,
    NAMESPACES,
    POLICIES,
    POLICY_NAME,
    SNAPSHOTS,
    Mode,
    is_object_name,
)
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    policies_from_object,
    snapshot_from_object,
)
from toolvet.kube.revisions import read_revisions

# What these controllers make comes from a workload that is counted itself.
_MADE_BY_CONTROLLERS = frozenset({"replicasets", "jobs", "pods"})
_MODES = frozenset(Mode)


class NamespaceWorkloads:
    """Reads the workloads of namespaces; passes that ask while a read is under way share the next one.

    A pass never gets a read that began before it asked: what it was started for is in it.
    """

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._running: dict[str, asyncio.Task[list[Stored[Workload]]]] = {}
        self._next: dict[str, asyncio.Task[list[Stored[Workload]]]] = {}

    async def read(self, namespace: str) -> Sequence[Stored[Workload]]:
        """Return every workload of the governed kinds that is no controller's."""
        task = self._next.get(namespace)
        if task is None:
            task = asyncio.create_task(self._after(namespace, self._running.get(namespace)))
            self._next[namespace] = task
        # One pass that is cancelled must not take the read from the others.
        return await asyncio.shield(task)

    async def _after(
        self, namespace: str, before: asyncio.Task[list[Stored[Workload]]] | None
    ) -> list[Stored[Workload]]:
        if before is not None:
            await asyncio.wait([before])
        # From here on a newcomer needs another read.
        self._running[namespace] = self._next.pop(namespace)
        try:
            lists = await asyncio.gather(*(_list(self._api, kind, namespace) for kind in KINDS))
            return [item for found in lists for item in found]
        finally:
            if self._next.get(namespace) is None:
                self._running.pop(namespace, None)


async def _list(api: ApiClient, kind: GovernedKind, namespace: str) -> list[Stored[Workload]]:
    found = await api.items(kind.resource, namespace)
    if kind.resource.plural in _MADE_BY_CONTROLLERS:
        found = [item for item in found if not _has_controller(item)]
    return [stored(_typed(kind, item), lambda obj: workload(kind, obj)) for item in found]


def _typed(kind: GovernedKind, item: Object) -> Object:
    """Items of a list leave out what they are."""
    return {**item, "apiVersion": kind.resource.api_version, "kind": kind.resource.kind}


def _has_controller(item: Mapping[str, Any]) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") is True for owner in owners)


class Reader:
    """Reads everything about one inventory's name. ``excluded`` namespaces never call the gate."""

    def __init__(self, api: ApiClient, excluded: Iterable[str]) -> None:
        self._api = api
        self._excluded = frozenset(excluded)
        self._workloads = NamespaceWorkloads(api)

    async def policy(self) -> Stored[PolicySet] | None:
        """Read the CatalogPolicy."""
        found = await self._api.get(POLICIES, None, POLICY_NAME)
        return None if found is None else stored(found, policies_from_object)

    async def observe(self, namespace: str, name: str) -> tuple[Observed, list[Object]]:
        """Read the state of one inventory's name; also returns its revisions where its generation is new.

        Workloads come first: whatever admitted one was there before it, and so is found by the later reads.
        The other way round a workload applied right after its approval would be called drifted.
        """
        exists = await self._api.get(INVENTORIES, namespace, name, metadata_only=True) is not None
        workloads = await self._governed(namespace, name) if exists else ()
        selector = f"spec.inventoryName={name}"
        policy, since, found, snapshots, approvals = await asyncio.gather(
            self.policy(),
            guarded_since(self._api),
            self._api.get(INVENTORIES, namespace, name),
            self._api.items(SNAPSHOTS, namespace, fieldSelector=selector),
            self._api.items(APPROVALS, namespace, fieldSelector=selector),
        )
        if found is not None and not exists:  # made meanwhile
            return await self.observe(namespace, name)
        inventory: Stored[Catalog] | None = None if found is None else stored(found, catalog_from_inventory)
        evidence = [stored(item, snapshot_from_object) for item in snapshots]
        revisions = [] if inventory is None else await self._revisions(inventory)
        pinned = await self._pinned(namespace, workloads, {item.name for item in evidence})
        state = Observed(
            namespace=namespace,
            name=name,
            inventory=inventory,
            snapshots=evidence,
            approvals=[stored(item, lambda obj: approval_from_object(obj, since)) for item in approvals],
            policies=_policies(policy),
            workloads=workloads,
            pinned=pinned,
            previous=None if inventory is None else newest_before(revisions, inventory.generation),
        )
        return state, revisions

    async def _revisions(self, inventory: Stored[Catalog]) -> list[Object]:
        if inventory.status.get("observedGeneration") == inventory.generation:
            return []
        return await read_revisions(self._api, inventory.obj["metadata"]["namespace"], inventory.uid)

    async def _has_mode(self, namespace: str) -> bool:
        if namespace in self._excluded:
            return False
        found = await self._api.get(NAMESPACES, None, namespace)
        labels = ((found or {}).get("metadata") or {}).get("labels") or {}
        return labels.get(MODE_LABEL) in _MODES

    async def _governed(self, namespace: str, name: str) -> Sequence[Stored[Workload]]:
        """Read the workloads that the inventory governs, in an order of their own."""
        if not await self._has_mode(namespace):
            return ()
        candidates = [
            (item, item.value)
            for item in await self._workloads.read(namespace)
            if not isinstance(item.value, ContractError)
            and name in {item.value.service_account, item.value.inventory}
        ]
        accounts = sorted({value.service_account for _, value in candidates} - {name})
        objects = await asyncio.gather(*(self._named(namespace, account) for account in accounts))
        others = dict(zip(accounts, objects, strict=True))
        found = [item for item, value in candidates if governs(name, value, others)]
        return sorted(found, key=lambda item: (str(item.obj["kind"]), item.name))

    async def _named(self, namespace: str, name: str) -> Object | None:
        return await self._api.get(INVENTORIES, namespace, name) if is_object_name(name) else None

    async def _pinned(
        self, namespace: str, workloads: Sequence[Stored[Workload]], listed: set[str]
    ) -> Mapping[str, ReviewedSnapshot | None | Unknown]:
        """Read the snapshots that workloads pin and that belong to no or another inventory."""
        pins = {item.value.snapshot for item in workloads if not isinstance(item.value, ContractError)}
        names = sorted(pin for pin in pins if is_object_name(pin) and pin is not None and pin not in listed)
        objects = await asyncio.gather(*(self._api.get(SNAPSHOTS, namespace, pin) for pin in names))
        found: dict[str, ReviewedSnapshot | None | Unknown] = {}
        for pin, obj in zip(names, objects, strict=True):
            found[pin] = None if obj is None else known(stored(obj, snapshot_from_object))
        return found


def _policies(policy: Stored[PolicySet] | None) -> PolicySet | Unknown:
    if policy is None:
        return BUILT_IN
    return Unknown.INVALID if isinstance(policy.value, ContractError) else policy.value

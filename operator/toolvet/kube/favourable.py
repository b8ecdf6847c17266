"""What admits most among everything that is possible: what is refused even then is refused for certain."""

from __future__ import annotations

import builtins
import uuid
from datetime import datetime
from typing import Any

from toolvet.core.approval import SNAPSHOT_NAME_DIGITS, snapshot_name
from toolvet.core.policy import ReviewOn
from toolvet.core.workload import Workload
from toolvet.kube.client import ApiError
from toolvet.kube.names import INVENTORIES, POLICIES, SNAPSHOTS, Resource, is_object_name
from toolvet.kube.overlay import GUARDS, Overlay, as_made, selected_snapshot, title
from toolvet.kube.resources import catalog_from_inventory, catalog_from_snapshot, snapshot_from_object
from toolvet.kube.shapes import MAX_REQUIRED_APPROVALS
from toolvet.kube.stored import OFFLINE

Object = dict[str, Any]

_HEX = frozenset("0123456789abcdef")
_NO_TOOL = {
    "toolId": "tool:toolvet.dev/none",
    "version": "0.0.0",
    "capabilityClass": "capability:toolvet.dev/none",
    "sideEffectClass": "none",
    "schemaDigest": "sha256:" + "0" * 64,
    "implementationId": "sha256:" + "0" * 64,
}
_ANY_DIGEST = "sha256:" + "f" * 64
"""Stands for whatever a list may hold."""
_LONG_AGO = "0001-01-01T00:00:00Z"


def _of_inventory(snapshot: str, inventory: str) -> bool:
    digits = snapshot.removeprefix(f"{inventory}-")
    return digits != snapshot and len(digits) == SNAPSHOT_NAME_DIGITS and _HEX.issuperset(digits)


class Favourable:
    """An overlay whose gaps are filled so that ``workload`` is admitted if anything can admit it.

    ``absent`` names inventories that do not exist where that is not known.
    """

    def __init__(self, overlay: Overlay, workload: Workload, absent: frozenset[str], now: datetime) -> None:
        self._overlay = overlay
        self._workload = workload
        self._absent = absent
        self._now = now
        self._uid = str(uuid.uuid4())
        self._snapshots: dict[str, Object | None] = {}
        self._invented_inventories: set[str] = set()
        self.admits = False
        """Something may admit the workload that no answer can express."""
        self.invented: set[str] = set()
        """Snapshots of whose content nothing is known but that it is not the live catalog."""

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Return what is known, else what admits most."""
        if resource is SNAPSHOTS and name.endswith(f"-{_ANY_DIGEST[7 : 7 + SNAPSHOT_NAME_DIGITS]}"):
            self.admits = True
        try:
            found = await self._overlay.get(resource, namespace, name, metadata_only=metadata_only)
            if resource is SNAPSHOTS and self._workload.snapshot is None and self._invented_inventories:
                # Which snapshot the gate would ask for is not known: the name ends in the live digest.
                self.admits = True
            if (
                resource is INVENTORIES
                and found is not None
                and (namespace, name) in self._overlay.unobserved
            ):
                # Without a source there is nothing that could be too long ago.
                found = {**found, "metadata": {"name": name}}
            unlisted = resource is INVENTORIES and (namespace, name) in self._overlay.unlisted
            return await self._listing(namespace, name, found) if unlisted and found is not None else found
        except ApiError:
            if resource is INVENTORIES:
                return None if name in self._absent else await self._inventory(namespace, name)
            if resource is SNAPSHOTS:
                if name not in self._snapshots:
                    self._snapshots[name] = await self._snapshot(namespace, name)
                return self._snapshots[name]
            if resource in GUARDS:
                return {"metadata": {"name": name, "creationTimestamp": _LONG_AGO}}
            if resource is POLICIES:
                # No CatalogPolicy asks for less than the built-in rules, but for this.
                return {"spec": {"reviewOn": str(ReviewOn.MATERIAL_CHANGE)}}
            raise

    async def _listing(self, namespace: str | None, name: str, inventory: Object) -> Object:
        """Return an inventory that calls its catalog a minor change of what would admit the workload."""
        digest, pin = _ANY_DIGEST, self._workload.snapshot
        if pin is not None and is_object_name(pin) and _of_inventory(pin, name):
            try:
                pinned = await self._overlay.get(SNAPSHOTS, namespace, pin)
            except ApiError:
                digest = f"sha256:{pin[-SNAPSHOT_NAME_DIGITS:]:0<64}"
            else:
                digest = digest if pinned is None else catalog_from_snapshot(pinned).digest
        return {**inventory, "spec": {**inventory["spec"], "minorChangeOf": [digest]}}

    async def _inventory(self, namespace: str | None, name: str) -> Object:
        pin, tools = self._workload.snapshot, list[object]()
        if pin is not None and is_object_name(pin):
            try:
                pinned = await self._overlay.get(SNAPSHOTS, namespace, pin)
            except ApiError:
                # Its name holds the digest of a catalog, and no catalog can be made to fit.
                self.admits = True
            else:
                tools = [] if pinned is None else pinned["spec"]["bindings"]
        self._invented_inventories.add(name)
        return {"metadata": {"name": name}, "spec": {"tools": tools}}

    async def _snapshot(self, namespace: str | None, name: str) -> Object | None:
        governing: Object | None = None
        for candidate in (self._workload.service_account, self._workload.inventory):
            if governing is None and is_object_name(candidate):
                governing = await self.get(INVENTORIES, namespace, candidate)
        if governing is None:
            raise ApiError(0, OFFLINE)
        inventory, tools = governing["metadata"]["name"], governing["spec"]["tools"]
        digest = catalog_from_inventory(governing).digest
        if name != snapshot_name(inventory, digest):
            # Names begin with the inventory's and end in the digest's first digits, and approvals say both
            # again: whatever this one holds, nobody can have approved it for the live catalog.
            if not _of_inventory(name, inventory):
                return None
            listed = governing["spec"].get("minorChangeOf") or ()
            if name in {snapshot_name(inventory, item) for item in listed}:
                # Unless the live catalog is a minor change of it; but no catalog can be made to fit.
                material = await self._overlay.reviews_material_changes_alone(namespace)
                self.admits = self.admits or material is not False
            self.invented.add(name)
            tools = [_NO_TOOL] if not tools else []
        spec = {"inventoryName": inventory, "catalogDigest": digest, "bindings": tools}
        return {"metadata": {"name": name, "uid": self._uid}, "spec": spec}

    async def list(self, resource: Resource, namespace: str | None = None, **parameters: str | int) -> Object:
        """Return the stored approvals and the declared ones; enough of them where neither is known."""
        name = selected_snapshot(parameters)
        snapshot = await self.get(SNAPSHOTS, namespace, name)
        pending = self._overlay.pending(namespace, name, self._now)
        try:
            answer = await self._overlay.stored_approvals(resource, namespace, **parameters)
        except ApiError:
            return {"items": [*pending, *self._approvals(snapshot)]}
        stored = {item["metadata"]["name"] for item in answer["items"]}
        items = [*answer["items"], *(item for item in pending if item["metadata"]["name"] not in stored)]
        if title(SNAPSHOTS, name) in self._overlay.missing:
            # Which of them were given to it cannot be told.
            items += self._approvals(snapshot)
        return {**answer, "items": items}

    def _approvals(self, stored: Object | None) -> builtins.list[Object]:
        if stored is None:
            return []
        snapshot = snapshot_from_object(stored)
        spec = {
            "inventoryName": snapshot.inventory_name,
            "snapshotName": snapshot.name,
            "snapshotDigest": snapshot.evidence.digest,
            "catalogDigest": snapshot.catalog.digest,
        }
        # Names that no list of delivery subjects can hold.
        people = [uuid.uuid4().hex for _ in range(MAX_REQUIRED_APPROVALS)]
        return [
            as_made({"metadata": {"name": person}, "spec": {**spec, "approvedBy": person}}, self._now)
            for person in people
        ]

    async def create(
        self, resource: Resource, namespace: str | None, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Answer an access review with yes where it cannot be asked for."""
        try:
            return await self._overlay.create(resource, namespace, obj, dry_run=dry_run)
        except ApiError:
            return {"status": {"allowed": True}}

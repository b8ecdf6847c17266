"""What a decision would read once a set of manifests is applied: theirs over what is stored.

It is cautious: what is not known is not answered, and kept in a list. ``kube.favourable`` is its opposite.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from toolvet.kube.client import ApiError
from toolvet.kube.declared import Declared
from toolvet.kube.names import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    APPROVALS,
    SNAPSHOTS,
    Resource,
    is_object_name,
)
from toolvet.kube.reads import Reader

Object = dict[str, Any]

GUARDS = frozenset({ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS})
_GUARD = "since when the API server checks who approves"
_SELECTOR = "spec.snapshotName="
_SOON = timedelta(days=1)
"""After anything stored, by whatever clock, and within any age that a policy allows."""


def title(resource: Resource, name: str) -> str:
    """Name an object in a report; a name that is none is never repeated."""
    shown = name if is_object_name(name) else "(not a name)"
    return f"{resource.kind}/{shown}"


def selected_snapshot(parameters: Mapping[str, str | int]) -> str:
    """Return the snapshot whose approvals a list asks for, by the field selector of the read plan."""
    return str(parameters.get("fieldSelector", "")).removeprefix(_SELECTOR)


class Overlay:
    """Manifests over what is stored. ``missing`` names what was asked for and could not be known."""

    def __init__(self, declared: Declared, stored: Reader) -> None:
        self._declared = declared
        self._stored = stored
        self.missing: dict[str, None] = {}

    def miss(self, what: str) -> None:
        """Remember something that is not known, in the order of asking."""
        self.missing[what] = None

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Return a declared object, else the stored one; ApiError where neither is known."""
        mine = self._declared.objects.get((resource, namespace, name))
        if mine is not None and resource is not SNAPSHOTS:
            return mine
        try:
            found = await self._stored.get(resource, namespace, name, metadata_only=metadata_only)
        except ApiError:
            # Its run id may be its uid, which only the cluster knows, and approvals are given to that.
            if mine is None or "runId" not in mine["spec"]:
                self.miss(_GUARD if resource in GUARDS else title(resource, name))
            if mine is None:
                raise
            return mine
        # A snapshot never changes: one that is stored stays what it is.
        return mine if found is None else found

    async def list(self, resource: Resource, namespace: str | None = None, **parameters: str | int) -> Object:
        """Return the stored approvals of a snapshot, revoked where a manifest says so.

        Approvals that are only declared are nobody's yet: whoever applies them signs them.
        """
        snapshot = selected_snapshot(parameters)
        try:
            answer = await self._stored.list(resource, namespace, **parameters)
        except ApiError:
            self.miss(f"the approvals of {title(SNAPSHOTS, snapshot)}")
            raise
        declared = self._declared.approvals.get((namespace or "", snapshot), [])
        items = list(answer["items"])
        names = [item["metadata"]["name"] for item in items]
        for item in declared:
            name = item["metadata"]["name"]
            revoked = item["spec"].get("revoked") is True
            stored = items[names.index(name)] if name in names else None
            if stored is None or (revoked and stored["spec"].get("revoked") is not True):
                self.miss(f"the declared {title(APPROVALS, name)}")
            if revoked and stored is None:
                items.append(item)
            elif revoked and stored is not None:
                items[names.index(name)] = {**stored, "spec": {**stored["spec"], "revoked": True}}
        return {**answer, "items": items}

    def pending(self, namespace: str | None, snapshot: str, now: datetime) -> builtins.list[Object]:
        """Return the declared approvals of a snapshot as if somebody with the right to had applied them."""
        declared = self._declared.approvals.get((namespace or "", snapshot), [])
        return [as_made(item, now) for item in declared if item["spec"].get("revoked") is not True]

    async def stored_approvals(
        self, resource: Resource, namespace: str | None, **parameters: str | int
    ) -> Object:
        """Return the stored approvals alone; raises ApiError."""
        return await self._stored.list(resource, namespace, **parameters)

    async def create(
        self, resource: Resource, namespace: str | None, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Pass an access review on."""
        try:
            return await self._stored.create(resource, namespace, obj, dry_run=dry_run)
        except ApiError:
            self.miss("the verb exempt on catalogpolicies")
            raise


def as_made(approval: Object, now: datetime) -> Object:
    """Return an approval as if it were stored from now on."""
    stamp = (now + _SOON).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**approval, "metadata": {**approval["metadata"], "creationTimestamp": stamp}}

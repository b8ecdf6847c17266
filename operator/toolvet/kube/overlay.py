"""What a decision would read once a set of manifests is applied: theirs over what is stored.

It is cautious: what is not known is not answered, and kept in a list. ``kube.favourable`` is its opposite.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from toolvet.core.errors import ContractError
from toolvet.core.policy import BUILT_IN, ReviewOn
from toolvet.kube.client import ApiError
from toolvet.kube.declared import Declared
from toolvet.kube.names import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    APPROVALS,
    INVENTORIES,
    OBSERVED_UNTIL_ANNOTATION,
    POLICIES,
    POLICY_NAME,
    SNAPSHOTS,
    SOURCE_ANNOTATION,
    Resource,
    is_object_name,
)
from toolvet.kube.reads import Reader
from toolvet.kube.resources import policies_from_object
from toolvet.kube.stored import OFFLINE

Object = dict[str, Any]

GUARDS = frozenset({ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS})
_GUARD = "since when the API server checks who approves"
_OF_SOURCES = (SOURCE_ANNOTATION, OBSERVED_UNTIL_ANNOTATION)
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
        self.unlisted: set[tuple[str | None, str]] = set()
        """Declared inventories of which it is not known whether the stored list of minor changes stays."""
        self.unobserved: set[tuple[str | None, str]] = set()
        """Declared inventories of which it is not known until when their source's observation counts."""

    def miss(self, what: str) -> None:
        """Remember something that is not known, in the order of asking."""
        self.missing[what] = None

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Return a declared object, else the stored one; ApiError where neither is known."""
        mine = self._declared.objects.get((resource, namespace, name))
        if mine is not None and resource is INVENTORIES:
            mine = await self._as_observed(namespace, name, mine)
        if mine is not None and resource is INVENTORIES and "minorChangeOf" not in mine["spec"]:
            return await self._as_applied(namespace, name, mine)
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

    async def _as_observed(self, namespace: str | None, name: str, mine: Object) -> Object:
        """Return a declared inventory with the stored one's source, and until when its observation counts.

        Applying a manifest leaves annotations alone that it does not name. Where there is no cluster to ask,
        an inventory that names no source has none.
        """
        given = mine["metadata"].get("annotations") or {}
        try:
            found = await self._stored.get(INVENTORIES, namespace, name)
        except ApiError as error:
            if not given and error.reason == OFFLINE:
                return mine
            self.miss(f"the stored {title(INVENTORIES, name)}")
            self.unobserved.add((namespace, name))
            # Of some source, then, that never looked.
            return {**mine, "metadata": {**mine["metadata"], "annotations": {SOURCE_ANNOTATION: "", **given}}}
        stored = ((found or {}).get("metadata") or {}).get("annotations") or {}
        kept = {key: stored[key] for key in _OF_SOURCES if key in stored}
        return {**mine, "metadata": {**mine["metadata"], "annotations": {**kept, **given}}}

    async def reviews_material_changes_alone(self, namespace: str | None) -> bool | None:
        """Tell whether the policy of a namespace lets minor changes pass; None where it is not known."""
        try:
            found = await self.get(POLICIES, None, POLICY_NAME)
            policies = BUILT_IN if found is None else policies_from_object(found)
        except (ApiError, ContractError):
            return None
        return policies.for_namespace(namespace or "").review_on is ReviewOn.MATERIAL_CHANGE

    async def _as_applied(self, namespace: str | None, name: str, mine: Object) -> Object:
        """Return a declared inventory with the list that the collector gave to the very same tools.

        Applying a manifest leaves alone what it does not name, and the API server refuses other tools beside
        a list that stays.
        """
        material = await self.reviews_material_changes_alone(namespace)
        if material is False:
            return mine
        try:
            found = await self._stored.get(INVENTORIES, namespace, name)
        except ApiError:
            if material:  # not known: the policy is missed already
                self.miss(f"the stored {title(INVENTORIES, name)}")
            self.unlisted.add((namespace, name))
            return mine
        spec = {} if found is None else found["spec"]
        if "minorChangeOf" not in spec or spec["tools"] != mine["spec"]["tools"]:
            return mine
        return {**mine, "spec": {**mine["spec"], "minorChangeOf": spec["minorChangeOf"]}}

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

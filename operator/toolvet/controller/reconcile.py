"""One pass over one key: read live, judge, and write only what is not so already.

Order of the writes: history, Events, statuses of approvals and snapshots, the inventory's last. The stored
inventory status is what tells a later pass that there is nothing left to do, so whatever fails before it
is done again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from toolvet.controller.conditions import differs
from toolvet.controller.desired import Desired, desired, policy_status
from toolvet.controller.events import events
from toolvet.controller.history import record
from toolvet.controller.observed import Observed, Stored
from toolvet.controller.reading import Reader
from toolvet.controller.routing import Key, Kind, Routing
from toolvet.core.binding import Catalog
from toolvet.kube.client import HTTP_CONFLICT, HTTP_NOT_FOUND, ApiClient, ApiError, Object
from toolvet.kube.names import (
    APPROVALS,
    CONTROLLER_MANAGER,
    EVENTS,
    INVENTORIES,
    POLICIES,
    SNAPSHOTS,
    Resource,
)
from toolvet.kube.process import log
from toolvet.kube.queue import KeyedQueue

_LOGGER = logging.getLogger("toolvet.controller")
_FORBIDDEN = 403
_INVALID = 422
_MAX_REMEMBERED = 4096
_AFTER_EXPIRY = 0.05  # seconds; an approval counts up to its very last moment
_EVENTS_AT_ONCE = 8


class _ChangedMeanwhileError(Exception):
    """An object changed since it was read: the pass starts over."""


class Reconciler:
    """Makes the statuses of a key true. ``api`` refuses writes while we do not hold the Lease."""

    def __init__(
        self,
        api: ApiClient,
        reader: Reader,
        queue: KeyedQueue[Key],
        routing: Routing,
        now: Callable[[], datetime],
        instance: str,
    ) -> None:
        self._api = api
        self._reader = reader
        self._queue = queue
        self._routing = routing
        self._now = now
        self._instance = instance
        # Names of Events that exist: they would be refused as duplicates anyway, this saves the asking.
        self._sent: OrderedDict[str, None] = OrderedDict()

    async def step(self, key: Key) -> None:
        """Run one pass; ApiError where it could not be finished."""
        try:
            await (self._policy() if key.kind is Kind.POLICY else self._inventory(key))
        except _ChangedMeanwhileError:
            self._queue.add(key)

    async def _policy(self) -> None:
        policy = await self._reader.policy()
        if policy is not None:
            await self._apply(POLICIES, None, policy, policy_status(policy, self._now()))

    async def _inventory(self, key: Key) -> None:
        state, revisions = await self._reader.observe(key.namespace, key.name)
        if state.inventory is None and not state.snapshots and not state.approvals:
            self._routing.forget(key)
            return
        now = self._now()
        wanted = desired(state, now)
        if wanted.next_expiry is not None:
            self._queue.add_after(key, (wanted.next_expiry - now).total_seconds() + _AFTER_EXPIRY)
        await self._write(state, revisions, wanted, now)

    async def _write(
        self, state: Observed, revisions: Sequence[Object], wanted: Desired, now: datetime
    ) -> None:
        inventory, live = state.inventory, state.catalog
        is_new = inventory is not None and inventory.status.get("observedGeneration") != inventory.generation
        if inventory is not None and isinstance(live, Catalog) and is_new:
            await record(self._api, inventory, live, revisions)
        await self._emit(events(state, wanted, now, self._instance))
        evidence: list[tuple[Resource, Stored[Any], Mapping[str, Any]]] = [
            *((APPROVALS, item, wanted.approvals[item.name]) for item in state.approvals),
            *((SNAPSHOTS, item, wanted.snapshots[item.name]) for item in state.snapshots),
        ]
        changed = False
        for resource, item, status in evidence:
            try:
                await self._apply(resource, state.namespace, item, status)
            except _ChangedMeanwhileError:
                changed = True  # the others need not wait for it
        if inventory is not None and wanted.inventory is not None:
            await self._apply(INVENTORIES, state.namespace, inventory, wanted.inventory)
        if changed:
            raise _ChangedMeanwhileError

    async def _apply(
        self, resource: Resource, namespace: str | None, item: Stored[Any], status: Mapping[str, Any]
    ) -> None:
        """Write a status where it is another than the stored one, onto the very version that was judged."""
        if not differs(item.status, status):
            return
        metadata: dict[str, Any] = {
            "name": item.name,
            # An old uid is accepted by server-side apply, an old version is not.
            "resourceVersion": item.obj["metadata"]["resourceVersion"],
        }
        if namespace is not None:
            metadata["namespace"] = namespace
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            "status": dict(status),
        }
        try:
            await self._api.apply(resource, namespace, body, manager=CONTROLLER_MANAGER, subresource="status")
        except ApiError as error:
            if error.status == HTTP_CONFLICT:
                raise _ChangedMeanwhileError from None
            if error.status != HTTP_NOT_FOUND:  # gone meanwhile: its own event follows
                raise

    async def _emit(self, owed: Sequence[Mapping[str, Any]]) -> None:
        limit = asyncio.Semaphore(_EVENTS_AT_ONCE)

        async def send(event: Mapping[str, Any]) -> None:
            async with limit:
                await self._send(event)

        await asyncio.gather(*(send(event) for event in owed))

    async def _send(self, event: Mapping[str, Any]) -> None:
        namespace, name = event["metadata"]["namespace"], event["metadata"]["name"]
        if (identity := f"{namespace}/{name}") in self._sent:
            return
        try:
            await self._api.create(EVENTS, namespace, dict(event))
        except ApiError as error:
            if error.status in {_FORBIDDEN, HTTP_NOT_FOUND, _INVALID}:
                # A namespace that is being deleted takes no Events; statuses must not wait for it.
                log(_LOGGER, logging.WARNING, "event_refused", status=error.status, reason=error.reason)
                return
            if error.status != HTTP_CONFLICT:
                raise
        self._sent[identity] = None
        if len(self._sent) > _MAX_REMEMBERED:
            self._sent.popitem(last=False)

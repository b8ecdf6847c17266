"""One pass over one source: look if it is time, compare, write what follows, settle its accounts.

Level-triggered: whatever a pass needs it reads, and a pass that failed half-way is simply made again. In the
process live only the look before and when the next is due; baselines are in the source's Secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import rfc8785

from toolvet.collector import status as statuses
from toolvet.collector.before import (
    approved_digest,
    listing_digest,
    needs_history,
    published_catalog,
    rebuilt_memory,
)
from toolvet.collector.credentials import Login
from toolvet.collector.events import events
from toolvet.collector.memory import from_secret, secret_name, to_secret
from toolvet.collector.place import StalledError, place_of, secret_of
from toolvet.collector.writing import (
    delete_change,
    inventory_object,
    write_change,
    write_end,
    write_event,
    write_inventory,
    write_memory,
)
from toolvet.core.change_history import droppable, is_full
from toolvet.core.errors import ContractError
from toolvet.core.source_account import acknowledged_by_all
from toolvet.core.source_look import Forms, Look, look_of
from toolvet.core.source_memory import SourceMemory
from toolvet.core.source_pass import Circumstances, Passed, run
from toolvet.core.tool_account import Enablement, RecordedChange
from toolvet.core.tool_source import ToolSource
from toolvet.kube.account_resources import change_from_object, enablement_from_object, source_from_object
from toolvet.kube.client import ApiClient, Object
from toolvet.kube.names import (
    COLLECTOR_MANAGER,
    INVENTORIES,
    MCP_SOURCES,
    TOOL_CHANGES,
    TOOL_ENABLEMENTS,
    Resource,
)
from toolvet.mcp.definition import implementation_id
from toolvet.mcp.observation import Listing, UnknownListing

JITTER: Final = 0.1
"""Of the interval, either way: sources that were made together do not stay together."""
FORMS: Final = Forms(rfc8785.dumps, implementation_id)  # type: ignore[arg-type]  # it checks what it is given

Lister = Callable[[str, Login], Awaitable[Listing | UnknownListing]]
"""Lists the tools at a URL with these credentials; ContractError where either cannot be used."""


class SourceKey(NamedTuple):
    """One MCPSource."""

    namespace: str
    name: str


@dataclass(slots=True, repr=False)
class _Known:
    """What this process knows of a source."""

    uid: str
    generation: int = 0
    due: float = 0.0
    memory: SourceMemory | None = None
    loaded: bool = False
    previous: Look | None = None
    read: Look | None = None
    """What the last listing came to, of which ``listing_digest`` is; its pass may have failed."""
    listing_digest: bytes = b""
    hints: int = 0
    answered: int = 0
    """How many hints there were, and how many of these a look came after."""
    list_changed: bool = False
    stored_memory: bytes = b""


@dataclass(slots=True, repr=False)
class _Accounts:
    """The changes of a source and its accounts, read once a pass."""

    changes: list[RecordedChange] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    enablements: list[Enablement] = field(default_factory=list)

    @property
    def acknowledged(self) -> frozenset[str]:
        return acknowledged_by_all(self.changes, self.enablements)


class Collector:
    """Passes over sources; of both clients of the API server, ``writes`` is fenced by the Lease."""

    def __init__(
        self,
        reads: ApiClient,
        writes: ApiClient,
        lister: Lister,
        *,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
        instance: str,
        chance: random.Random | None = None,
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._lister = lister
        self._monotonic = monotonic
        self._now = now
        self._instance = instance
        self._chance = chance or random.Random()  # noqa: S311  # spreads load, keeps no secret
        self._known: dict[SourceKey, _Known] = {}

    def forget(self, key: SourceKey) -> None:
        """Drop what is known of a source that is gone; its Secret stays for one of the same name."""
        self._known.pop(key, None)

    def hasten(self, key: SourceKey) -> None:
        """Have the next pass look, due or not; the look that is due stays due."""
        known = self._known.get(key)
        if known is not None:
            known.hints += 1

    def streamed(self, key: SourceKey) -> tuple[str, int] | None:
        """Tell which version of a source was seen to ask for a stream; None for none."""
        known = self._known.get(key)
        return (known.uid, known.generation) if known is not None and known.list_changed else None

    async def target(self, key: SourceKey) -> tuple[ToolSource, str, Login] | None:
        """Read a source, where its server is and what to log in with; None where it asks for no stream.

        Raises ApiError, ContractError or StalledError where that cannot be told.
        """
        obj = await self._reads.get(MCP_SOURCES, key.namespace, key.name)
        source = None if obj is None else source_from_object(obj)
        if source is None or not source.list_changed:
            return None
        return source, *(await place_of(self._reads, key.namespace, source))

    async def step(self, key: SourceKey) -> float | None:
        """Make one pass; returns the seconds until the next look, None for a source that is gone.

        Raises ApiError where it has to be made again.
        """
        obj = await self._reads.get(MCP_SOURCES, key.namespace, key.name)
        if obj is None:
            self.forget(key)
            return None
        metadata = obj["metadata"]
        known = self._known.get(key)
        if known is None or known.uid != metadata["uid"]:
            known = self._known[key] = _Known(metadata["uid"])
        generation = int(metadata.get("generation", 0))
        try:
            source = source_from_object(obj)
        except ContractError:
            return None  # the API server refuses such a source; one stored before its rules has to be edited
        accounts: _Accounts | None = None
        status: Mapping[str, Any] = obj.get("status") or {}
        known.list_changed = source.list_changed
        scheduled = generation != known.generation or self._monotonic() >= known.due
        hints = known.hints
        if scheduled or hints != known.answered:
            accounts, status = await self._look(key, obj, source, known, generation)
            known.generation, known.answered = generation, hints
        if scheduled:  # a look in between moves nothing: whoever sends hints must not choose when we come
            interval = source.interval.total_seconds()
            known.due = self._monotonic() + interval * (1 + JITTER * (2 * self._chance.random() - 1))
        await self._settle(key, source, status, accounts)
        return max(0.0, known.due - self._monotonic())

    # -- looking

    async def _look(
        self, key: SourceKey, obj: Object, source: ToolSource, known: _Known, generation: int
    ) -> tuple[_Accounts | None, Mapping[str, Any]]:
        stored: Mapping[str, Any] = obj.get("status") or {}
        reason, looked = "", True
        found: Listing | UnknownListing | None = None
        try:
            await self._load(key, known)
            found = await self._listed(key, source)
        except StalledError as error:
            reason, looked = error.code, False
        if isinstance(found, Listing):
            return await self._observed(key, obj, source, known, generation, found)
        if isinstance(found, UnknownListing):
            reason = found.reason.value
        await self._state_end(key, source, stored)
        status = statuses.of_unknown(stored, source, generation, reason, self._now(), looked=looked)
        await self._say(obj, status, ())
        await self._write_status(MCP_SOURCES, key.namespace, key.name, status)
        return None, status

    async def _state_end(self, key: SourceKey, source: ToolSource, stored: Mapping[str, Any]) -> None:
        until = statuses.observation_end(stored, source)
        inventory = await self._reads.get(INVENTORIES, key.namespace, source.inventory_name)
        if inventory is not None and until is not None and published_catalog(inventory, source)[1] is None:
            await write_end(self._writes, inventory, until)

    async def _listed(self, key: SourceKey, source: ToolSource) -> Listing | UnknownListing:
        code = ""
        try:
            return await self._lister(*(await place_of(self._reads, key.namespace, source)))
        except ContractError as error:
            code = f"{error.field}_{error.code}".lstrip("_")
        raise StalledError(code)

    async def _load(self, key: SourceKey, known: _Known) -> None:
        if known.loaded:
            return
        secret = await secret_of(self._reads, key.namespace, secret_name(key.name), "secrets_not_permitted")
        code = ""
        try:
            known.memory = None if secret is None else from_secret(secret)
        except ContractError as error:
            code = f"{error.field}_{error.code}"
        if code:
            # To begin anew would make whatever is served now the baseline.
            raise StalledError(code)
        known.loaded = True

    # -- a complete listing

    async def _observed(
        self,
        key: SourceKey,
        obj: Object,
        source: ToolSource,
        known: _Known,
        generation: int,
        listing: Listing,
    ) -> tuple[_Accounts, Mapping[str, Any]]:
        now = self._now()
        look = await self._seen(source, known, generation, listing)
        inventory = await self._reads.get(INVENTORIES, key.namespace, source.inventory_name)
        published, refusal = published_catalog(inventory, source)
        stored: Mapping[str, Any] = obj.get("status") or {}
        if known.memory is None and stored.get("tools"):
            known.memory = rebuilt_memory(look, source, stored, published)
        accounts = _Accounts()
        if known.memory is not None and needs_history(known.memory, look):
            accounts = await self._accounts(key)
        full = is_full(accounts.changes, accounts.acknowledged)
        told = Circumstances(
            source=source,
            source_uid=known.uid,
            generation=generation,
            previous=known.previous,
            published={binding.key: binding for binding in published.bindings} if published else {},
            approved_digest=approved_digest(inventory),
            acknowledged=accounts.acknowledged,
            may_record=not full,
        )
        passed = run(known.memory, look, told, FORMS)
        if refusal is None:
            age = source.max_observation_age
            wanted = inventory_object(
                source.inventory_name,
                key.namespace,
                key.name,
                passed.catalog,
                passed.minor_change_of,
                now + age,
            )
            # What is stated must reach beyond the next look, whatever it waits for.
            slack = max(timedelta(0), min(age / 2, age - 2 * source.interval))
            await write_inventory(self._writes, wanted, inventory, slack)
        for change in passed.changes:
            await write_change(self._writes, key.namespace, change)
        if passed.changes:
            accounts = await self._accounts(key)
        await self._remember(key, known, passed)
        known.previous = look
        dropped = statuses.dropped_of(stored)
        surplus = droppable(accounts.changes, accounts.acknowledged)
        status = statuses.of_pass(
            stored,
            source,
            generation,
            look,
            passed,
            dropped.and_also(surplus),
            now,
            full=full,
            refusal=refusal,
        )
        await self._say(obj, status, [change.record for change in passed.changes])
        # Counted before it is gone: an end in between counts a change twice, and never loses one.
        await self._write_status(MCP_SOURCES, key.namespace, key.name, status)
        for name in surplus:
            await delete_change(self._writes, key.namespace, name)
        return accounts, status

    async def _seen(self, source: ToolSource, known: _Known, generation: int, listing: Listing) -> Look:
        digest = listing_digest(listing)
        if digest and known.read and digest == known.listing_digest and generation == known.generation:
            return known.read
        # Beside the event loop: a large listing takes a while, and the Lease has to be renewed.
        look = await asyncio.to_thread(
            look_of,
            listing.definitions,
            source.ignored_paths,
            FORMS,
            instructions=listing.observed.instructions,
            server_version=listing.server_version,
            protocol_version=listing.protocol_version,
        )
        known.read, known.listing_digest = look, digest
        return look

    async def _remember(self, key: SourceKey, known: _Known, passed: Passed) -> None:
        if passed.memory == known.memory:
            return
        secret, kept = await asyncio.to_thread(to_secret, key.name, key.namespace, passed.memory)
        data = hashlib.sha256(str(secret["data"]).encode()).digest()
        if data != known.stored_memory:  # what did not fit is back in every look
            await write_memory(self._writes, secret)
        known.memory, known.stored_memory = kept, data

    # -- accounts

    async def _accounts(self, key: SourceKey) -> _Accounts:
        selector = f"spec.sourceName={key.name}"
        changes, objects = await asyncio.gather(
            self._reads.items(TOOL_CHANGES, key.namespace, fieldSelector=selector),
            self._reads.items(TOOL_ENABLEMENTS, key.namespace, fieldSelector=selector),
        )
        return _Accounts(
            [change_from_object(item) for item in changes],
            objects,
            [enablement_from_object(item) for item in objects],
        )

    async def _settle(
        self, key: SourceKey, source: ToolSource, status: Mapping[str, Any], accounts: _Accounts | None
    ) -> None:
        """Write what the changes mean for each account, where its status says otherwise."""
        if accounts is None or not accounts.objects:
            selector = f"spec.sourceName={key.name}"
            if not (await self._reads.list(TOOL_ENABLEMENTS, key.namespace, fieldSelector=selector, limit=1))[
                "items"
            ]:
                return
            accounts = await self._accounts(key)
        now = self._now()
        expired = statuses.is_expired(status, source, now)
        for obj, enablement in zip(accounts.objects, accounts.enablements, strict=True):
            stored = obj.get("status") or {}
            wanted = statuses.of_enablement(
                enablement,
                stored,
                int(obj["metadata"].get("generation", 0)),
                accounts.changes,
                status,
                now,
                expired=expired,
            )
            if wanted != stored:
                await self._write_status(TOOL_ENABLEMENTS, key.namespace, enablement.name, wanted)

    async def _say(self, obj: Object, status: Mapping[str, Any], recorded: Sequence[RecordedChange]) -> None:
        # Before the status, from which a pass that is made again would not see it any more.
        for owed in events(obj, status, recorded, self._now(), self._instance):
            await write_event(self._writes, owed)

    async def _write_status(
        self, resource: Resource, namespace: str, name: str, status: Mapping[str, Any]
    ) -> None:
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "namespace": namespace},
            "status": status,
        }
        await self._writes.apply(resource, namespace, body, manager=COLLECTOR_MANAGER, subresource="status")

"""``toolvet collector``: take part in the election, look at every source while we hold the Lease."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolvet.collector.credentials import Login
from toolvet.collector.finished_calls import delete_finished_calls
from toolvet.collector.hints import Hints, StreamTarget
from toolvet.collector.passes import Collector, SourceKey
from toolvet.core.errors import ContractError
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.health import probes
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.lease import Elector, FencedClient, LeaseLostError, Timing
from toolvet.kube.names import MCP_SOURCES, TOOL_ENABLEMENTS
from toolvet.kube.process import log, on_stop, parser, set_up_logging, where
from toolvet.kube.queue import KeyedQueue, work
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.budget import Budget
from toolvet.mcp.change_stream import follow_list_changed
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import Listing, UnknownListing, UnknownReason

_LOGGER = logging.getLogger("toolvet.collector")
_AGENT: Final = "toolvet-collector"
_LOOKS: Final = 16
"""Looks at the same time. Each holds a listing and what it is compared with."""
_REFRESH: Final = 5.0
"""Seconds between two lists of what there is; of metadata alone."""
_CLEAN: Final = 60.0
"""Seconds between two looks for held calls that are over."""
_SPREAD: Final = 5.0
"""Seconds over which the sources found at the start are looked at."""
_LEASE_SECONDS: Final = 15
_SHORTEST_LEASE: Final = 2
_MAX_DIGITS: Final = 4


def run(argv: list[str]) -> int:
    """Run the collector; returns the exit code. ContractError for options or surroundings that do not do."""
    options = _options(argv)
    policy = AddressPolicy.of(*options.allow)
    set_up_logging(verbose=options.verbose)
    return asyncio.run(_serve(options, policy))


def _options(argv: list[str]) -> argparse.Namespace:
    arguments = parser("collector", "List the tools of live MCP servers: inventories, recorded changes.")
    arguments.add_argument("--namespace", required=True, help="the release's namespace")
    arguments.add_argument("--lease", required=True, help="name of the Lease")
    arguments.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NETWORK|HOST",
        help="a network, address or host that may be asked though it is private, and over plain http; repeat",
    )
    arguments.add_argument(
        "--timeout",
        type=float,
        default=Budget().seconds,
        metavar="SECONDS",
        help="for one listing (default: %(default)s)",
    )
    arguments.add_argument(
        "--health-port", type=int, default=8081, help="HTTP port of /livez and /readyz (default: %(default)s)"
    )
    arguments.add_argument(
        "--lease-duration",
        type=_lease_seconds,
        default=_LEASE_SECONDS,
        metavar="SECONDS",
        help="after how many seconds another collector takes over from one that died (default: %(default)s)",
    )
    return arguments.parse_args(argv)


def _lease_seconds(text: str) -> int:
    seconds = int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0
    if seconds < _SHORTEST_LEASE:
        raise argparse.ArgumentTypeError(f"a whole number from {_SHORTEST_LEASE} on is expected")
    return seconds


def _now() -> datetime:
    return datetime.now(UTC)


async def _serve(options: argparse.Namespace, policy: AddressPolicy) -> int:
    account = ServiceAccount(options.service_account_dir)
    # Unique: a container that starts again in the same Pod must not take itself for the one before.
    identity = f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
    timing = Timing.of(options.lease_duration)
    stopping = asyncio.Event()
    on_stop(stopping.set)
    async with (
        connect(account, user_agent=_AGENT) as reads,
        connect(account, user_agent=_AGENT, call_timeout=timing.call) as writes,
    ):
        elector = Elector(
            writes,
            options.namespace,
            options.lease,
            identity,
            monotonic=time.monotonic,
            now=_now,
            timing=timing,
        )
        leader = _Leader(reads, FencedClient(writes, elector.held), elector, policy, options.timeout)
        async with probes(options.bind_address, options.health_port, leader.alive, lambda: elector.answered):
            log(_LOGGER, logging.INFO, "waiting_for_lease", identity=identity)
            acquiring = asyncio.create_task(elector.acquire())
            if await _first(stopping, acquiring):
                log(_LOGGER, logging.INFO, "stopped")
                return 0
            log(_LOGGER, logging.INFO, "leading", identity=identity)
            return await leader.lead(stopping)


async def _first(stopping: asyncio.Event, task: asyncio.Task[None]) -> bool:
    """Wait for a task, or until we are told to stop; true where the latter came first."""
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        stop.cancel()
        await task
        return False
    task.cancel()
    await asyncio.wait([task])
    return True


class _Leader:
    """Everything that runs while we hold the Lease. The end of any part is the end of the process."""

    def __init__(
        self, reads: ApiClient, writes: ApiClient, elector: Elector, policy: AddressPolicy, timeout: float
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._elector = elector
        self._policy = policy
        self._budget = Budget(seconds=timeout)
        self._collector = Collector(
            reads, writes, self._list, monotonic=time.monotonic, now=_now, instance=elector.identity
        )
        self._queue: KeyedQueue[SourceKey] = KeyedQueue()
        self._hints = Hints(self._target, self._follow, self._hasten)
        self._tasks: list[asyncio.Task[None]] = []
        self._sources: dict[SourceKey, tuple[str, int]] = {}
        self._enablements: dict[tuple[str, str], tuple[str, int]] = {}
        self._started = False

    def alive(self) -> bool:
        """Tell whether everything that was started still runs."""
        return not any(task.done() for task in self._tasks)

    async def lead(self, stopping: asyncio.Event) -> int:
        """Work until told to stop (0) or until any part ends (1)."""
        self._start("lease", self._elector.keep())
        self._start("refresh", self._refresh())
        self._start("clean", self._clean())
        for index in range(_LOOKS):
            self._start(f"worker-{index}", work(self._queue, self._step, self._failed))
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait([*self._tasks, stop], return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done() and not stopping.is_set():
                error = None if task.cancelled() else task.exception()
                fields = {"part": task.get_name()} | ({} if error is None else {"error": where(error)})
                log(_LOGGER, logging.ERROR, "part_ended", **fields)
            task.cancel()
        await self._hints.close()
        await asyncio.wait(self._tasks, timeout=self._budget.seconds)
        await self._elector.release()
        stop.cancel()
        log(_LOGGER, logging.INFO, "stopped" if stopping.is_set() else "failed")
        return 0 if stopping.is_set() else 1

    def _start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(coroutine, name=name))

    async def _list(self, url: str, login: Login) -> Listing | UnknownListing:
        return await list_http_tools(
            url, headers=login.headers, tls=login.tls, policy=self._policy, budget=self._budget
        )

    async def _target(self, key: SourceKey) -> StreamTarget | None:
        found = await self._collector.target(key)
        if found is None:
            return None
        source, url, login = found
        return StreamTarget(url, login, source.interval.total_seconds())

    async def _follow(self, target: StreamTarget, changed: Callable[[], None]) -> UnknownReason | None:
        login = target.login
        return await follow_list_changed(
            target.url, changed, headers=login.headers, tls=login.tls, policy=self._policy
        )

    def _hasten(self, key: SourceKey) -> None:
        self._collector.hasten(key)
        self._queue.add(key)

    async def _step(self, key: SourceKey) -> None:
        wait = await self._collector.step(key)
        self._hints.keep(key, self._collector.streamed(key) if key in self._sources else None)
        if wait is not None and key in self._sources:
            self._queue.add_after(key, wait)

    async def _refresh(self) -> None:
        """See what sources and enablements there are, and what of them is another than before."""
        while True:
            try:
                await self._see_sources()
                await self._see_enablements()
                self._started = True
            except ApiError as error:
                log(_LOGGER, logging.WARNING, "refresh_failed", status=error.status, reason=error.reason)
            await asyncio.sleep(_REFRESH)

    async def _clean(self) -> None:
        """Make room for held calls; the next look mends what one could not do."""
        while True:
            try:
                deleted = await delete_finished_calls(self._reads, self._writes, _now())
                if deleted:
                    log(_LOGGER, logging.INFO, "held_calls_deleted", count=deleted)
            except ApiError as error:
                log(_LOGGER, logging.WARNING, "clean_failed", status=error.status, reason=error.reason)
            await asyncio.sleep(_CLEAN)

    async def _see_sources(self) -> None:
        found = {
            SourceKey(item["metadata"]["namespace"], item["metadata"]["name"]): _version(item)
            for item in await self._reads.metadata(MCP_SOURCES)
        }
        before, self._sources = self._sources, found
        for key in before.keys() - found.keys():
            self._collector.forget(key)
            self._hints.keep(key, None)
        for key in (key for key, version in found.items() if before.get(key) != version):
            if self._started:
                self._queue.add(key)
            else:
                self._queue.add_after(key, random.uniform(0, _SPREAD))  # noqa: S311  # spreads load

    async def _see_enablements(self) -> None:
        found = {
            (item["metadata"]["namespace"], item["metadata"]["name"]): _version(item)
            for item in await self._reads.metadata(TOOL_ENABLEMENTS)
        }
        before, self._enablements = self._enablements, found
        for namespace, name in (key for key, version in found.items() if before.get(key) != version):
            # Named <source>.<account>, and an account has no dot.
            key = SourceKey(namespace, name.rpartition(".")[0])
            if self._started and key in self._sources:
                self._queue.add(key)

    def _failed(self, key: SourceKey, error: Exception, delay: float) -> None:
        if isinstance(error, LeaseLostError):
            raise error
        fields: dict[str, object] = {
            "namespace": key.namespace,
            "name": key.name,
            "again_in": round(delay, 1),
        }
        if isinstance(error, ApiError):
            fields |= {"status": error.status, "reason": error.reason}
            log(_LOGGER, logging.WARNING, "pass_failed", **fields)
        elif isinstance(error, ContractError):
            log(_LOGGER, logging.WARNING, "pass_failed", code=f"{error.field}: {error.code}", **fields)
        else:
            log(_LOGGER, logging.ERROR, "pass_failed", error=where(error), **fields)


def _version(item: Mapping[str, Any]) -> tuple[str, int]:
    metadata = item["metadata"]
    return str(metadata["uid"]), int(metadata.get("generation", 0))

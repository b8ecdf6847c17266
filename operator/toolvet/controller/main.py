"""``toolvet controller``: take part in the election, lead while we hold the Lease, end when it is lost."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Coroutine, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from toolvet.controller import watch
from toolvet.controller.ownership import OwnAccount, keep_owned
from toolvet.controller.reading import Reader
from toolvet.controller.reconcile import Reconciler
from toolvet.controller.routing import WATCHED, Key, Routing
from toolvet.controller.serving import ServingSettings, keep_serving
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.health import probes
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.lease import Elector, FencedClient, LeaseLostError, Timing
from toolvet.kube.names import Resource
from toolvet.kube.process import log, on_stop, parser, set_up_logging, where
from toolvet.kube.queue import KeyedQueue, work

_LOGGER = logging.getLogger("toolvet.controller")
_WORKERS = 8
_RESYNC = 600.0  # seconds; finds deletions that a broken watch missed
_LOOK_AGAIN = 1.0
_CANCEL_WAIT = 0.5  # seconds
_CANCEL_ATTEMPTS = 10
_AGENT = "toolvet-controller"
_SYSTEM_NAMESPACE = "kube-system"
_LEASE_SECONDS = 15
_MAX_DIGITS = 4
_SHORTEST_LEASE = 2  # a shorter one is lost to any busy second of the API server
_MANAGED_OPTIONS = {
    "--ca-secret": "Secret of the certificate authorities",
    "--tls-secret": "Secret of the gate's serving pair",
    "--service": "Service of the gate",
}


class Certificates(StrEnum):
    """Who makes the gate's certificates and writes caBundle."""

    MANAGED = "managed"
    """We do."""
    EXTERNAL = "external"
    """Somebody else; we read no Secret."""


def run(argv: list[str]) -> int:
    """Run the controller; returns the exit code. ContractError where the surroundings are not a Pod's."""
    options = _options(argv)
    set_up_logging(verbose=options.verbose)
    for handler in logging.getLogger().handlers:
        handler.addFilter(watch.ContentFree())
    return asyncio.run(_serve(options))


def _options(argv: list[str]) -> argparse.Namespace:
    arguments = parser("controller", "Keep statuses, history, Events and the gate's certificates up to date.")
    arguments.add_argument("--namespace", required=True, help="the release's namespace")
    arguments.add_argument("--lease", required=True, help="name of the Lease")
    arguments.add_argument("--webhook-configuration", required=True, help="the gate's registration")
    arguments.add_argument(
        "--certificates",
        type=Certificates,
        choices=list(Certificates),
        default=Certificates.MANAGED,
        help="whether the gate's certificates are ours to make (default: %(default)s)",
    )
    for option, meaning in _MANAGED_OPTIONS.items():
        arguments.add_argument(option, help=f"{meaning}; with --certificates managed")
    arguments.add_argument(
        "--health-port", type=int, default=8081, help="HTTP port of /livez and /readyz (default: %(default)s)"
    )
    arguments.add_argument(
        "--lease-duration",
        type=_lease_seconds,
        default=_LEASE_SECONDS,
        metavar="SECONDS",
        help="after how many seconds another controller takes over from one that died; a leader that cannot"
        " renew for two thirds of that ends itself (default: %(default)s)",
    )
    options = arguments.parse_args(argv)
    if options.certificates is Certificates.MANAGED:
        missing = [
            option for option in _MANAGED_OPTIONS if getattr(options, option[2:].replace("-", "_")) is None
        ]
        if missing:
            arguments.error(f"the following arguments are required: {', '.join(missing)}")
    return options


def _lease_seconds(text: str) -> int:
    seconds = int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0
    if seconds < _SHORTEST_LEASE:
        raise argparse.ArgumentTypeError(f"a whole number from {_SHORTEST_LEASE} on is expected")
    return seconds


def _now() -> datetime:
    return datetime.now(UTC)


async def _serve(options: argparse.Namespace) -> int:
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
        own = OwnAccount(reads)
        elector = Elector(
            writes,
            options.namespace,
            options.lease,
            identity,
            monotonic=time.monotonic,
            now=_now,
            timing=timing,
            owners=own.references,
        )
        leader = _Leader(options, account, reads, writes, elector, own, identity, stopping)
        async with probes(options.bind_address, options.health_port, leader.alive, lambda: elector.answered):
            log(_LOGGER, logging.INFO, "waiting_for_lease", identity=identity)
            if await _first(stopping, elector.acquire()):
                log(_LOGGER, logging.INFO, "stopped")
                return 0
            log(_LOGGER, logging.INFO, "leading", identity=identity)
            return await leader.lead()


async def _first(stopping: asyncio.Event, coroutine: Coroutine[Any, Any, None]) -> bool:
    """Run a coroutine until it ends or we are told to stop; true where the latter came first."""
    task, stop = asyncio.create_task(coroutine), asyncio.create_task(stopping.wait())
    await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        stop.cancel()
        await task
        return False
    await _cancel([task])
    return True


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their end, within bounds."""
    waiting = set(tasks)
    for _ in range(_CANCEL_ATTEMPTS):
        for task in waiting:
            task.cancel()
        if waiting:
            # More than once: wait_for of Python 3.11 loses a cancellation that meets its own result.
            _, waiting = await asyncio.wait(waiting, timeout=_CANCEL_WAIT)


class _Leader:
    """Everything that runs while we hold the Lease. The end of any part is the end of the process."""

    def __init__(
        self,
        options: argparse.Namespace,
        account: ServiceAccount,
        reads: ApiClient,
        writes: ApiClient,
        elector: Elector,
        own: OwnAccount,
        identity: str,
        stopping: asyncio.Event,
    ) -> None:
        self._options = options
        self._account = account
        self._reads = reads
        self._elector = elector
        self._own = own
        self._stopping = stopping
        self._fenced = FencedClient(writes, elector.held)
        self._queue: KeyedQueue[Key] = KeyedQueue()
        self._routing = Routing()
        self._reconciler = Reconciler(
            self._fenced,
            Reader(reads, {_SYSTEM_NAMESPACE, options.namespace}),
            self._queue,
            self._routing,
            _now,
            identity,
        )
        self._tasks: list[asyncio.Task[None]] = []

    def alive(self) -> bool:
        """Tell whether everything that was started still runs; that we answer shows that the loop does."""
        return not any(task.done() for task in self._tasks)

    async def lead(self) -> int:
        """Work until told to stop (0) or until any part ends (1)."""
        writers = [
            self._start("lease", self._elector.keep()),
            self._start("ownership", self._keep_owned()),
            self._start("resync", self._resync()),
            *(self._start(f"worker-{index}", self._work()) for index in range(_WORKERS)),
        ]
        if self._options.certificates is Certificates.MANAGED:
            writers.append(self._start("serving", self._keep_serving()))
        stop = asyncio.create_task(self._stopping.wait())
        watching = self._start("watch", self._watch())
        await asyncio.wait([*self._tasks, stop], return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done() and not self._stopping.is_set():
                self._report(task)
        # First the writers, then the Lease, for the next leader waits for it; watching writes nothing.
        await _cancel(writers)
        await self._elector.release()
        log(_LOGGER, logging.INFO, "stopped" if self._stopping.is_set() else "failed")
        await _cancel([watching])
        return 0 if self._stopping.is_set() else 1

    def _start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(coroutine, name=name)
        self._tasks.append(task)
        return task

    def _report(self, task: asyncio.Task[None]) -> None:
        # kopf can end by cancelling itself.
        error = None if task.cancelled() else task.exception()
        fields = {"part": task.get_name()} | ({} if error is None else {"error": where(error)})
        log(_LOGGER, logging.ERROR, "part_ended", **fields)

    async def _keep_serving(self) -> None:
        settings = ServingSettings(
            namespace=self._options.namespace,
            ca_secret=self._options.ca_secret,
            tls_secret=self._options.tls_secret,
            service=self._options.service,
            webhook_configuration=self._options.webhook_configuration,
        )
        await keep_serving(self._fenced, settings, self._stopping, _now, self._own.references)

    async def _keep_owned(self) -> None:
        await keep_owned(
            self._fenced, self._options.namespace, self._options.webhook_configuration, self._stopping
        )

    async def _watch(self) -> None:
        await self._wait_for_kinds()
        ca_file = self._options.service_account_dir / "ca.crt"
        handlers = watch.registry(WATCHED, self._account, ca_file, self._seen)
        # kopf takes the signals of the process; an orderly end is ours to give.
        await watch.watch(handlers, watch.settings(), lambda: on_stop(self._stopping.set))

    async def _wait_for_kinds(self) -> None:
        """Wait until every kind is served: kopf looks once and never watches what it missed."""
        for resource in WATCHED:
            while True:
                try:
                    await self._reads.list(resource, limit=1)
                    break
                except ApiError as error:
                    log(_LOGGER, logging.WARNING, "kind_not_served", kind=resource.kind, status=error.status)
                    await asyncio.sleep(_LOOK_AGAIN)

    def _seen(self, resource: Resource, obj: Mapping[str, Any], deleted: bool) -> None:
        for key in self._routing.keys(resource, obj, deleted=deleted):
            self._queue.add(key)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(_RESYNC)
            # By namespace, so that passes beside each other share the reads of one.
            for key in sorted(self._routing.all(), key=lambda key: (key.namespace, key.name)):
                self._queue.add(key)

    async def _work(self) -> None:
        await work(self._queue, self._reconciler.step, self._failed)

    def _failed(self, key: Key, error: Exception, delay: float) -> None:
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
        else:
            log(_LOGGER, logging.ERROR, "pass_failed", error=where(error), **fields)

"""One writer at a time: a Lease (coordination.k8s.io/v1), held by whoever renews it.

As client-go's leader election, with three differences: the holder knows by its own monotonic clock when
it must stop writing (``held``), a Lease is given back on an orderly end, and losing it ends the process.
Clocks of different machines are never compared: a candidate waits until the Lease has not changed for its
whole duration on the candidate's own clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolvet.kube.client import HTTP_CONFLICT, HTTP_NOT_FOUND, ApiClient, ApiError, Object
from toolvet.kube.names import LEASES
from toolvet.kube.process import log

_LOGGER = logging.getLogger("toolvet.lease")


class LeaseLostError(Exception):
    """We may not write any more; the process must end."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. ``deadline`` < ``duration``: the holder stops before anybody else may start.

    A write that is under way when ``deadline`` passes must be over before ``duration`` does, so no call of
    the holder may take longer than their difference.
    """

    duration: float = 15.0
    deadline: float = 10.0
    renew: float = 5.0
    retry: float = 1.0
    """Between a candidate's looks (half of it, on average, is the pause after an orderly end), and between
    attempts to renew."""

    @classmethod
    def of(cls, duration: float) -> Timing:
        """Return the usual proportions for another duration, in seconds."""
        usual = cls()
        scale = duration / usual.duration
        return cls(duration, usual.deadline * scale, usual.renew * scale, usual.retry * scale)

    @property
    def call(self) -> float:
        """How long a write may take: what is left after the deadline, but for a margin."""
        return 0.8 * (self.duration - self.deadline)


async def nobody() -> list[Object]:
    """Return no owner references: what is made stays until somebody deletes it."""
    return []


def _micro(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Elector:
    """Takes part in the election for one Lease.

    ``identity`` is unique to this process. ``monotonic`` returns seconds that never go back, ``now`` the wall
    time in UTC, which only people read. ``owners`` returns the owner references of a Lease we make.
    """

    def __init__(
        self,
        api: ApiClient,
        namespace: str,
        name: str,
        identity: str,
        *,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
        timing: Timing | None = None,
        owners: Callable[[], Awaitable[list[Object]]] = nobody,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self.identity = identity
        self._monotonic = monotonic
        self._now = now
        self._timing = timing or Timing()
        self._owners = owners
        self._lease: Object | None = None
        self._seen_version = ""
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        self.answered = False
        """Whether the API server has answered at all."""

    def held(self) -> bool:
        """Tell whether we hold the Lease for certain, so that a write is ours to make."""
        return self._renewed_at is not None and self._monotonic() - self._renewed_at < self._timing.deadline

    async def acquire(self) -> None:
        """Return once we hold the Lease; errors of the API server are waited out."""
        while True:
            try:
                if await self._try():
                    return
            except ApiError as error:
                log(_LOGGER, logging.WARNING, "lease_error", status=error.status, reason=error.reason)
            await asyncio.sleep(self._timing.retry)

    async def keep(self) -> None:
        """Renew the Lease until it is lost: raises LeaseLostError."""
        wait = self._timing.renew
        while True:
            await asyncio.sleep(wait)
            # Also after a pause of the whole process (SIGSTOP, a frozen machine): too late to renew then.
            if not self.held():
                raise LeaseLostError
            wait = self._timing.renew if await self._renew() else self._timing.retry

    async def release(self) -> None:
        """Give the Lease back, so that the next holder need not wait; harmless where it is not ours."""
        if not self.held():
            return
        self._renewed_at = None
        spec = {**self._spec(), "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await self._write(spec)
        except ApiError as error:
            log(_LOGGER, logging.WARNING, "lease_not_released", status=error.status, reason=error.reason)

    async def _renew(self) -> bool:
        started = self._monotonic()
        try:
            await self._write({**self._spec(), "renewTime": _micro(self._now())})
        except ApiError as error:
            if error.status in {HTTP_CONFLICT, HTTP_NOT_FOUND} and await self._taken():
                self._renewed_at = None  # from now on nothing is ours to write, the Lease included
                raise LeaseLostError from None
            log(_LOGGER, logging.WARNING, "lease_not_renewed", status=error.status, reason=error.reason)
            return False
        self._renewed_at = started
        return True

    async def _taken(self) -> bool:
        """After a refusal: read the Lease again, and tell whether it is somebody else's now, or gone."""
        try:
            lease = await self._api.get(LEASES, self._namespace, self._name)
        except ApiError:
            return False
        if lease is None or _holder(lease) != self.identity:
            return True
        self._lease = lease
        return False

    async def _try(self) -> bool:
        """Look at the Lease, and take it where it is free."""
        started = self._monotonic()
        lease = await self._api.get(LEASES, self._namespace, self._name)
        self.answered = True
        if lease is None:
            lease = await self._create()
        else:
            if not self._is_free(lease):
                return False
            self._lease = lease
            transitions = self._spec().get("leaseTransitions") or 0
            try:
                await self._write(self._taking(transitions + 1))
            except ApiError as error:
                if error.status == HTTP_CONFLICT:  # another candidate was faster
                    return False
                raise
        self._renewed_at = started
        return True

    def _is_free(self, lease: Object) -> bool:
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen_version:
            self._seen_version, self._seen_at = version, self._monotonic()
        # Ours already where the answer to our own write got lost.
        if _holder(lease) in {"", self.identity}:
            return True
        duration = float((lease.get("spec") or {}).get("leaseDurationSeconds") or self._timing.duration)
        return self._monotonic() - self._seen_at >= duration

    def _taking(self, transitions: int) -> dict[str, Any]:
        now = _micro(self._now())
        return {
            "holderIdentity": self.identity,
            # The API takes whole seconds, at least one.
            "leaseDurationSeconds": max(1, round(self._timing.duration)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _create(self) -> Object:
        owners = await self._owners()
        self._lease = await self._api.create(
            LEASES,
            self._namespace,
            {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {
                    "name": self._name,
                    "namespace": self._namespace,
                    "ownerReferences": owners,
                },
                "spec": self._taking(0),
            },
        )
        return self._lease

    def _spec(self) -> dict[str, Any]:
        return dict((self._lease or {}).get("spec") or {})

    async def _write(self, spec: dict[str, Any]) -> None:
        """Replace the Lease as we know it: the API server refuses if it changed since (409)."""
        if self._lease is None:
            raise ApiError(HTTP_CONFLICT, "Conflict")
        self._lease = await self._api.replace(LEASES, self._namespace, {**self._lease, "spec": spec})


def _holder(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


class FencedClient(ApiClient):
    """A client whose writes need the Lease: each is checked right before it is sent.

    It reads and writes through ``inner``, whose deadline of a call bounds how long a write can be under way.
    """

    def __init__(self, inner: ApiClient, held: Callable[[], bool]) -> None:
        self._inner = inner
        self._held = held

    async def _call(self, method: str, *arguments: Any, **keywords: Any) -> Object:  # noqa: ANN401  # passed on
        if method != "GET" and not self._held():
            raise LeaseLostError
        return await self._inner._call(method, *arguments, **keywords)  # noqa: SLF001  # the same class

"""Streams beside the looks: where a server says that its list changed, its next look comes sooner.

Nothing depends on a stream. One that fails, ends or never opens is tried again and shows nowhere: the looks
of the interval go on as if there were none.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from toolvet.collector.credentials import Login
from toolvet.collector.passes import SourceKey
from toolvet.collector.place import StalledError
from toolvet.core.errors import ContractError
from toolvet.kube.client import ApiError
from toolvet.kube.process import log, where
from toolvet.mcp.observation import UnknownReason

_LOGGER = logging.getLogger("toolvet.collector")
MAX_STREAMS: Final = 64
"""At the same time; the sources above are looked at by their interval alone, until one of these goes."""
HINT_SECONDS: Final = 10.0
"""Between two looks of a source that are brought forward, however often its server calls."""
FIRST_DELAY: Final = 2.0
"""Seconds after the first stream that ended early; doubled with each in a row, up to the interval."""
_STEADY: Final = 60.0
"""Seconds after which a stream counts as one that held."""


class StreamTarget(NamedTuple):
    """What a stream is opened with."""

    url: str
    login: Login
    interval: float
    """Seconds; the longest wait between two streams."""


Target = Callable[[SourceKey], Awaitable[StreamTarget | None]]
"""Says where the stream of a source is now, None where it shall have none.

Raises ApiError, ContractError or StalledError.
"""
Follow = Callable[[StreamTarget, Callable[[], None]], Awaitable[UnknownReason | None]]
"""Calls back at each notification until the stream ends; returns why."""


class Hints:
    """The streams of the sources that ask for one, each a task; ``hasten`` is asked for an extra look.

    Belongs to one event loop and its clock.
    """

    def __init__(
        self,
        target: Target,
        follow: Follow,
        hasten: Callable[[SourceKey], None],
        *,
        pause: float = HINT_SECONDS,
        first_delay: float = FIRST_DELAY,
        chance: random.Random | None = None,
    ) -> None:
        self._target = target
        self._follow = follow
        self._hasten = hasten
        self._pause = pause
        self._first_delay = first_delay
        self._chance = chance or random.Random()  # noqa: S311  # spreads load, keeps no secret
        self._streams: dict[SourceKey, tuple[object, asyncio.Task[None]]] = {}
        self._timers: dict[SourceKey, asyncio.TimerHandle] = {}
        self._last: dict[SourceKey, float] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def keep(self, key: SourceKey, version: object | None) -> None:
        """Have a stream for this version of a source, and none for another; None for none at all."""
        running = self._streams.get(key)
        if running is not None and (running[0] != version or running[1].done()):
            del self._streams[key]
            self._end(running[1])
            running = None
        if version is None:
            self._unschedule(key)
            self._last.pop(key, None)
        # Those that are still saying goodbye have a connection, too.
        elif running is None and len(self._streams) + len(self._ending) < MAX_STREAMS:
            self._streams[key] = version, asyncio.create_task(self._run(key))

    async def close(self) -> None:
        """End all streams."""
        for key in list(self._streams):
            self.keep(key, None)
        if self._ending:
            await asyncio.wait(self._ending)

    def _end(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()

    async def _run(self, key: SourceKey) -> None:
        """Open one stream after the other."""
        clock = asyncio.get_running_loop().time
        failures = 0
        interval = _STEADY
        while True:
            began = clock()
            reason: UnknownReason | None = None
            try:
                target = await self._target(key)
                if target is None:
                    return
                interval = target.interval
                reason = await self._follow(target, lambda: self._changed(key))
            except (ApiError, ContractError, StalledError):
                reason = UnknownReason.REFUSED  # the next look says why, in the source's status
            except Exception as error:  # noqa: BLE001  # a stream's fault, whatever it is, stops no look
                log(_LOGGER, logging.ERROR, "stream_failed", error=where(error))
            failures = 0 if clock() - began >= _STEADY else failures + 1
            await asyncio.sleep(self._delay(failures, interval, reason))

    def _delay(self, failures: int, interval: float, reason: UnknownReason | None) -> float:
        # The exponent is bounded: a server may fail for months.
        delay = self._first_delay * 2.0 ** min(max(failures - 1, 0), 16)
        if reason is UnknownReason.UNSUPPORTED:
            delay = interval
        return min(delay, interval) * self._chance.uniform(0.5, 1.0)

    def _changed(self, key: SourceKey) -> None:
        if key in self._timers:
            return
        loop = asyncio.get_running_loop()
        # The one that comes too soon is answered later: what it announces may be missing in the look before.
        due = max(loop.time(), self._last.get(key, float("-inf")) + self._pause)
        self._timers[key] = loop.call_at(due, self._fire, key)

    def _fire(self, key: SourceKey) -> None:
        del self._timers[key]
        self._last[key] = asyncio.get_running_loop().time()
        self._hasten(key)

    def _unschedule(self, key: SourceKey) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

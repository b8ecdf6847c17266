"""A keyed work queue: one entry a key, never two workers on one key, retries that back off.

The rules are those of client-go's workqueue: a key added while it is being worked on is handed out once
more afterwards, so nothing that happened during a pass is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

FIRST_DELAY = 0.2
MAX_DELAY = 300.0

K = TypeVar("K", bound=Hashable)


class KeyedQueue(Generic[K]):
    """Hands out keys in the order in which they were first added. It belongs to one event loop and its clock.

    ``first_delay`` and ``max_delay`` bound the wait after a failure, in seconds.
    """

    def __init__(self, *, first_delay: float = FIRST_DELAY, max_delay: float = MAX_DELAY) -> None:
        self._first_delay = first_delay
        self._max_delay = max_delay
        self._waiting: dict[K, None] = {}
        self._working: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        """How many keys could be handed out now."""
        return len(self._waiting)

    def add(self, key: K) -> None:
        """Ask for a pass over a key, now."""
        self._unschedule(key)
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = None
            self._filled.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a pass later; where one is asked for already, the earlier of both holds."""
        loop = asyncio.get_running_loop()
        due = loop.time() + max(0.0, seconds)
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= due:
            return
        self._unschedule(key)
        self._timers[key] = loop.call_at(due, self.add, key)

    async def get(self) -> K:
        """Wait for a key and take it; ``done`` gives it back."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """End the work on a key; what was added meanwhile becomes due."""
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def failed(self, key: K) -> float:
        """Ask for another attempt, later with each failure in a row; returns the delay in seconds."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        # The exponent is bounded: a key may fail for months.
        delay: float = min(self._max_delay, self._first_delay * 2.0 ** min(count, 32))
        self.add_after(key, delay)
        return delay

    def _unschedule(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


async def work(
    queue: KeyedQueue[K], step: Callable[[K], Awaitable[None]], failed: Callable[[K, Exception, float], None]
) -> None:
    """Take keys and run ``step`` over each, for ever. Several may run on one queue.

    ``failed`` hears of a step's error and the delay before the next attempt; what it raises ends the work.
    """
    while True:
        key = await queue.get()
        try:
            await step(key)
        except Exception as error:  # noqa: BLE001  # one key's fault, whatever it is, must not stop the others
            failed(key, error, queue.failed(key))
        else:
            queue.succeeded(key)
        finally:
            queue.done(key)

"""While the registry passed in is swapped and grows, the captured handler runs or the call is refused.

TOOLVET_FULL=1 makes 1,000,000 calls of each kind; by default they are 100,000.
"""

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Self

import pytest

from runtime.build import Bed, Overriding, bed, spec
from toolvet.runtime import ToolCatalogReviewRequired, ToolRegistry

CALLS = 1_000_000 if os.environ.get("TOOLVET_FULL") == "1" else 100_000
WORKERS = 8
FURTHER = 20_000
CAPTURED, REFUSED = "the captured handler", "refused"


@pytest.fixture
def threads_alternate_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(interval)


class Current:
    """The registry that an agent passes in, swapped and added to by a thread of its own."""

    def __init__(self, made: Bed, replacement: Any) -> None:
        self.made = made
        self.registry: Any = made.registry
        # The same names, versions, schemas and classes, other registrations; and the lookup overridden.
        other = ToolRegistry()
        for of in made.specs:
            other.register(spec(of.name), handler=replacement)
        overriding = Overriding(made.registry.implementation_binding)
        self.behind: ToolRegistry = made.registry
        reloading = Overriding(self._look_up_behind)  # changes within a check, too
        self.behind_turn = [made.registry, made.registry, other]
        self.turn = [other, made.registry, overriding, made.registry, None, reloading, reloading]
        self.swaps = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._swap)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look_up_behind(self, name: str, version: str) -> Any:
        return self.behind.implementation_binding(name, version)

    def _swap(self) -> None:
        while not self._over.is_set():
            self.registry = self.turn[self.swaps % len(self.turn)]
            self.behind = self.behind_turn[self.swaps % len(self.behind_turn)]
            if self.swaps < FURTHER:
                later = spec(f"rt-{self.swaps % 3}", version=f"2.{self.swaps}.0")
                self.made.registry.register(later, handler=self.turn[0].handler("rt-0"))
            self.swaps += 1


def replacement(caller: object = None) -> tuple[str, object]:
    return "a replacement", caller


def judged(seen: Counter[str]) -> None:
    assert seen.keys() == {CAPTURED, REFUSED}, seen
    assert seen.total() == CALLS
    assert min(seen.values()) > CALLS // 1000, seen  # both happened all the time


REASONS = {"implementation_changed", "catalog_unavailable"}


@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("threads_alternate_often")
def test_threads_run_the_captured_handler_or_are_refused():
    made = bed(lambda caller: (CAPTURED, caller), lambda caller: ("another tool", caller))
    key = made.key(0)
    seen: list[Counter[str]] = [Counter() for _ in range(WORKERS)]

    def work(worker: int) -> None:
        mine = seen[worker]
        for call in range(CALLS // WORKERS):
            try:
                result, caller = made.catalog.invoke(current.registry, *key, {"caller": (worker, call)})
                mine[result if caller == (worker, call) else "another caller's"] += 1
            except ToolCatalogReviewRequired as refusal:
                mine[REFUSED if refusal.code in REASONS else refusal.code] += 1
            except BaseException as error:  # noqa: BLE001  # whatever else comes out is what this looks for
                mine[repr(error)] += 1

    with Current(made, replacement) as current:
        workers = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
    judged(sum(seen, Counter()))
    print(f"{current.swaps} swaps: {dict(sum(seen, Counter()))}")
    assert current.swaps > WORKERS


@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("threads_alternate_often")
async def test_tasks_run_the_captured_handler_or_are_refused():
    async def handler(caller: object) -> tuple[str, object]:
        await asyncio.sleep(0)
        return CAPTURED, caller

    made = bed(handler, handler)
    key = made.key(0)
    seen: Counter[str] = Counter()

    async def work(worker: int) -> None:
        for call in range(CALLS // WORKERS):
            try:
                result, caller = await made.catalog.ainvoke(
                    current.registry, *key, {"caller": (worker, call)}
                )
                seen[result if caller == (worker, call) else "another caller's"] += 1
            except ToolCatalogReviewRequired as refusal:
                seen[REFUSED if refusal.code in REASONS else refusal.code] += 1
                await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001  # as above
                seen[repr(error)] += 1

    with Current(made, replacement) as current:
        await asyncio.gather(*[work(worker) for worker in range(WORKERS)])
    judged(seen)
    print(f"{current.swaps} swaps: {dict(seen)}")
    assert current.swaps > WORKERS


def test_one_name_and_version_is_registered_once_whoever_is_first():
    registry = ToolRegistry()
    refused: list[str] = []
    start = threading.Barrier(WORKERS)

    def work() -> None:
        start.wait()
        for index in range(200):
            try:
                registry.register(spec(f"rt-{index}"), handler=replacement)
            except ValueError as error:
                refused.append(str(error))

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert len(registry.all_specs()) == 200
    assert refused == ["spec: already_registered"] * (200 * (WORKERS - 1))
    identities = {registry.implementation_binding(f"rt-{index}", "1.0.0")[2] for index in range(200)}
    assert len(identities) == 200

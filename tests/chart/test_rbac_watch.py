"""No right to watch too many: without each of them the controller sees no change of that kind."""

import asyncio
import gc
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chart.rights import LIVE, NAMESPACE, OURS, Place, grant, rights, to_watch, workload_of
from controller.objects import policy, snapshot
from controlplane.api import ApiError as AdminError
from controlplane.waiting import wait_until
from toolvet.controller import watch
from toolvet.controller.routing import WATCHED, WATCHED_WORKLOADS
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.names import Resource

STOP_SECONDS = 15.0
TOUCHED = "example.org/touched"


class Watching(threading.Thread):
    """The controller's watch of some kinds by one account, in a loop of its own: kopf wants one to itself."""

    def __init__(self, account: ServiceAccount, ca_file: Path, kinds: Sequence[Resource]) -> None:
        super().__init__(daemon=True)
        self._handlers = watch.registry(kinds, account, ca_file, self._seen)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self.seen: set[tuple[str, str]] = set()

    def _seen(self, resource: Resource, obj: Mapping[str, Any], _deleted: bool) -> None:
        touched = (obj["metadata"].get("annotations") or {}).get(TOUCHED, "")
        self.seen.add((resource.plural, touched))

    def run(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._watch())

    async def _watch(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        await watch.watch(self._handlers, watch.settings(), lambda: None)

    def listed(self) -> set[str]:
        return {plural for plural, _ in self.seen}

    def stop(self) -> None:
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
        self.join(STOP_SECONDS)
        assert not self.is_alive()
        self._loop = self._task = None


def touch(place: Place, kind: Resource, mark: str) -> None:
    """Change an object of the kind."""
    name = {"catalogpolicies": "default", "namespaces": place.team}.get(kind.plural, "watched")
    if kind.plural == "runtoolcatalogsnapshots":
        name = snapshot(LIVE, "watched")["metadata"]["name"]
    place.bed.api("PATCH", kind.path(place.team, name), {"metadata": {"annotations": {TOUCHED: mark}}})


def test_the_controller_needs_every_right_to_watch(place: Place) -> None:
    place.approve("watched")
    with suppress(AdminError):
        place.create(policy(1), f"{OURS}/catalogpolicies")
    for kind in WATCHED_WORKLOADS:
        place.create(workload_of(kind, "watched"), kind.resource.path(place.team))
    held = rights(place.bed, NAMESPACE, "toolvet-controller")
    lacking = {f"watches-without-{right.resource}": right for right in held if to_watch(right)}
    accounts = {name: [other for other in held if other is not right] for name, right in lacking.items()}
    grant(place.bed, NAMESPACE, {**accounts, "watches-all": held})

    def start(name: str, kinds: Sequence[Resource]) -> Watching:
        account = ServiceAccount(place.bed.service_account(NAMESPACE, name), place.bed.environment())
        watching = Watching(account, place.bed.ca_file, kinds)
        watching.start()
        return watching

    by_plural = {kind.plural: kind for kind in WATCHED}
    found = {}
    for name, right in lacking.items():
        # Of another kind each sees changes, so that it is known when it would have seen the one's.
        other = next(kind for kind in WATCHED if kind.plural != right.resource)
        found[name] = (by_plural[right.resource], other, start(name, [by_plural[right.resource], other]))
    found["watches-all"] = (WATCHED[0], WATCHED[1], start("watches-all", WATCHED))
    watchings = [watching for _, _, watching in found.values()]
    try:
        for kind, other, watching in found.values():
            wait_until(
                lambda w=watching, k=kind, o=other: {k.plural, o.plural} <= w.listed(), 30, "not listed"
            )
        for mark in ("first", "last"):
            for kind in WATCHED:
                touch(place, kind, mark)
            for _, other, watching in found.values():
                wait_until(lambda w=watching, o=other, m=mark: (o.plural, m) in w.seen, 30, "not seen")
        everything = found["watches-all"][2]
        wait_until(lambda: {(kind.plural, "last") for kind in WATCHED} <= everything.seen, 30, "not all seen")
        unneeded = [name for name in lacking if (found[name][0].plural, "first") in found[name][2].seen]
    finally:
        for watching in watchings:
            watching.stop()
        # When kopf is cancelled it leaves its connections to the garbage collector.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    assert unneeded == []

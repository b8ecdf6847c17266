"""Streams of hints: how many, how often, until when; and what they move in the real collector."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.mcp.session_server import LIST_CHANGED, SessionServer, event, in_background, until

from collector.watching import admin_apply, definition, inventory, listed, source, wait
from controlplane.waiting import wait_until
from crds.rights import await_right
from story.team import Team
from toolvet.collector.credentials import Login
from toolvet.collector.hints import MAX_STREAMS, Hints, StreamTarget
from toolvet.collector.passes import JITTER, Collector, SourceKey
from toolvet.core.errors import ContractError
from toolvet.kube import kubeconfig
from toolvet.kube.client import connect
from toolvet.mcp.observation import UnknownListing, UnknownReason

KEY = SourceKey("team", "files")


class Streams:
    """Streams that a test calls back on and ends."""

    def __init__(self, interval=600.0, **options):
        self.interval = interval
        self.open = []
        self.opened = []
        self.looks = []
        self.fault = None
        self.hints = Hints(self._target, self._follow, self._hasten, **options)

    async def _target(self, key):
        return StreamTarget(key.name, Login(), self.interval)

    async def _follow(self, _target, changed):
        self.opened.append(asyncio.get_running_loop().time())
        if isinstance(self.fault, Exception):
            raise self.fault
        if self.fault is not None:
            return self.fault
        self.open.append(changed)
        try:
            await asyncio.Event().wait()
        finally:
            self.open.remove(changed)

    def _hasten(self, key):
        self.looks.append((asyncio.get_running_loop().time(), key))


async def test_a_flood_is_one_look_now_and_one_later():
    streams = Streams(pause=0.5)
    streams.hints.keep(KEY, 1)
    await until(lambda: streams.open, "no stream")
    for _ in range(1000):
        streams.open[0]()
    await until(lambda: len(streams.looks) == 1, "no look")
    for _ in range(1000):
        streams.open[0]()
    await until(lambda: len(streams.looks) == 2, "no second look")
    (first, key), (second, _) = streams.looks
    assert key == KEY
    assert second - first >= 0.49
    streams.open[0]()
    streams.hints.keep(KEY, None)
    await streams.hints.close()
    assert (len(streams.looks), streams.open) == (2, [])


async def test_a_stream_is_of_one_version_of_its_source():
    streams = Streams()
    for _ in range(3):
        streams.hints.keep(KEY, 1)
        await until(lambda: len(streams.open) == 1, "no stream")
    assert len(streams.opened) == 1
    streams.hints.keep(KEY, 2)
    await until(lambda: len(streams.opened) == 2 and len(streams.open) == 1, "no other stream")
    streams.hints.keep(KEY, None)
    await until(lambda: not streams.open, "the stream of a source that is gone is open")
    await streams.hints.close()


async def test_so_many_streams_and_no_more():
    streams = Streams()
    keys = [SourceKey("team", f"s{number}") for number in range(MAX_STREAMS + 5)]
    for key in keys:
        streams.hints.keep(key, 1)
    await until(lambda: len(streams.open) == MAX_STREAMS, "too few streams")
    streams.hints.keep(keys[0], None)
    await until(lambda: len(streams.open) == MAX_STREAMS - 1, "one more stream than wanted")
    for key in keys[1:]:
        streams.hints.keep(key, 1)
    await until(lambda: len(streams.open) == MAX_STREAMS, "the place that came free is not taken")
    assert len(streams.opened) == MAX_STREAMS + 1
    await streams.hints.close()
    assert not streams.open


@pytest.mark.parametrize(
    "fault", [UnknownReason.REFUSED, ContractError("credentials", "missing"), ZeroDivisionError()]
)
async def test_one_that_fails_is_tried_later_and_later(fault):
    streams = Streams(interval=0.4, first_delay=0.05)
    streams.fault = fault
    streams.hints.keep(KEY, 1)
    await until(lambda: len(streams.opened) == 7, "not tried again")
    gaps = [after - before for before, after in pairwise(streams.opened)]
    for gap, delay in zip(gaps, (0.05, 0.1, 0.2, 0.4, 0.4, 0.4), strict=True):
        assert gap >= delay / 2 - 0.01
    assert not streams.looks
    await streams.hints.close()


async def test_one_that_is_not_offered_is_tried_at_the_interval():
    streams = Streams(interval=0.6, first_delay=0.01)
    streams.fault = UnknownReason.UNSUPPORTED
    streams.hints.keep(KEY, 1)
    await until(lambda: len(streams.opened) == 3, "not tried again")
    assert all(after - before >= 0.29 for before, after in pairwise(streams.opened))
    await streams.hints.close()


async def test_a_look_brought_forward_moves_none(uncollected: Team) -> None:
    team, product = uncollected, uncollected.product
    account = f"{product.chart.fullname}-collector"
    user = f"system:serviceaccount:{product.namespace}:{account}"
    await_right(team.bed, user, "patch", "secrets", team.namespace)
    login = kubeconfig.load(team.bed.service_account_kubeconfig(product.namespace, account), None)
    time, looks = 0.0, []

    async def lists(_url, _login):
        looks.append(time)
        if time == 100.0:
            collector.hasten(key)  # while it is being looked at: what it announces may have been missed
        return UnknownListing(UnknownReason.REFUSED, "http_status")

    class Place:
        url = "https://mcp.example/mcp"

    async with connect(login.credentials, user_agent="test") as api:
        clock = {"monotonic": lambda: time, "now": lambda: datetime.now(UTC)}
        collector = Collector(api, api, lists, instance="test", **clock)
        key = SourceKey(team.namespace, "files")
        collector.hasten(key)
        admin_apply(team, source(Place, intervalSeconds=600, listChanged=True))
        due = await collector.step(key)
        assert 600 * (1 - JITTER) <= due <= 600 * (1 + JITTER)
        assert collector.streamed(key) is not None
        for time in (100.0, 200.0, 300.0):  # the clock
            if time == 100.0:
                assert await collector.step(key) == due - time
                collector.hasten(key)
            assert await collector.step(key) == due - time
        assert looks == [0.0, 100.0, 200.0]
        time = due
        await collector.step(key)
        assert looks == [0.0, 100.0, 200.0, due]


def test_a_notification_brings_the_next_look_forward(team: Team) -> None:
    server = SessionServer(tools=[definition("read")])
    with in_background(server) as send:
        admin_apply(team, source(server, intervalSeconds=600, listChanged=True))
        wait(lambda: len(inventory(team)) == 1, "no inventory")
        wait(lambda: server.open == 1, "no stream")
        before, looks = inventory(team), server.listings

        server.tools[0] = definition("read", "Sends.")
        send(event(LIST_CHANGED | {"method": "notifications/resources/list_changed"}))
        with pytest.raises(TimeoutError):
            wait_until(lambda: server.listings != looks, 4, "as it should be: no look")
        assert inventory(team) == before

        send(event(LIST_CHANGED))
        wait(lambda: inventory(team) != before, "the inventory did not move", 15)
        assert server.listings == looks + 1
        assert not listed(team, "toolchange")
        send(event(LIST_CHANGED) * 200)
        wait(lambda: listed(team, "toolchange"), "the look that agrees recorded nothing", 20)
        assert server.listings == looks + 2

        admin_apply(team, source(server, intervalSeconds=600, listChanged=False))
        wait(lambda: server.open == 0, "the stream outlives the wish for it", 15)
        admin_apply(team, source(server, intervalSeconds=601, listChanged=True))
        wait(lambda: server.open == 1, "no stream again", 15)
        team.kubectl("delete", "mcpsource", "files", as_user=team.bed.kubeconfig())
        wait(lambda: server.open == 0, "the stream outlives its source", 15)
        assert server.ended == server.opened + server.listings

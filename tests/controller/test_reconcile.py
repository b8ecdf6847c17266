"""What a pass writes, when the world moves under it or refuses it; against the real API server."""

import asyncio
from datetime import UTC, datetime

import pytest

from controller.cluster import Cluster, Controller, Team
from controller.objects import AGENT, approval, binding, catalog, deployment, inventory, snapshot
from toolvet.controller.desired import desired
from toolvet.controller.events import events
from toolvet.controller.reading import NamespaceWorkloads, Reader
from toolvet.controller.reconcile import Reconciler, _ChangedMeanwhileError
from toolvet.controller.routing import Key, Kind, Routing
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.queue import KeyedQueue

LIVE = catalog(binding("read"))


def now():
    return datetime.now(UTC)


@pytest.fixture
async def api(cluster: Cluster, tmp_path):
    account = cluster.bed.service_account(
        cluster.chart.namespace, cluster.chart.controller_service_account, tmp_path / "account"
    )
    async with connect(ServiceAccount(account, cluster.bed.environment()), user_agent="test") as client:
        yield client


def reconciler(api, queue=None):
    reader = Reader(api, {"kube-system"})
    return reader, Reconciler(api, reader, KeyedQueue() if queue is None else queue, Routing(), now, "test")


async def test_a_status_is_written_only_onto_the_version_that_was_judged(team: Team, api):
    team.create(inventory(LIVE))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen")
    reader, passes = reconciler(api)
    state, revisions = await reader.observe(team.namespace, AGENT)
    team.change(inventory(catalog(binding("read", schema="c"))))
    wanted = desired(state, now())
    wanted.inventory["toolCount"] = 999
    with pytest.raises(_ChangedMeanwhileError):
        await passes._write(state, revisions, wanted, now())
    assert team.status("ToolInventory", AGENT)["toolCount"] == 1


async def test_a_pass_that_came_too_late_is_repeated_at_once(team: Team, api):
    team.create(inventory(LIVE))
    queue = KeyedQueue()
    _, passes = reconciler(api, queue)

    async def late(*_):
        raise _ChangedMeanwhileError

    passes._write = late
    key = Key(Kind.INVENTORY, team.namespace, AGENT)
    await passes.step(key)
    assert len(queue) == 1


async def test_the_same_pass_twice_makes_no_second_event(team: Team, api):
    team.create(inventory(LIVE))
    taken = team.create(snapshot(LIVE))
    team.create(approval(taken))
    team.create(deployment())
    team.soon(
        lambda: team.status("ToolInventory", AGENT).get("workloads", {}).get("eligible") == 1, "not judged"
    )
    reader, passes = reconciler(api)
    team.change(inventory(catalog(binding("read", schema="c"))))
    state, _ = await reader.observe(team.namespace, AGENT)
    owed = events(state, desired(state, now()), now(), "another-process")
    for _ in range(3):
        passes._sent.clear()
        await passes._emit(owed)
    team.soon(lambda: team.status("ToolInventory", AGENT)["workloads"]["drifted"] == 1, "not drifted")
    assert len([item for item in team.events("CatalogDrifted", AGENT) if "since" in item["note"]]) == 1


async def test_events_that_are_refused_do_not_hold_up_a_status(team: Team, api):
    """As in a namespace that is being deleted."""
    _, passes = reconciler(api)
    obj = deployment()
    event = {"metadata": {"namespace": "does-not-exist", "name": "x"}, "regarding": obj["metadata"]}
    await passes._send(event)

    class Down(ApiClient):
        def __init__(self):
            pass

        async def create(self, *_, **__):
            raise ApiError(0, "Timeout")

    passes._api = Down()
    with pytest.raises(ApiError):
        await passes._send(event)


async def test_a_key_without_anything_is_forgotten_and_writes_nothing(team: Team, api):
    _, passes = reconciler(api)
    key = Key(Kind.INVENTORY, team.namespace, "nothing")
    passes._routing._known[team.namespace] = {"nothing"}
    await passes.step(key)
    assert passes._routing.all() == frozenset()


async def test_passes_of_one_namespace_share_reads_that_began_after_they_asked(
    team: Team, controller: Controller, api
):
    started, under_way = [], asyncio.Event()

    class Counting:
        async def items(self, resource, namespace):
            if resource.plural == "deployments":
                started.append(namespace)
                under_way.set()
            return await api.items(resource, namespace)

    shared = NamespaceWorkloads(Counting())
    first = asyncio.create_task(shared.read(team.namespace))
    await asyncio.wait_for(under_way.wait(), 5)
    team.create(deployment())
    # All of these ask while the first read is under way, and after the Deployment was made.
    later = [asyncio.create_task(shared.read(team.namespace)) for _ in range(20)]
    await first
    for found in await asyncio.gather(*later):
        assert [item.name for item in found if item.obj["kind"] == "Deployment"] == [AGENT]
    assert len(started) == 2
    await shared.read(team.namespace)
    assert len(started) == 3
    assert not shared._running
    assert not shared._next

"""The elector on a real API server with short times, and what the fence lets through."""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from controller.cluster import Cluster
from toolvet.kube.client import ApiError, connect
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.lease import Elector, FencedClient, LeaseLostError, Timing
from toolvet.kube.names import LEASES, NAMESPACES

SHORT = Timing(duration=2.0, deadline=1.0, renew=0.3, retry=0.1)


class Clock:
    """A monotonic clock that can be set forward: a process that was frozen."""

    def __init__(self):
        self.skipped = 0.0

    def __call__(self):
        return time.monotonic() + self.skipped


@pytest.fixture
async def api(cluster: Cluster, namespace_of_leases, tmp_path):
    account = cluster.bed.service_account(namespace_of_leases, "elector", tmp_path / "account")
    async with connect(ServiceAccount(account, cluster.bed.environment()), user_agent="test") as client:
        yield client


@pytest.fixture
def namespace_of_leases(cluster: Cluster):
    with cluster.bed.namespace(prefix="lease-") as name:
        cluster.bed.kubectl("create", "serviceaccount", "elector", "-n", name)
        cluster.bed.kubectl(
            *("create", "role", "elector", "-n", name, "--verb=get,create,update"),
            "--resource=leases.coordination.k8s.io",
        )
        cluster.bed.kubectl(
            *("create", "rolebinding", "elector", "-n", name, "--role=elector"),
            f"--serviceaccount={name}:elector",
        )
        yield name


def elector(api, namespace, identity, clock=None):
    return Elector(
        api,
        namespace,
        "one",
        identity,
        monotonic=clock or Clock(),
        now=lambda: datetime.now(UTC),
        timing=SHORT,
    )


async def holder(api, namespace):
    lease = await api.get(LEASES, namespace, "one")
    return lease["spec"].get("holderIdentity")


async def test_one_holds_and_the_other_waits(api, namespace_of_leases):
    first, second = (elector(api, namespace_of_leases, name) for name in "ab")
    await first.acquire()
    assert first.held()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire())
    await asyncio.wait([waiting], timeout=3 * SHORT.duration)
    assert not waiting.done()
    assert not second.held()
    assert await holder(api, namespace_of_leases) == "a"
    keeping.cancel()
    await first.release()
    assert not first.held()
    started = time.monotonic()
    await asyncio.wait_for(waiting, 5)
    assert time.monotonic() - started < 1.5
    assert await holder(api, namespace_of_leases) == "b"


async def test_a_silent_holder_is_replaced_after_the_whole_duration_and_not_before(api, namespace_of_leases):
    first, second = (elector(api, namespace_of_leases, name) for name in "ab")
    await first.acquire()
    started = time.monotonic()
    await asyncio.wait_for(second.acquire(), 10)
    assert time.monotonic() - started >= SHORT.duration
    assert not first.held()
    await first.release()  # not ours any more: the other's stays
    assert await holder(api, namespace_of_leases) == "b"


async def test_who_was_frozen_neither_writes_nor_renews(api, namespace_of_leases):
    clock = Clock()
    frozen = elector(api, namespace_of_leases, "a", clock)
    await frozen.acquire()
    fenced = FencedClient(api, frozen.held)
    version = (await fenced.get(LEASES, namespace_of_leases, "one"))["metadata"]["resourceVersion"]
    clock.skipped = SHORT.deadline
    assert not frozen.held()
    lease = await fenced.get(LEASES, namespace_of_leases, "one")  # reading is free
    writes = (
        fenced.create(LEASES, namespace_of_leases, lease),
        fenced.replace(LEASES, namespace_of_leases, lease),
        fenced.merge(LEASES, namespace_of_leases, "one", {}),
        fenced.apply(LEASES, namespace_of_leases, lease, manager="x"),
        fenced.delete(LEASES, namespace_of_leases, "one"),
    )
    for write in writes:
        with pytest.raises(LeaseLostError):
            await write
    with pytest.raises(LeaseLostError):
        await frozen.keep()
    lease = await api.get(LEASES, namespace_of_leases, "one")
    assert lease["metadata"]["resourceVersion"] == version


async def test_a_lease_that_went_to_somebody_else_is_lost_at_once_and_not_given_back(
    api, namespace_of_leases
):
    first = elector(api, namespace_of_leases, "a")
    await first.acquire()
    lease = await api.get(LEASES, namespace_of_leases, "one")
    lease["spec"]["holderIdentity"] = "b"
    await api.replace(LEASES, namespace_of_leases, lease)
    with pytest.raises(LeaseLostError):
        await asyncio.wait_for(first.keep(), 5)
    assert not first.held()
    await first.release()
    assert await holder(api, namespace_of_leases) == "b"


async def test_two_candidates_at_one_moment_make_one_holder(api, namespace_of_leases):
    candidates = [elector(api, namespace_of_leases, name) for name in "abcd"]
    tasks = [asyncio.create_task(item.acquire()) for item in candidates]
    done, waiting = await asyncio.wait(tasks, timeout=SHORT.deadline / 2)
    assert len(done) == 1
    assert [item.held() for item in candidates].count(True) == 1
    for task in waiting:
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_write_with_the_lease_goes_through(api, namespace_of_leases):
    fenced = FencedClient(api, lambda: True)
    with pytest.raises(ApiError) as refused:
        await fenced.merge(NAMESPACES, None, "default", {})
    assert refused.value.status == 403  # sent, and refused by the API server's rules

"""Reads that fail, in every way a network or a server can: nothing is admitted on missing knowledge."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from controller.objects import deployment
from controlplane.people import invite
from faults.changes import GATE, Change, Outcome, Read, Scene, measured, set_scene
from faults.proxy import Fault, Kind, Proxy
from faults.release import Release
from toolvet.kube.client import connect
from toolvet.kube.kubeconfig import load

pytestmark = pytest.mark.asyncio(loop_scope="module")

TIMES = 7  # of each of two changes for each of eight reads: more than a hundred a fault
RECOVERY_SECONDS = 5.0
UNAVAILABLE = "state_unavailable: "
LATE = 2.4  # seconds; two rounds of reads then take longer than the gate may
TOLERABLE = 0.3
AT_ONCE = 8
MANY = 60  # as many wait at once where waiting is what takes the time


@pytest.fixture(scope="module")
def behind(release: Release, proxy: Proxy) -> Iterator[Release]:
    """A gate that knows the API server only through the proxy."""
    with release.gates(api_port=proxy.port):
        yield release


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(behind: Release) -> AsyncIterator[Scene]:
    bed = behind.bed
    with bed.namespace("reads-") as namespace, bed.namespace("strict-") as strict:
        people = invite(bed, behind.installed.chart.fullname, namespace)
        async with (
            connect(load(bed.kubeconfig(), None).credentials, user_agent="faults", connections=200) as admin,
            connect(load(people.developer, None).credentials, user_agent="faults") as developer,
        ):
            found = Scene(bed, namespace, strict, admin, developer)
            await set_scene(found)
            yield found


async def outcomes(reads: list[Read], at_once: int = AT_ONCE) -> tuple[list[Outcome], list[Outcome]]:
    """Try both changes of each read, many times."""
    tried = [change for read in reads for change in [read.allowed] * TIMES + [read.refused] * TIMES]
    limit = asyncio.Semaphore(at_once)

    async def attempt(change: Change) -> Outcome:
        async with limit:
            return await measured(change)

    found = await asyncio.gather(*(attempt(change) for change in tried))
    size = 2 * TIMES
    allowed = [item for start in range(0, len(found), size) for item in found[start : start + TIMES]]
    refused = [item for start in range(TIMES, len(found), size) for item in found[start : start + TIMES]]
    return allowed, refused


async def recovers(scene: Scene) -> float:
    """Wait until a change is admitted again, and return how long that took."""
    started = time.monotonic()
    while (refusal := await scene.create("inventory", scene.namespace)) is not None:
        assert refusal.startswith(UNAVAILABLE)
        assert time.monotonic() - started < RECOVERY_SECONDS, "no recovery"
    taken = time.monotonic() - started
    assert taken < RECOVERY_SECONDS
    return taken


def judge(allowed: list[Outcome], refused: list[Outcome]) -> None:
    """Nothing is admitted, and the reason is said.

    That the gate answered in time is in each refusal being the gate's: another is an error (``refusal_of``).
    """
    for outcome in [*allowed, *refused]:
        assert outcome.refusal is not None, "admitted on missing knowledge"
    for outcome in allowed:
        assert str(outcome.refusal).startswith(UNAVAILABLE), outcome


def kubectl_says(scene: Scene) -> str:
    """Return what kubectl prints about a change that would be allowed if all were known."""
    done = scene.bed.kubectl(
        *("apply", "--server-side", "-n", scene.namespace, "-f", "-"),
        input=json.dumps(deployment(f"typed-{next(scene.numbers)}", "approvals")),
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return done.stderr


QUICK = [Kind.CUT, Kind.ERROR, Kind.TOO_MANY, Kind.NOT_SERVED, Kind.GARBAGE, Kind.TRUNCATED]


def together(reads: list[Read]) -> list[list[Read]]:
    """Group reads that can fail at once without one hiding the other."""
    groups = [[read for read in reads if not read.shared], *([read] for read in reads if read.shared)]
    # Whoever is asked about a binding that goes away is not asked about approvers.
    review = groups.pop()
    groups[-1] += review
    return groups


@pytest.mark.parametrize("kind", [*QUICK, Kind.FREEZE], ids=lambda kind: kind.name.lower())
async def test_nothing_is_admitted_where_a_read_fails(scene: Scene, proxy: Proxy, kind: Kind) -> None:
    total, slowest, texts = 0, 0.0, Counter[str]()
    for group in together(scene.reads()):
        faults = [Fault(kind, read.pattern) for read in group]
        with proxy.inject(*faults):
            allowed, refused = await outcomes(group, MANY if kind is Kind.FREEZE else AT_ONCE)
        judge(allowed, refused)
        missed = [read.name for read, fault in zip(group, faults, strict=True) if fault.hits < TIMES]
        assert not missed, f"reads that were not hit: {missed}"
        total += len(allowed) + len(refused)
        slowest = max(slowest, *(item.seconds for item in [*allowed, *refused]))
        texts.update(str(item.refusal).partition(":")[0] for item in refused)
    with proxy.inject(Fault(kind, scene.reads()[3].pattern)):
        said = kubectl_says(scene)
    assert GATE + UNAVAILABLE in said
    assert total >= 100
    again = await recovers(scene)
    print(f"{kind.name}: {total} denied, slowest {slowest:.2f} s, recovered in {again:.2f} s, {dict(texts)}")


async def test_nothing_is_admitted_on_an_answer_that_is_nobodys(scene: Scene, proxy: Proxy) -> None:
    """A well-formed object, but not the one that was asked for."""
    for group in together(scene.reads()):
        with proxy.inject(*(Fault(Kind.ANOTHER, read.pattern) for read in group)):
            for outcome in [item for both in await outcomes(group) for item in both]:
                assert outcome.refusal is not None, f"admitted: {[read.name for read in group]}"
    await recovers(scene)


async def test_nothing_is_admitted_where_nobody_listens(scene: Scene, proxy: Proxy) -> None:
    with proxy.refusing():
        allowed, refused = await outcomes(scene.reads())
        said = kubectl_says(scene)
    judge(allowed, refused)
    assert GATE + UNAVAILABLE in said
    print(f"refused connections: recovered in {await recovers(scene):.2f} s")


async def test_answers_that_come_too_late_are_none(scene: Scene, proxy: Proxy) -> None:
    with proxy.inject(Fault(Kind.SLOW, seconds=LATE)):
        (allowed, refused), said = await asyncio.gather(
            outcomes(scene.reads(), MANY), asyncio.to_thread(kubectl_says, scene)
        )
    judge(allowed, refused)
    assert GATE + UNAVAILABLE in said
    slowest = max(item.seconds for item in [*allowed, *refused])
    print(f"late: slowest {slowest:.2f} s, recovered in {await recovers(scene):.2f} s")


async def test_answers_that_come_in_time_count(scene: Scene, proxy: Proxy) -> None:
    with proxy.inject(Fault(Kind.SLOW, seconds=TOLERABLE)):
        allowed, refused = await outcomes(scene.reads(), MANY)
    assert [item.refusal for item in allowed] == [None] * len(allowed)
    assert all(item.refusal and not item.refusal.startswith(UNAVAILABLE) for item in refused)


@pytest.mark.parametrize(
    ("rounds", "kinds", "share"),
    [(2, [Kind.ERROR], 0.05), (1, QUICK, 0.02)],
    ids=["errors", "anything"],
)
async def test_where_a_few_reads_fail_each_verdict_is_right_or_unknown(
    scene: Scene, proxy: Proxy, rounds: int, kinds: list[Kind], share: float
) -> None:
    faults = [Fault(kind, share=share) for kind in kinds]
    with proxy.inject(*faults):
        allowed, refused = await outcomes(scene.reads() * rounds)
    assert len(refused) >= rounds * 50
    assert all(item.refusal is not None for item in refused), "admitted on missing knowledge"
    admitted = [item for item in allowed if item.refusal is None]
    assert all(item.refusal is None or item.refusal.startswith(UNAVAILABLE) for item in allowed)
    assert admitted
    assert all(fault.hits for fault in faults)
    hits = sum(fault.hits for fault in faults)
    print(f"{len(admitted)} of {len(allowed)} admitted, {len(refused)} denied, {hits} reads failed")
    await recovers(scene)


async def test_connections_that_died_unnoticed_are_given_up(scene: Scene, proxy: Proxy) -> None:
    """A router forgot them: what is sent on one is never answered, and nothing says so."""
    await outcomes(scene.reads()[:3], MANY)  # as many connections as the gate ever keeps
    with proxy.inject(Fault(Kind.DEAD)):
        pass
    started = time.monotonic()
    refusal = await scene.create("inventory", scene.namespace)
    assert refusal is None or refusal.startswith(UNAVAILABLE)
    again = await recovers(scene)
    print(f"dead connections: recovered in {time.monotonic() - started:.2f} s, {again:.2f} s after a refusal")

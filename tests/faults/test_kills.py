"""The controller is killed at random instants while two writers edit: statuses and history come out right.

TOOLVET_FULL=1 runs 200 kills during 500 edits; by default they are fewer.
"""

import asyncio
import contextlib
import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from controlplane.installation import Installation
from controlplane.processes import Process
from controlplane.waiting import POLL_SECONDS
from faults.changes import tools
from faults.edits import EDITS_EACH, Record, Writer, settle
from faults.release import Release
from toolvet.core.differences import count, differences
from toolvet.kube.client import ApiClient, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import APPROVALS, EVENTS, INVENTORIES, LEASES, SNAPSHOTS
from toolvet.kube.revisions import read_revisions, unpack

FULL = os.environ.get("TOOLVET_FULL") == "1"
KILLS, EDITS = (200, 500) if FULL else (15, 60)
LEASE_SECONDS = 2
TAKEOVER_SECONDS = 30.0
CONVERGED_SECONDS = 60.0
LEADS_FOR = 1.5  # seconds at most, before it is killed
AT_WORK = 0.7  # of the kills come soon after a leader's first write
BEGINS_SECONDS = 5.0
WRITES_WITHIN = LEASE_SECONDS + LEADS_FOR  # spread over the time without a leader too
_GENERATIONS = re.compile(
    r"generation ([0-9]+), live catalog ([0-9a-f]{12}): .*\nsince generation ([0-9]+): (.*)"
)
_LIVE = re.compile(r"live catalog ([0-9a-f]{12})")


@dataclass
class Pair:
    """Two controllers, of which one leads; the killed one is replaced at once."""

    installed: Installation
    namespace: str
    lease: str
    admin: ApiClient
    running: list[Process]
    ended_themselves: int = 0

    def start(self) -> None:
        process = self.installed.start_controller("--lease-duration", str(LEASE_SECONDS))
        self.running.append(process)

    async def leader(self) -> Process:
        """Wait until one of the two has the Lease."""
        deadline = time.monotonic() + TAKEOVER_SECONDS
        while True:
            lease = await self.admin.get(LEASES, self.namespace, self.lease) or {}
            holder = str(lease.get("spec", {}).get("holderIdentity") or "").partition("_")[0]
            for process in list(self.running):
                if process.poll() is not None:
                    # It could not renew in time: a busy machine, and a short Lease.
                    self.running.remove(process)
                    self.ended_themselves += 1
                    self.start()
                elif process.name == holder:
                    return process
            assert time.monotonic() < deadline, "nobody leads"
            await asyncio.sleep(POLL_SECONDS)

    def kill(self, process: Process) -> None:
        process.kill()
        self.running.remove(process)
        self.start()

    def stop(self) -> None:
        for process in self.installed.controllers:
            process.stop()
        self.installed.controllers.clear()


@dataclass
class Play:
    """One namespace with its agents, as admin sees it."""

    admin: ApiClient
    namespace: str
    agents: list[str]

    async def inventories(self) -> dict[str, dict[str, Any]]:
        found = await self.admin.items(INVENTORIES, self.namespace)
        return {item["metadata"]["name"]: item for item in found}

    async def behind(self) -> int:
        """Count the inventories whose present generation has no status yet."""
        found = await self.inventories()
        return sum(
            item.get("status", {}).get("observedGeneration") != item["metadata"]["generation"]
            for item in found.values()
        )

    async def begins(self) -> None:
        """Wait until some work is done, or there is none."""
        before, deadline = await self.behind(), time.monotonic() + BEGINS_SECONDS
        while (now := await self.behind()) and now >= before and time.monotonic() < deadline:
            before = max(before, now)
            await asyncio.sleep(POLL_SECONDS)

    async def converges(self) -> float:
        started = time.monotonic()
        while await self.behind() or not await self._judged():
            assert time.monotonic() - started < CONVERGED_SECONDS, "the statuses do not converge"
            await asyncio.sleep(POLL_SECONDS)
        return time.monotonic() - started

    async def _judged(self) -> bool:
        found = await self.inventories()
        return all(item["status"]["workloads"]["governed"] == 1 for item in found.values())

    async def verdicts(self) -> dict[str, Any]:
        """Return every status, but for what tells when and after how many generations it came about."""
        kinds = (INVENTORIES, SNAPSHOTS, APPROVALS)
        return {
            f"{kind.plural}/{item['metadata']['name']}": _timeless(item.get("status", {}))
            for kind in kinds
            for item in await self.admin.items(kind, self.namespace)
        }


def _timeless(status: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in status.items() if key not in {"observedGeneration", "lastChange"}}
    dropped = {"lastTransitionTime", "observedGeneration"}
    kept["conditions"] = sorted(
        (
            {key: value for key, value in each.items() if key not in dropped}
            for each in status.get("conditions", [])
        ),
        key=lambda each: str(each["type"]),
    )
    return kept


def _rounds(chance: random.Random, agents: list[str]) -> list[list[str]]:
    """Say which agents are edited between one kill and the next."""
    wanted = [name for name in agents for _ in range(EDITS_EACH)][:EDITS]
    chance.shuffle(wanted)
    rounds: list[list[str]] = [[] for _ in range(KILLS)]
    for name in wanted:
        chance.choice(rounds).append(name)
    return rounds


@pytest.mark.timeout(3600 if FULL else 300)
async def test_killed_at_random_instants(release: Release) -> None:
    seed = int(os.environ.get("TOOLVET_SEED") or random.SystemRandom().getrandbits(32))
    print(f"TOOLVET_SEED={seed}")
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    bed, installed = release.bed, release.installed
    agents = [f"agent-{number}" for number in range(-(-EDITS // EDITS_EACH))]
    audit = {"toolvet.dev/mode": "audit"}
    async with (
        connect(load(bed.kubeconfig(), None).credentials, user_agent="faults") as admin,
        contextlib.AsyncExitStack() as ends,
    ):
        namespace = ends.enter_context(bed.namespace("kills-", audit))
        twin = ends.enter_context(bed.namespace("twin-", audit))
        lease = f"{installed.chart.fullname}-controller"
        pair = Pair(installed, installed.chart.namespace, lease, admin, [])
        ends.callback(pair.stop)
        record = Record()
        play = Play(admin, namespace, agents)
        for name in agents:
            await settle(admin, namespace, name, tools(name))
        for item in (await play.inventories()).values():
            record.add(item)
        pair.start()
        pair.start()
        writers = [Writer(admin, namespace, record, chance.getrandbits(32)) for _ in range(2)]
        caught = await _kill_and_edit(chance, pair, play, writers)
        await pair.leader()
        seconds = await play.converges()

        for name in agents:
            await settle(admin, twin, name, record.last(name)[1])
        await Play(admin, twin, agents).converges()
        await _equal(play, Play(admin, twin, agents))
        kept, made = await _history(play, record)
        told = await _events(play, record)
    overtaken = sum(writer.overtaken for writer in writers)
    overtaken = sum(writer.overtaken for writer in writers)
    print(
        f"{KILLS} kills, {caught} of them with work undone; {EDITS} edits, {overtaken} overtaken;"
        f" {pair.ended_themselves} ended themselves; converged {seconds:.1f} s after the last;"
        f" history {kept} of {made} generations, {told} Events"
    )


async def _kill_and_edit(chance: random.Random, pair: Pair, play: Play, writers: list[Writer]) -> int:
    """Kill the leader again and again, at any instant; returns how often it had not finished."""

    async def edit(writer: Writer, name: str, after: float) -> None:
        await asyncio.sleep(after)
        await writer.edit(name)

    caught = 0
    for names in _rounds(chance, play.agents):
        async with asyncio.TaskGroup() as edits:
            for name in names:
                edits.create_task(edit(chance.choice(writers), name, chance.uniform(0, WRITES_WITHIN)))
            leader = await pair.leader()
            if chance.random() < AT_WORK:
                await play.begins()
                await asyncio.sleep(chance.uniform(0, LEADS_FOR / 10))
            else:
                await asyncio.sleep(chance.uniform(0, LEADS_FOR))
            pair.kill(leader)
            caught += await play.behind() > 0
    return caught


async def _equal(play: Play, twin: Play) -> None:
    """Compare with a namespace that holds the same and whose controller was never killed."""
    deadline = time.monotonic() + CONVERGED_SECONDS
    while (found := await play.verdicts()) != (expected := await twin.verdicts()):
        if time.monotonic() > deadline:
            different = {key for key in found | expected if found.get(key) != expected.get(key)}
            raise AssertionError({key: (found.get(key), expected.get(key)) for key in sorted(different)})
        await asyncio.sleep(POLL_SECONDS)


async def _history(play: Play, record: Record) -> tuple[int, int]:
    """Each generation that is kept is kept once and as it was; the last change is one between two of them."""
    kept = 0
    for name, item in (await play.inventories()).items():
        uid, made = item["metadata"]["uid"], record.generations[name]
        revisions = await read_revisions(play.admin, play.namespace, uid)
        generations = sorted(each["revision"] for each in revisions)
        assert len(set(generations)) == len(generations), f"{name}: double history {generations}"
        for each in revisions:
            assert unpack(each["data"]) == made[each["revision"]], f"{name}: wrong {each['revision']}"
        assert generations[-1] == record.last(name)[0], f"{name}: the last generation is not in the history"
        kept += len(generations)
        change = item["status"].get("lastChange")
        if change is not None:
            _right(name, made, generations, change)
    return kept, sum(len(made) for made in record.generations.values())


def _right(name: str, made: dict[int, Any], generations: list[int], change: dict[str, Any]) -> None:
    after, before = change["observedGeneration"], change["previousGeneration"]
    earlier = [number for number in generations if number < after]
    assert after in generations, f"{name}: {change}"
    assert before == max(earlier), f"{name}: {change}"
    assert change["catalogDigest"] == made[after].digest
    assert change["previousCatalogDigest"] == made[before].digest
    counts = count(differences(made[before], made[after]))
    assert (change["added"], change["removed"], change["changed"]) == (
        counts.added,
        counts.removed,
        counts.changed,
    )
    # What came after it changed nothing: a catalog that is written again is no change.
    assert all(made[number].digest == made[after].digest for number in generations if number >= after)


async def _events(play: Play, record: Record) -> int:
    """Nothing is told twice, and what is told was so."""
    found = await play.admin.items(EVENTS, play.namespace)
    ours = [item for item in found if item["reason"].startswith("Catalog")]
    changes: Counter[tuple[str, int]] = Counter()
    verdicts: Counter[tuple[str, str, str, str]] = Counter()
    for item in ours:
        name, note = item["regarding"]["name"], item["note"]
        made = record.generations[name]
        if item["reason"] == "CatalogChanged":
            match = _GENERATIONS.match(note)
            assert match, note
            after, before = int(match[1]), int(match[3])
            assert made[after].digest.startswith(f"sha256:{match[2]}"), note
            assert match[4] == str(count(differences(made[before], made[after]))), note
            changes[name, after] += 1
        else:
            match = _LIVE.search(note)
            assert match, note
            verdicts[item["regarding"]["kind"], name, item["reason"], match[1]] += 1
    assert max(changes.values()) == 1, f"told twice: {[key for key, times in changes.items() if times > 1]}"
    for (kind, name, reason, digest), times in verdicts.items():
        generations = _times_live(record.generations[name], digest)
        assert times <= generations, f"{kind} {name}: {reason} {times} times, live {generations} times"
    return len(ours)


def _times_live(made: dict[int, Any], digest: str) -> int:
    return sum(each.digest.startswith(f"sha256:{digest}") for each in made.values())

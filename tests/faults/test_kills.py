"""The controller is killed at random instants while two writers edit: statuses and history come out right.

TOOLVET_FULL=1 runs 200 kills during 500 edits; by default they are fewer.
"""

import asyncio
import contextlib
import os
import random
import time
from dataclasses import dataclass

import pytest

from controlplane.installation import Installation
from controlplane.processes import Process
from controlplane.waiting import POLL_SECONDS
from faults.edits import EDITS_EACH, Writer
from faults.play import Play, opened, right
from faults.release import Release
from toolvet.kube.client import ApiClient, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import LEASES

FULL = os.environ.get("TOOLVET_FULL") == "1"
KILLS, EDITS = (200, 500) if FULL else (15, 60)
LEASE_SECONDS = 2
TAKEOVER_SECONDS = 30.0
LEADS_FOR = 1.0  # seconds at most, before it is killed
AT_WORK = 0.7  # of the kills come soon after a leader's first write
WRITES_WITHIN = LEASE_SECONDS + LEADS_FOR  # spread over the time without a leader too


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


def _rounds(chance: random.Random, agents: list[str]) -> list[list[tuple[str, int]]]:
    """Say which agents are edited between one kill and the next, and by how many writers at once."""
    each = [2, 2, *[1] * (EDITS_EACH - 4)]
    rounds: list[list[tuple[str, int]]] = [[] for _ in range(KILLS)]
    left = EDITS
    units = [(name, count) for name in agents for count in each]
    for name, at_once in chance.sample(units, len(units)):
        if at_once <= left:
            left -= at_once
            chance.choice(rounds).append((name, at_once))
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
        play, record = await opened(admin, namespace, agents)
        pair.start()
        pair.start()
        writers = [Writer(admin, namespace, record, chance.getrandbits(32)) for _ in range(2)]
        caught = await _kill_and_edit(chance, pair, play, writers)
        await pair.leader()
        seconds = await play.converges()
        kept, made, told = await right(play, record, twin)
    overtaken = sum(writer.overtaken for writer in writers)
    overtaken = sum(writer.overtaken for writer in writers)
    print(
        f"{KILLS} kills, {caught} of them with work undone; {made - len(agents)} edits,"
        f" {overtaken} overtaken; {pair.ended_themselves} ended themselves;"
        f" converged {seconds:.1f} s after the last; history {kept} of {made} generations, {told} Events"
    )


async def _kill_and_edit(chance: random.Random, pair: Pair, play: Play, writers: list[Writer]) -> int:
    """Kill the leader again and again, at any instant; returns how often it had not finished."""

    async def edit(writer: Writer, name: str, after: float) -> None:
        await asyncio.sleep(after)
        await writer.edit(name)

    caught = 0
    for wanted in _rounds(chance, play.agents):
        async with asyncio.TaskGroup() as edits:
            for name, at_once in wanted:
                after = chance.uniform(0, WRITES_WITHIN)
                for writer in chance.sample(writers, at_once):
                    edits.create_task(edit(writer, name, after))
            leader = await pair.leader()
            if chance.random() < AT_WORK:
                await play.begins()
                await asyncio.sleep(chance.uniform(0, LEADS_FOR / 10))
            else:
                await asyncio.sleep(chance.uniform(0, LEADS_FOR))
            pair.kill(leader)
            caught += await play.behind() > 0
    return caught

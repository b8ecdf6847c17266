"""A namespace whose agents are edited, and whether what the controller says of them is right."""

import asyncio
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from controlplane.waiting import POLL_SECONDS
from faults.changes import tools
from faults.edits import Record, settle
from toolvet.core.binding import Catalog
from toolvet.core.differences import count, differences
from toolvet.kube.client import ApiClient
from toolvet.kube.names import APPROVALS, EVENTS, INVENTORIES, SNAPSHOTS
from toolvet.kube.revisions import read_revisions, unpack

CONVERGED_SECONDS = 60.0
BEGINS_SECONDS = 5.0
_GENERATIONS = re.compile(
    r"generation ([0-9]+), live catalog ([0-9a-f]{12}): .*\nsince generation ([0-9]+): (.*)"
)
_LIVE = re.compile(r"live catalog ([0-9a-f]{12})")


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


async def opened(admin: ApiClient, namespace: str, agents: list[str]) -> tuple[Play, Record]:
    """Settle the agents, all approved."""
    play, record = Play(admin, namespace, agents), Record()
    for name in agents:
        await settle(admin, namespace, name, tools(name))
    for item in (await play.inventories()).values():
        record.add(item)
    return play, record


async def right(play: Play, record: Record, twin: str) -> tuple[int, int, int]:
    """Check everything; ``twin`` is a namespace to make the same in.

    Returns how many generations are kept, how many there were, and how many Events tell of them.
    """
    for name in play.agents:
        await settle(play.admin, twin, name, record.last(name)[1])
    other = Play(play.admin, twin, play.agents)
    await other.converges()
    await _equal(play, other)
    return *await _history(play, record), await _events(play, record)


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
            was = Catalog(made[each["revision"]].bindings)  # what is kept: the tools, and no minorChangeOf
            assert unpack(each["data"]) == was, f"{name}: wrong {each['revision']}"
        assert generations[-1] == record.last(name)[0], f"{name}: the last generation is not in the history"
        kept += len(generations)
        change = item["status"].get("lastChange")
        if change is not None:
            _right(name, made, generations, change)
    return kept, sum(len(made) for made in record.generations.values())


def _right(name: str, made: dict[int, Catalog], generations: list[int], change: dict[str, Any]) -> None:
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


def _times_live(made: dict[int, Catalog], digest: str) -> int:
    return sum(each.digest.startswith(f"sha256:{digest}") for each in made.values())

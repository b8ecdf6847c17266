"""A dry run gets the verdict of the apply, and leaves no trace (DESIGN 4)."""

import asyncio
import json
import random
from typing import Any

from controlplane.waiting import wait_until
from core.build import seeded
from races.actors import GATE, connected
from story.team import AGENT, Team, tool, workload
from toolvet.kube.client import ApiClient, ApiError
from toolvet.kube.kinds import KINDS

COUNT = 1_000
AT_ONCE = 8
SETTLED_SECONDS = 10.0
RESOURCES = {kind.resource.kind: kind.resource for kind in KINDS}
ACCOUNTS = (AGENT, "unreviewed", "default", "loose")
INVENTORIES = (None, None, AGENT, "unreviewed", "missing", "", "No Name")
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
NOT_STORED = {"subjectaccessreviews", "selfsubjectreviews", "tokenreviews", "tokenrequests"}


def _random_workload(draw: random.Random, number: int, pins: tuple[str | None, ...]) -> dict[str, Any]:
    annotations = {
        "toolvet.dev/inventory": draw.choice(INVENTORIES),
        "toolvet.dev/snapshot": draw.choice(pins),
    }
    chosen = {key: value for key, value in annotations.items() if value is not None}
    obj = workload(
        draw.choice(list(RESOURCES)), f"w-{number}", account=draw.choice(ACCOUNTS), annotations=chosen
    )
    if draw.random() < 0.1 and obj["kind"] != "Pod":
        obj["metadata"]["annotations"] = {"toolvet.dev/inventory": AGENT}
    return obj


async def _verdict(api: ApiClient, namespace: str, obj: dict[str, Any], *, dry_run: bool) -> str:
    try:
        await api.create(RESOURCES[obj["kind"]], namespace, obj, dry_run=dry_run)
    except ApiError as error:
        if GATE not in error.message:
            raise
        return error.message.partition(f"{GATE}: ")[2].partition(":")[0]
    return "allowed"


def _stored_writes(team: Team, skip: int) -> list[tuple[str, str]]:
    """Every write in the team's namespace, by anybody, that reached etcd since a line of the audit log."""
    found = []
    with team.bed.audit_log.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number < skip:
                continue
            event = json.loads(line)
            target = event.get("objectRef", {})
            resource = target.get("resource", "")
            dry = "dryRun=All" in event["requestURI"]
            if target.get("namespace") != team.namespace or event["verb"] not in WRITES or dry:
                continue
            if resource not in NOT_STORED:
                found.append((event["user"]["username"], resource))
    return found


def _lines(team: Team) -> int:
    with team.bed.audit_log.open("rb") as log:
        return sum(1 for _ in log)


def _settled(team: Team, snapshot: str) -> bool:
    """Tell whether the controller has written all that the preparation of the test gives it to write."""
    inventories = [team.get("tvinv", name) for name in (AGENT, "unreviewed")]
    seen = all("catalogDigest" in item.get("status", {}) for item in inventories)
    approved = inventories[0].get("status", {}).get("lastApproved", {}).get("snapshotName") == snapshot
    return seen and approved and team.get("tvsnap", snapshot).get("status", {}).get("previewValid") is True


async def test_a_dry_run_says_what_the_apply_says_and_stores_nothing(team: Team) -> None:
    team.publish(tool("read"))
    approved = team.review()
    team.publish(tool("write"), name="unreviewed")
    team.kubectl("create", "serviceaccount", "loose", as_user=team.people.developer)
    for name in (AGENT, "unreviewed"):
        team.kubectl("create", "serviceaccount", name, as_user=team.people.developer)
    wait_until(lambda: _settled(team, approved), SETTLED_SECONDS, "the controller has not caught up")
    pins = (None, None, None, approved, f"{AGENT}-0123456789abcdef", "")
    draw = seeded(20_261_130)
    objects = [_random_workload(draw, number, pins) for number in range(COUNT)]
    gate = asyncio.Semaphore(AT_ONCE)
    async with connected(team.bed.kubeconfig()) as api:

        async def ask(obj: dict[str, Any], *, dry_run: bool) -> str:
            async with gate:
                return await _verdict(api, team.namespace, obj, dry_run=dry_run)

        begun = _lines(team)
        dry = await asyncio.gather(*(ask(obj, dry_run=True) for obj in objects))
        assert _stored_writes(team, begun) == []
        real = await asyncio.gather(*(ask(obj, dry_run=False) for obj in objects))
    pending = {"snapshot_missing", "snapshot_outdated"}
    for obj, before, after in zip(objects, dry, real, strict=True):
        # Only a pin that may still come true is let through by the dry run alone.
        pinned = "toolvet.dev/snapshot" in json.dumps(obj)
        assert before == after or (before == "allowed" and after in pending and pinned), (obj, before, after)
    assert len(set(real)) >= 5, set(real)

"""An answer that has arrived is seen: no loop of change, review and rollout ever needs a pause."""

import asyncio
import os
import time

import pytest

from controlplane.waiting import wait_until
from races.actors import acting
from story.team import AGENT, Team, tool, workload
from toolvet.core.errors import ContractError
from toolvet.kube.names import APPROVALS
from toolvet.kube.resources import manifest, snapshot_from_object

FULL = os.environ.get("TOOLVET_FULL") == "1"
LOOPS = 500 if FULL else 100
COMMAND_LOOPS = 20 if FULL else 5
PAIRS = 200 if FULL else 60
AT_ONCE = 10
DRIFT_SECONDS = 5.0


async def test_what_was_just_approved_is_admitted(team: Team) -> None:
    async with acting(team) as actors:
        for loop in range(LOOPS):
            name = _agent(loop)
            await actors.publish(name)
            await actors.review(name)
            refusal = await actors.apply(name, account=name)
            assert refusal is None, f"loop {loop}: {refusal}"


async def test_what_was_just_changed_or_revoked_is_refused(team: Team) -> None:
    async with acting(team) as actors:
        for loop in range(LOOPS):
            name = _agent(loop)
            await actors.publish(name)
            snapshot = await actors.review(name)
            assert await actors.apply(name, account=name) is None, f"loop {loop}"
            if loop % 2:
                await actors.publish(name)
                expected = "not_approved"
            else:
                await actors.revoke(snapshot)
                expected = "approval_revoked"
            refusal = await actors.apply(name, account=name)
            assert refusal is not None, f"loop {loop}: admitted after {expected}"
            assert refusal.startswith(expected), f"loop {loop}: {refusal}"


def _agent(loop: int) -> str:
    """Take another agent now and then, as real ones have tens of snapshots and not hundreds."""
    return f"agent-{loop // 25}"


def test_the_same_through_the_commands(team: Team) -> None:
    for loop in range(COMMAND_LOOPS):
        team.publish(tool("read", schema=f"{loop:x}"[-1]), tool(f"extra-{loop}"))
        snapshot = team.review()
        done = team.apply(_rolled(2 * loop), check=False)
        assert done.returncode == 0, f"loop {loop}: {done.stderr}"
        team.toolvet("revoke", snapshot, "-n", team.namespace, as_user=team.people.reviewer)
        assert team.refusal(_rolled(2 * loop + 1)).startswith("approval_revoked: "), f"loop {loop}"


def _rolled(number: int) -> dict[str, object]:
    return workload(annotations={"example.org/rolled": str(number)})


async def test_a_revocation_beside_a_rollout_is_refused_or_drifts(team: Team) -> None:
    """What changes between verdict and etcd is not seen by the gate: then the controller must say so."""
    async with acting(team) as actors:

        async def pair(number: int) -> str | None:
            name = f"agent-{number}"
            await actors.publish(name)
            snapshot = await actors.review(name)
            _, refusal = await asyncio.gather(actors.revoke(snapshot), actors.apply(name, account=name))
            return None if refusal else name

        admitted: list[str] = []
        for first in range(0, PAIRS, AT_ONCE):
            outcomes = await asyncio.gather(*(pair(number) for number in range(first, first + AT_ONCE)))
            batch = [name for name in outcomes if name is not None]
            since = time.monotonic()
            for name in batch:
                wait_until(lambda name=name: _drifted(team, name), DRIFT_SECONDS, f"{name} is not drifted")
            assert time.monotonic() - since < DRIFT_SECONDS, "not all were drifted in time"
            admitted += batch
    print(f"{len(admitted)} of {PAIRS} rollouts overtook the revocation and were marked drifted")


def _drifted(team: Team, name: str) -> bool:
    status = team.get("tvinv", name).get("status", {})
    return bool(status.get("workloads", {}).get("drifted") == 1)


async def test_another_object_of_the_same_name_is_another_object(team: Team) -> None:
    """Deleted and made again with other content: nothing of the old one counts."""
    reviewer = team.people.reviewer
    async with acting(team) as actors:
        await actors.publish()
        snapshot = await actors.review()
        assert await actors.apply() is None
        stored = team.get("tvsnap", snapshot)
        approval = team.kubectl("get", "tvappr", "-o", "name", as_user=reviewer).stdout.split()[0]
        given = team.get("tvappr", approval.rpartition("/")[2])

        # The inventory, with other tools: the approval was not for those.
        team.kubectl("delete", "tvinv", AGENT, as_user=team.bed.kubeconfig())
        await actors.publish()
        assert str(await actors.apply()).startswith("not_approved: ")
        # The first tools again: what was approved is what is live.
        team.kubectl("delete", "tvinv", AGENT, as_user=team.bed.kubeconfig())
        team.publish(*stored["spec"]["bindings"])
        assert await actors.apply() is None

        # The snapshot, made again: its evidence is of another run, which nobody approved.
        team.kubectl("delete", "tvsnap", snapshot, as_user=team.bed.kubeconfig())
        assert str(await actors.apply()).startswith("not_approved: ")
        assert await actors.capture() == snapshot
        assert str(await actors.apply()).startswith("not_approved: ")

        # The approval, copied under another name by its approver: it is for the old evidence all the same.
        copy = {**given, "metadata": {"name": f"{snapshot}-copy"}}
        copy.pop("status", None)
        team.apply(copy, as_user=reviewer)
        assert str(await actors.apply()).startswith("not_approved: ")
        await actors.approve(snapshot)
        assert await actors.apply() is None

        # The approval deleted: it no longer counts.
        for name in team.kubectl("get", "tvappr", "-o", "name", as_user=reviewer).stdout.split():
            team.kubectl("delete", name, as_user=reviewer)
        assert str(await actors.apply()).startswith("not_approved: ")


async def test_another_snapshot_under_the_first_digits_of_the_live_one_does_not_count(team: Team) -> None:
    """The name only selects: the bindings behind it are compared."""
    async with acting(team) as actors:
        await actors.publish()
        snapshot = await actors.capture()
        stored = team.get("tvsnap", snapshot)
        team.kubectl("delete", "tvsnap", snapshot, as_user=team.bed.kubeconfig())
        forged = {**stored, "metadata": {"name": snapshot, "namespace": team.namespace}}
        forged.pop("status", None)
        forged["spec"] = {**stored["spec"], "bindings": [tool("harmless")]}
        forged["spec"].pop("capturedBy", None)
        team.kubectl("create", "-f", "-", as_user=team.people.reviewer, given=forged)
        with pytest.raises(ContractError, match=r"^snapshot: digest_mismatch$"):
            await actors.approve(snapshot)
        held = snapshot_from_object(team.get("tvsnap", snapshot))
        spec = {
            "inventoryName": AGENT,
            "snapshotName": snapshot,
            "snapshotDigest": held.evidence.digest,
            "catalogDigest": stored["spec"]["catalogDigest"],
            "approvedBy": "reviewer",
        }
        by_hand = manifest(APPROVALS, f"{snapshot}-by-hand", team.namespace, spec)
        team.kubectl("create", "-f", "-", as_user=team.people.reviewer, given=by_hand)
        assert str(await actors.apply()).startswith("not_approved: ")

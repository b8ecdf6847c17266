"""The story with a policy that reviews material changes alone, through kubectl on the real API server.

The collector's account is played with its token; what it judges to be minor is here for it to say.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.collector import collector
from controlplane.waiting import wait_until
from crds.test_policies import await_right
from story.team import AGENT, Team, inventory, tool, workload

NOTICED_SECONDS = 20.0


@pytest.fixture
def observer(team: Team) -> Path:
    product = team.product
    found = collector(team.bed, product.namespace, product.chart.fullname)
    user = f"system:serviceaccount:{product.namespace}:{product.chart.fullname}-collector"
    await_right(team.bed, user, "patch", "toolinventories.toolvet.dev", team.namespace)
    return found


@pytest.fixture
def material(team: Team) -> Iterator[None]:
    """The team's namespace reviews material changes alone."""
    obj = {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "CatalogPolicy",
        "metadata": {"name": "default"},
        "spec": {"overrides": [{"namespaces": [team.namespace], "reviewOn": "MaterialChange"}]},
    }
    command = ("apply", "--server-side", "-f", "-")
    team.bed.kubectl(*command, input=json.dumps(obj), kubeconfig=team.people.engineer)
    yield
    team.bed.kubectl("delete", "catalogpolicy", "default", kubeconfig=team.people.engineer)


def observe(
    team: Team, observer: Path, *tools: dict[str, str], minor_change_of: tuple[str, ...] = ()
) -> None:
    """Write the inventory as the collector does."""
    obj = inventory(*tools)
    obj["spec"]["minorChangeOf"] = list(minor_change_of)
    command = ("apply", "--server-side", "--field-manager=collector", "-f", "-")
    team.kubectl(*command, as_user=observer, given=obj)


def digest_of(team: Team, snapshot: str) -> str:
    found: str = team.get("tvsnap", snapshot)["spec"]["catalogDigest"]
    return found


def conditions(team: Team, kind: str, name: str) -> dict[str, tuple[str, str]]:
    found = team.get(kind, name).get("status", {}).get("conditions", [])
    return {item["type"]: (item["status"], item["reason"]) for item in found}


REWORDED = tool("read", implementation="c")
CHANGED = tool("read", schema="d", implementation="d")


def test_a_minor_change_rolls_out_with_a_warning_and_a_material_one_does_not(
    team: Team, observer: Path, material: None
) -> None:
    observe(team, observer, tool("read"))
    first = team.review()
    assert "Warning" not in team.apply(workload()).stderr

    # 1. Something was reworded, and the collector calls it minor.
    observe(team, observer, REWORDED, minor_change_of=(digest_of(team, first),))
    rolled = team.roll()
    assert rolled.returncode == 0, rolled.stderr
    assert "Warning: toolvet: minor_change: inventory assistant, live catalog " in rolled.stderr
    assert f"admitted as a minor change of {first} (1 of 1)" in rolled.stderr
    assert "tool:org.example/read 1.0.0: implementation_changed" in rolled.stderr
    wait_until(
        lambda: conditions(team, "tvinv", AGENT).get("Approved") == ("True", "minor_change"),
        NOTICED_SECONDS,
        "the controller does not say that the change is minor",
    )
    assert team.get("tvinv", AGENT)["status"]["workloads"] == {"governed": 1, "eligible": 1, "drifted": 0}
    assert conditions(team, "tvsnap", first)["Eligible"] == ("True", "minor_change")
    assert team.get("tvsnap", first)["status"]["eligibility"] == "re-review-required"
    explained = team.toolvet(
        "explain", f"deployment/{AGENT}", "-n", team.namespace, as_user=team.bed.kubeconfig()
    )
    assert f"  allowed: minor_change: inventory {AGENT}, live catalog " in explained.stdout
    assert f"catalogapprovals of {first}" in explained.stdout

    # 2. A workload pinned to the listed snapshot passes too; the agent's own reviewer may end the warning.
    pinned = workload(name="pinned", annotations={"toolvet.dev/snapshot": first})
    assert "minor_change: " in team.apply(pinned).stderr
    own = team.review()
    assert "Warning" not in team.roll().stderr
    assert team.refusal(workload(name="another", annotations={"toolvet.dev/snapshot": "assistant-0"}))

    # 3. Taking that back outweighs the collector: somebody said no to these very tools.
    team.toolvet("revoke", own, "-n", team.namespace, as_user=team.people.reviewer)
    assert Team.denial(team.roll()).startswith("approval_revoked: ")
    assert team.refusal(pinned | {"metadata": {"name": "pinned-too"}}).startswith("snapshot_outdated: ")

    # 4. A material change is in nobody's list.
    observe(team, observer, CHANGED)
    assert Team.denial(team.roll()).startswith("not_approved: ")
    wait_until(
        lambda: team.get("tvinv", AGENT)["status"]["workloads"]["drifted"] == 2,
        NOTICED_SECONDS,
        "the controller does not see the drift",
    )


def test_the_list_means_nothing_by_default(team: Team, observer: Path) -> None:
    observe(team, observer, tool("read"))
    first = team.review()
    team.apply(workload())
    observe(team, observer, REWORDED, minor_change_of=(digest_of(team, first),))
    assert Team.denial(team.roll()).startswith("not_approved: ")
    assert conditions(team, "tvsnap", first).get("Eligible") != ("True", "minor_change")


def test_a_producer_does_not_inherit_the_collectors_judgement(
    team: Team, observer: Path, material: None
) -> None:
    observe(team, observer, tool("read"))
    first = team.review()
    observe(team, observer, REWORDED, minor_change_of=(digest_of(team, first),))
    producer: dict[str, Any] = {"as_user": team.people.producer, "check": False}
    forged = inventory(CHANGED)
    command = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    told = team.kubectl(*command, given=forged, **producer)
    assert "minor_change_of: other_tools" in told.stderr
    forged["spec"]["minorChangeOf"] = [digest_of(team, first), "sha256:" + "0" * 64]
    told = team.kubectl(*command, given=forged, **producer)
    assert "minor_change_of: not_the_collector" in told.stderr
    forged["spec"]["minorChangeOf"] = []
    assert team.kubectl(*command, given=forged, **producer).returncode == 0
    assert team.refusal(workload()).startswith("not_approved: ")

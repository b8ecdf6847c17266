"""``explain`` on the installed product: every read and rule, and what a role may not read is unknown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.commands import Completed
from controlplane.installation import Installation
from story.team import AGENT, Team, gathered, tool, workload

CANARY = "Canary text 4f1c"


@pytest.fixture(scope="module")
def team(product: Installation) -> Iterator[Team]:
    """An enforced namespace with one agent that was approved and runs."""
    with gathered(product) as found:
        found.publish(tool("read"))
        found.review()
        found.apply(workload())
        yield found


def _explain(team: Team, *arguments: str, as_user: Path | None = None) -> Completed:
    user = as_user or team.bed.kubeconfig()
    done = team.toolvet("explain", *arguments, "-n", team.namespace, as_user=user, check=False)
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def _json(team: Team, *arguments: str, as_user: Path | None = None) -> tuple[int, dict[str, Any]]:
    done = _explain(team, *arguments, "-o", "json", as_user=as_user)
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def test_what_is_allowed_shows_every_read_and_the_approval(team: Team) -> None:
    code, found = _json(team, f"deployment/{AGENT}")
    assert (code, found["verdict"], found["code"], found["rule"], found["mode"]) == (
        0, "allowed", None, 1, "enforce",
    )  # fmt: skip
    outcomes = {item["read"]: item["outcome"] for item in found["reads"]}
    snapshot = found["snapshot"]["name"]
    assert outcomes == {
        f"Namespace/{team.namespace}": "found",
        f"Deployment/{AGENT}": "found",
        "CatalogPolicy/default": "absent",
        f"ToolInventory/{AGENT}": "found",
        f"RunToolCatalogSnapshot/{snapshot}": "found",
        f"catalogapprovals of {snapshot}": "found",
        "ValidatingAdmissionPolicy/approvals.toolvet.dev": "found",
        "ValidatingAdmissionPolicyBinding/approvals.toolvet.dev": "found",
    }
    assert found["snapshot"]["catalogDigest"] == found["catalogDigest"]
    assert [(item["approvedBy"], item["state"]) for item in found["approvals"]] == [("reviewer", "valid")]
    assert found["quorum"] == {"required": 1, "valid": 1}
    assert (found["unknown"], found["cure"]) == ([], None)


def test_the_text_says_the_same(team: Team) -> None:
    done = _explain(team, f"deploy/{AGENT}")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"Deployment/{AGENT} in namespace {team.namespace}, mode enforce"
    assert "  1: an inventory of the service account's name exists and governs" in lines
    assert "  quorum: 1 distinct approvers count, 1 required" in lines
    assert lines[-2:] == ["verdict", "  allowed"]


def test_who_may_not_read_the_policy_is_told_what_it_depends_on(team: Team) -> None:
    code, found = _json(team, f"deployments.apps/{AGENT}", as_user=team.people.developer)
    assert (code, found["verdict"]) == (3, "unknown")
    forbidden = {item["read"] for item in found["reads"] if item["outcome"] == "forbidden"}
    assert "CatalogPolicy/default" in forbidden
    assert "CatalogPolicy/default" in found["unknown"]
    assert [item["state"] for item in found["approvals"]] in (["valid"], ["unknown_origin"])
    text = _explain(team, f"deployment/{AGENT}", as_user=team.people.developer).stdout
    assert "unknown (forbidden)" in text
    assert "an unknown number required" in text


def test_who_may_not_read_the_workload_knows_nothing(team: Team) -> None:
    code, found = _json(team, f"deployment/{AGENT}", as_user=team.people.reviewer)
    assert (code, found["verdict"], found["rule"], found["code"]) == (3, "unknown", None, "state_unavailable")
    assert f"Deployment/{AGENT}" in found["unknown"]
    assert _explain(team, f"deployment/{AGENT}", as_user=team.people.reviewer).returncode == 3


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("deployment/none", "workload: not_found"),
        (f"service/{AGENT}", "workload: unknown_kind"),
        (f"deployment.batch/{AGENT}", "workload: unknown_kind"),
        ("deployment", "workload: invalid_name"),
        (f"deployment/{CANARY}", "workload: invalid_name"),
    ],
)
def test_what_is_no_workload_is_bad_input(team: Team, given: str, error: str) -> None:
    done = _explain(team, given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {error}\n")


@pytest.mark.parametrize("user", ["admin", "developer"])
def test_a_refusal_tells_what_changed_and_the_command_that_cures_it(product: Installation, user: str) -> None:
    """It is certain for a developer, too: no policy asks for less than one approval."""
    with gathered(product) as team:
        team.publish(tool("read"))
        team.review()
        team.apply(workload())
        team.publish(tool("read", schema="c"), tool("write"))
        person = team.bed.kubeconfig() if user == "admin" else team.people.developer
        code, found = _json(team, f"deployment/{AGENT}", as_user=person)
        assert (code, found["inventory"]) == (1, AGENT)
        assert found["code"] == "not_approved"
        assert found["cure"].startswith(f"review: kubectl toolvet capture {AGENT} -n {team.namespace}")
        assert "not_approved" in _explain(team, f"deployment/{AGENT}", as_user=person).stdout


def test_rules_two_and_four_and_a_namespace_without_a_mode(product: Installation) -> None:
    with gathered(product, mode=None) as team:
        team.publish(tool("read"), name="shared")
        annotated = {"toolvet.dev/inventory": "shared"}
        team.apply(workload(name="bound", account="worker", annotations=annotated))
        team.apply(workload(name="free", account="worker"))
        team.apply(workload(name="strange", account="worker", annotations={"toolvet.dev/inventory": CANARY}))
        code, bound = _json(team, "deployment/bound")
        assert (code, bound["verdict"], bound["rule"], bound["code"], bound["mode"]) == (
            0, "allowed", 2, "not_approved", "none",
        )  # fmt: skip
        code, free = _json(team, "deployment/free")
        assert (code, free["verdict"], free["rule"], free["code"]) == (0, "allowed", 4, None)
        _, strange = _json(team, "deployment/strange")
        assert strange["annotatedInventory"] == "(not a name)"
        assert "only mode enforce refuses" in _explain(team, "deployment/strange").stdout

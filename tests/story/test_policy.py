"""CatalogPolicy and the origin of approvals, through kubectl on the real API server."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.waiting import wait_until
from story.team import AGENT, Team, tool, workload

GUARD = "approvals.toolvet.dev"
BINDING = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{GUARD}"
NOTICED_SECONDS = 20.0
EXPIRY = timedelta(seconds=3)


@pytest.fixture
def policy(team: Team) -> Iterator[Any]:
    """Sets the rules of the team's namespace."""

    def put(**rules: Any) -> None:
        obj = {
            "apiVersion": "toolvet.dev/v1alpha1",
            "kind": "CatalogPolicy",
            "metadata": {"name": "default"},
            "spec": {"overrides": [{"namespaces": [team.namespace], **rules}]},
        }
        command = ("apply", "--server-side", "-f", "-")
        team.bed.kubectl(*command, input=json.dumps(obj), kubeconfig=team.people.engineer)

    yield put
    team.bed.kubectl(
        "delete", "catalogpolicy", "default", "--ignore-not-found", kubeconfig=team.people.engineer
    )


@pytest.mark.parametrize(
    "agents", [{"all": True}, {"serviceAccountNames": ["loose"]}, {"matchLabels": {"app": AGENT}}], ids=list
)
def test_an_agent_that_nothing_governs_is_refused(team: Team, policy: Any, agents: dict[str, Any]) -> None:
    team.apply(workload(account="loose"))
    policy(agents=agents)
    assert team.refusal(workload(account="loose", name="second")).startswith("binding_missing: ")
    team.publish(tool("read"), name="loose")
    assert team.refusal(workload(account="loose", name="second")).startswith("not_approved: ")


def test_a_delivery_subject_approves_in_vain(team: Team, policy: Any) -> None:
    policy(deliverySubjects=["reviewer"])
    team.publish(tool("read"))
    snapshot = team.toolvet("capture", AGENT, "-n", team.namespace, as_user=team.people.reviewer).stdout
    name = snapshot.strip().rpartition("/")[2]
    team.toolvet("approve", name, "-n", team.namespace, as_user=team.people.reviewer)
    assert "(0 of 1)" in team.refusal(workload())


def test_an_approval_older_than_allowed_has_expired(team: Team, policy: Any) -> None:
    policy(maxApprovalAge="4s")
    team.publish(tool("read"))
    team.review()
    team.apply(workload())
    wait_until(lambda: team.roll().returncode == 1, NOTICED_SECONDS, "the approval does not age")
    assert Team.denial(team.roll()).startswith("approval_expired: ")
    wait_until(
        lambda: team.get("tvinv", AGENT)["status"]["workloads"]["drifted"] == 1,
        NOTICED_SECONDS,
        "the controller does not see the age",
    )


def test_an_approval_ends_by_itself(team: Team) -> None:
    team.publish(tool("read"))
    started = datetime.now(UTC)
    captured = team.toolvet("capture", AGENT, "-n", team.namespace, as_user=team.people.reviewer).stdout
    # A machine that takes so long for one command needs longer than usual for the next two.
    ends = (datetime.now(UTC) + EXPIRY + 4 * (datetime.now(UTC) - started)).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = captured.strip().rpartition("/")[2]
    team.toolvet("approve", name, "-n", team.namespace, "--expires", ends, as_user=team.people.reviewer)
    team.apply(workload())
    wait_until(lambda: team.roll().returncode == 1, NOTICED_SECONDS, "the approval does not end")
    assert Team.denial(team.roll()).startswith("approval_expired: ")


def test_capture_says_which_tools_no_run_can_bind(team: Team) -> None:
    team.publish(tool("read"), tool("sum", side_effect="none"))
    reviewer = team.people.reviewer
    said = team.toolvet("capture", AGENT, "-n", team.namespace, as_user=reviewer).stderr
    assert "note: 1 tools are declared none, which hints never say: no run can bind them\n" in said
    team.publish(tool("read"))
    said = team.toolvet("capture", AGENT, "-n", team.namespace, as_user=reviewer).stderr
    assert "declared none" not in said


def test_a_revocation_cannot_be_deleted_away(team: Team) -> None:
    team.publish(tool("read"))
    snapshot = team.review()
    revoked = team.toolvet(
        "revoke", snapshot, "-n", team.namespace, as_user=team.people.reviewer
    ).stdout.strip()
    deleted = team.kubectl("delete", revoked, as_user=team.people.reviewer, check=False)
    assert deleted.returncode == 1
    assert "revoked: immutable" in deleted.stderr
    again = team.toolvet("approve", snapshot, "-n", team.namespace, as_user=team.people.reviewer, check=False)
    assert (again.returncode, "revoked_before" in again.stderr) == (2, True)
    # A copy made by hand is stored, for it is the approver's own; it does not count beside the revocation.
    copy = team.get(revoked.partition(".")[0], revoked.rpartition("/")[2])
    copy["metadata"] = {"name": f"{snapshot}-copy"}
    copy["spec"]["revoked"] = False
    copy.pop("status", None)
    team.apply(copy, as_user=team.people.reviewer)
    assert team.refusal(workload()).startswith("approval_revoked: ")


def test_a_revocation_cannot_be_lost_with_an_owner(team: Team) -> None:
    """The garbage collector may delete what is revoked; nobody may make it do so."""
    team.publish(tool("read"))
    snapshot = team.review()
    reviewer = team.people.reviewer
    owner = team.get("tvinv", AGENT)
    owners = [
        {name: owner[name] for name in ("apiVersion", "kind")}
        | {name: owner["metadata"][name] for name in ("name", "uid")}
    ]
    revoked = team.toolvet("revoke", snapshot, "-n", team.namespace, as_user=reviewer).stdout.strip()
    patch = json.dumps({"metadata": {"ownerReferences": owners}})
    patched = team.kubectl("patch", revoked, "--type=merge", "--patch", patch, as_user=reviewer, check=False)
    assert (patched.returncode, "owner_references: not_permitted" in patched.stderr) == (1, True)
    copy = team.get(revoked.partition(".")[0], revoked.rpartition("/")[2])
    copy["metadata"] = {"name": f"{snapshot}-copy", "ownerReferences": owners}
    copy.pop("status", None)
    applied = team.apply(copy, as_user=reviewer, check=False)
    assert (applied.returncode, "owner_references: not_permitted" in applied.stderr) == (1, True)


def test_approvals_older_than_the_guard_prove_nothing(team: Team) -> None:
    team.publish(tool("read"))
    snapshot = team.review()
    team.apply(workload())
    binding = team.bed.api("GET", BINDING)
    team.bed.api("DELETE", BINDING)
    try:
        assert Team.denial(team.roll()).startswith("unverified_origin: ")
    finally:
        made = {
            key: binding["metadata"][key]
            for key in ("name", "labels", "annotations")
            if key in binding["metadata"]
        }
        restored = {**binding, "metadata": made}
        team.bed.api("POST", BINDING.rpartition("/")[0], restored)
    assert Team.denial(team.roll()).startswith("unverified_origin: ")
    _wait_for_the_guard(team, snapshot)
    second = time.time() // 1 + 1
    wait_until(lambda: time.time() > second + 1, NOTICED_SECONDS, "time stands still")
    again = team.toolvet("approve", snapshot, "-n", team.namespace, as_user=team.bed.kubeconfig())
    assert again.returncode == 0
    assert team.roll().returncode == 0


def _wait_for_the_guard(team: Team, snapshot: str) -> None:
    """Admission learns of a policy a moment after it is stored: wait until a forged approval is refused."""
    forged = {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "CatalogApproval",
        "metadata": {"name": f"{snapshot}-forged"},
        "spec": {
            "inventoryName": AGENT,
            "snapshotName": snapshot,
            "snapshotDigest": "sha256:" + "0" * 64,
            "catalogDigest": team.get("tvsnap", snapshot)["spec"]["catalogDigest"],
            "approvedBy": "somebody-else",
        },
    }
    command = ("apply", "--server-side", "--dry-run=server", "-f", "-")
    wait_until(
        lambda: (
            team.kubectl(*command, as_user=team.people.reviewer, given=forged, check=False).returncode == 1
        ),
        NOTICED_SECONDS,
        "the guard is not in force",
    )

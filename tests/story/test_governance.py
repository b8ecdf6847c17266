"""DESIGN 4 on the real API server: who is governed, by what, and which changes are judged."""

import json

import pytest

from controlplane.waiting import wait_until
from story.team import AGENT, Team, inventory, tool, workload

KINDS = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Job",
    "CronJob",
    "PodTemplate",
    "Pod",
)
NAME_ANNOTATION = "toolvet.dev/inventory"
PIN_ANNOTATION = "toolvet.dev/snapshot"
TOKEN_SECONDS = 10.0


@pytest.fixture
def reviewed(team: Team) -> Team:
    """A team whose agent's catalog is approved, as is that of another, harmless inventory."""
    for name in (AGENT, "harmless"):
        team.publish(tool(name), name=name)
        team.review(name)
        team.kubectl("create", "serviceaccount", name, as_user=team.people.developer)
    return team


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_refused_until_its_catalog_is_approved(team: Team, kind: str) -> None:
    team.kubectl("create", "serviceaccount", AGENT, as_user=team.people.developer)
    team.publish(tool("read"))
    # As administrator: `edit` does not reach every kind, and no right goes around the gate.
    admin = team.bed.kubeconfig()
    assert team.refusal(workload(kind), as_user=admin).startswith("not_approved: ")
    team.review()
    team.apply(workload(kind), as_user=admin)


@pytest.mark.parametrize("kind", KINDS)
def test_naming_another_approved_inventory_is_refused(reviewed: Team, kind: str) -> None:
    named = workload(kind, annotations={NAME_ANNOTATION: "harmless"})
    text = reviewed.refusal(named, as_user=reviewed.bed.kubeconfig())
    assert text.startswith(f"binding_mismatch: inventory {AGENT}")


def test_the_annotation_left_off_does_not_help(reviewed: Team) -> None:
    reviewed.apply(workload(annotations={NAME_ANNOTATION: AGENT}))
    reviewed.publish(tool("changed"))
    assert reviewed.refusal(workload()).startswith("not_approved: ")


def test_a_service_account_without_inventory_is_governed_by_the_annotation(reviewed: Team) -> None:
    named = workload(account="default", annotations={NAME_ANNOTATION: "harmless"})
    reviewed.apply(named)
    reviewed.publish(tool("changed"), name="harmless")
    named["spec"]["template"]["spec"]["containers"][0]["image"] = "example.org/agent:2"
    assert reviewed.refusal(named).startswith("not_approved: inventory harmless")


def test_a_named_inventory_that_does_not_exist_is_refused(team: Team) -> None:
    missing = workload(account="default", annotations={NAME_ANNOTATION: "nowhere"})
    assert team.refusal(missing).startswith("inventory_missing: inventory nowhere")


@pytest.mark.parametrize("name", ["", "UPPER", "a/../b", "x" * 300])
def test_a_named_inventory_that_is_no_name_is_refused(team: Team, name: str) -> None:
    assert "missing" in team.refusal(workload(account="default", annotations={NAME_ANNOTATION: name}))


@pytest.mark.parametrize("key", [NAME_ANNOTATION, PIN_ANNOTATION])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Pod"])
def test_binding_keys_on_the_workload_itself_are_refused_by_name(reviewed: Team, kind: str, key: str) -> None:
    misplaced = workload(kind)
    misplaced["metadata"]["annotations"] = {key: AGENT}
    text = reviewed.refusal(misplaced, as_user=reviewed.bed.kubeconfig())
    assert text.startswith("binding_misplaced: ")
    assert key in text.splitlines()[0]


def test_what_nothing_governs_passes(team: Team) -> None:
    team.apply(workload(account="default"))


def test_taking_a_binding_away_needs_the_verb_exempt(reviewed: Team) -> None:
    bound = workload(account="default", annotations={NAME_ANNOTATION: "harmless"})
    reviewed.apply(bound)
    free = workload(account="default")
    assert reviewed.refusal(free).startswith("binding_removed: ")
    reviewed.apply(free, as_user=reviewed.people.engineer)


def test_leaving_a_governed_service_account_needs_the_verb_exempt(reviewed: Team) -> None:
    reviewed.apply(workload())
    other = workload(account="default")
    assert reviewed.refusal(other).startswith("binding_removed: ")


def test_a_pin_admits_only_while_it_is_the_live_catalog(team: Team) -> None:
    team.publish(tool("read"))
    first = team.review()
    pinned = workload(annotations={PIN_ANNOTATION: first})
    team.apply(pinned)
    team.publish(tool("read", schema="c"))
    team.review()
    pinned["spec"]["template"]["spec"]["containers"][0]["image"] = "example.org/agent:2"
    assert team.refusal(pinned).startswith("snapshot_outdated: ")


def test_a_dry_run_of_a_whole_commit_is_a_warning_and_the_apply_is_not(team: Team) -> None:
    team.publish(tool("read"))
    pinned = workload(annotations={PIN_ANNOTATION: f"{AGENT}-0123456789abcdef"})
    dry = team.kubectl(
        *("apply", "--server-side", "--dry-run=server", "-f", "-"),
        as_user=team.people.developer,
        given=pinned,
    )
    assert "pending_reference" in dry.stderr
    assert team.refusal(pinned).startswith("snapshot_missing: ")


def test_a_dry_run_without_a_pin_is_refused_like_the_apply(team: Team) -> None:
    team.publish(tool("read"))
    assert team.refusal(workload(), "--dry-run=server") == team.refusal(workload())


def test_waking_from_zero_is_judged_and_scaling_down_is_not(reviewed: Team) -> None:
    developer = reviewed.people.developer
    reviewed.apply(workload())
    reviewed.publish(tool("changed"))
    target = f"deployment/{AGENT}"
    reviewed.kubectl("scale", target, "--replicas=2", as_user=developer)
    reviewed.kubectl("scale", target, "--replicas=0", as_user=developer)
    woken = reviewed.kubectl("scale", target, "--replicas=1", as_user=developer, check=False)
    assert Team.denial(woken).startswith("not_approved: ")
    patch = json.dumps({"spec": {"replicas": 1}})
    patched = reviewed.kubectl("patch", target, "--patch", patch, as_user=developer, check=False)
    assert Team.denial(patched).startswith("not_approved: ")
    reviewed.review()
    reviewed.kubectl("scale", target, "--replicas=1", as_user=developer)


def test_resuming_a_paused_rollout_is_judged(reviewed: Team) -> None:
    developer = reviewed.people.developer
    reviewed.apply(workload())
    reviewed.kubectl("rollout", "pause", f"deployment/{AGENT}", as_user=developer)
    reviewed.publish(tool("changed"))
    resumed = reviewed.kubectl("rollout", "resume", f"deployment/{AGENT}", as_user=developer, check=False)
    assert Team.denial(resumed).startswith("not_approved: ")


def test_an_ephemeral_container_is_judged(reviewed: Team) -> None:
    developer = reviewed.people.developer
    reviewed.apply(workload("Pod"))
    reviewed.publish(tool("changed"))
    container = {"name": "debug", "image": "example.org/debug:1"}
    patch = json.dumps({"spec": {"ephemeralContainers": [container]}})
    added = reviewed.kubectl(
        *("patch", "pod", AGENT, "--subresource", "ephemeralcontainers", "--patch", patch),
        as_user=reviewed.bed.kubeconfig(),
        check=False,
    )
    assert Team.denial(added).startswith("not_approved: ")
    assert developer != reviewed.bed.kubeconfig()


def test_a_pod_with_a_forged_owner_is_judged(reviewed: Team) -> None:
    reviewed.apply(workload())
    owner = reviewed.get("deployment", AGENT)["metadata"]["uid"]
    reviewed.publish(tool("changed"))
    forged = workload("Pod", name="forged")
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": AGENT,
        "uid": owner,
        "controller": True,
    }
    forged["metadata"]["ownerReferences"] = [reference]
    assert reviewed.refusal(forged).startswith("not_approved: ")


def test_what_the_controllers_make_of_an_admitted_workload_passes(reviewed: Team) -> None:
    reviewed.apply(workload())

    def pods() -> list[str]:
        found = reviewed.kubectl("get", "pods", "-o", "name", as_user=reviewed.people.developer)
        return found.stdout.split()

    wait_until(pods, TOKEN_SECONDS, "no Pod was made")
    reviewed.publish(tool("changed"))
    before = pods()
    reviewed.kubectl(
        "delete", *before, "--wait=false", "--grace-period=0", "--force", as_user=reviewed.people.developer
    )
    wait_until(lambda: pods() and pods() != before, TOKEN_SECONDS, "the Pod was not made again")


def test_the_runs_of_a_cron_job_are_judged_each(reviewed: Team) -> None:
    """The CronJob was admitted; what it would run today was not."""
    developer = reviewed.people.developer
    reviewed.apply(workload("CronJob"))
    run = ("create", "job", "run-1", f"--from=cronjob/{AGENT}")
    reviewed.kubectl(*run, as_user=developer)
    reviewed.publish(tool("changed"))
    later = reviewed.kubectl(
        "create", "job", "run-2", f"--from=cronjob/{AGENT}", as_user=developer, check=False
    )
    assert Team.denial(later).startswith("not_approved: ")


def test_a_suspended_job_is_judged_when_it_starts(reviewed: Team) -> None:
    held = workload("Job")
    held["spec"]["suspend"] = True
    reviewed.apply(held)
    reviewed.publish(tool("changed"))
    patch = json.dumps({"spec": {"suspend": False}})
    woken = reviewed.kubectl(
        "patch", f"job/{AGENT}", "--patch", patch, as_user=reviewed.people.developer, check=False
    )
    assert Team.denial(woken).startswith("not_approved: ")


def test_quorum_counts_distinct_approvers(team: Team) -> None:
    policy = {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "CatalogPolicy",
        "metadata": {"name": "default"},
        "spec": {"overrides": [{"namespaces": [team.namespace], "requiredApprovals": 2}]},
    }
    team.bed.kubectl(
        "apply", "--server-side", "-f", "-", input=json.dumps(policy), kubeconfig=team.people.engineer
    )
    try:
        team.publish(tool("read"))
        snapshot = team.review()
        assert "(1 of 2)" in team.refusal(workload())
        again = team.toolvet("approve", snapshot, "-n", team.namespace, as_user=team.people.reviewer)
        assert "already approved" in again.stderr
        assert "(1 of 2)" in team.refusal(workload())
        team.toolvet("approve", snapshot, "-n", team.namespace, as_user=team.bed.kubeconfig())
        team.apply(workload())
    finally:
        team.bed.kubectl("delete", "catalogpolicy", "default", kubeconfig=team.people.engineer)


def test_a_revoked_approval_stops_the_next_rollout(team: Team) -> None:
    team.publish(tool("read"))
    snapshot = team.review()
    team.apply(workload())
    team.toolvet("revoke", snapshot, "-n", team.namespace, as_user=team.people.reviewer)
    restart = ("rollout", "restart", f"deployment/{AGENT}")
    done = team.kubectl(*restart, as_user=team.people.developer, check=False)
    assert Team.denial(done).startswith("approval_revoked: ")


def test_an_inventory_may_not_be_named_default(team: Team) -> None:
    refused = team.apply(inventory(tool("read"), name="default"), as_user=team.people.producer, check=False)
    assert refused.returncode == 1

"""The statuses that follow from a state, without a cluster."""

from datetime import UTC, datetime, timedelta

import pytest

from controller.objects import (
    AGENT,
    approval,
    binding,
    catalog,
    deployment,
    digest,
    inventory,
    policy,
    snapshot,
)
from controller.observations import LIVE, NOW, OTHER, approval_from_object, conditions, only, put, state
from toolvet.controller.conditions import differs
from toolvet.controller.desired import desired, policy_status
from toolvet.controller.observed import Observed, governs, stored
from toolvet.core.decision import Unknown
from toolvet.core.policy import Policy, PolicySet, ReviewOn
from toolvet.core.workload import Workload
from toolvet.kube.resources import catalog_from_inventory, policies_from_object, snapshot_from_object


def test_an_approved_live_catalog():
    wanted = desired(state(workloads=[deployment()]), NOW)
    assert conditions(wanted.inventory) == {"Approved": ("True", "approved")}
    assert wanted.inventory["workloads"] == {"governed": 1, "eligible": 1, "drifted": 0}
    assert wanted.inventory["lastApproved"]["differenceCount"] == 0
    assert "lastChange" not in wanted.inventory
    taken = only(wanted.snapshots)
    assert conditions(taken) == {"Approved": ("True", "approved"), "Eligible": ("True", "eligible")}
    assert (taken["eligibility"], taken["previewValid"], taken["resumeEligible"]) == ("eligible", True, True)
    assert (taken["reasons"], taken["differences"]) == ([], [])
    assert conditions(only(wanted.approvals)) == {"Valid": ("True", "valid")}


def test_the_same_state_later_wants_the_same():
    first = desired(state(), NOW)
    later = desired(state(status=first.inventory), NOW + timedelta(days=3))
    assert later.inventory == first.inventory
    assert not differs(first.inventory, later.inventory)


def test_a_transition_has_its_own_time():
    first = desired(state(), NOW)
    later = desired(state(approvals=[], status=first.inventory), NOW + timedelta(days=3))
    assert later.inventory["conditions"][0]["lastTransitionTime"] == "2030-01-04T12:00:00Z"


@pytest.mark.parametrize(
    ("stored_status", "expected"),
    [
        ({"a": 1, "conditions": []}, False),
        ({"a": 2, "conditions": []}, True),
        ({"a": 1, "b": 1, "conditions": []}, True),
        ({"a": 1}, False),
        ({"a": 1, "conditions": [{"type": "Foreign", "status": "True"}]}, False),
        ({"a": 1, "conditions": [{"type": "Stalled", "status": "True"}]}, True),
    ],
)
def test_what_is_worth_a_write(stored_status, expected):
    assert differs(stored_status, {"a": 1, "conditions": []}) is expected


def test_a_changed_catalog_is_reviewed_again():
    wanted = desired(state(OTHER, workloads=[deployment()]), NOW)
    assert conditions(wanted.inventory) == {"Approved": ("False", "not_approved")}
    assert wanted.inventory["workloads"]["drifted"] == 1
    assert wanted.inventory["lastApproved"]["differences"] == [
        {"toolId": "tool:org.example/read", "version": "1.0.0", "codes": ["schema_changed"]}
    ]
    taken = only(wanted.snapshots)
    assert conditions(taken) == {"Approved": ("True", "approved"), "Eligible": ("False", "snapshot_outdated")}
    assert (taken["eligibility"], taken["reasons"]) == ("re-review-required", ["schema_changed"])


def test_last_approved_prefers_the_live_catalog_and_then_the_latest_approval():
    third = catalog(binding("third"))
    found = state(third, snapshots=(LIVE, OTHER))
    given = [
        put(approval(put(snapshot(LIVE)), name="late"), created="2029-06-01T00:00:00Z"),
        put(approval(put(snapshot(OTHER)), name="early"), created="2029-05-01T00:00:00Z"),
    ]
    approvals = [stored(item, approval_from_object) for item in given]
    found = Observed("team", AGENT, found.inventory, found.snapshots, approvals)
    assert desired(found, NOW).inventory["lastApproved"]["catalogDigest"] == LIVE.digest
    inventory_of_other = stored(put(inventory(OTHER)), catalog_from_inventory)
    found = Observed("team", AGENT, inventory_of_other, found.snapshots, approvals)
    assert desired(found, NOW).inventory["lastApproved"]["catalogDigest"] == OTHER.digest


def test_differences_are_cut_and_counted():
    many = catalog(*(binding(f"t{number}") for number in range(40)))
    wanted = desired(state(many, snapshots=(catalog(),)), NOW)
    taken = only(wanted.snapshots)
    assert (taken["differenceCount"], len(taken["differences"])) == (40, 32)
    assert wanted.inventory["lastApproved"]["differenceCount"] == 40


@pytest.mark.parametrize(
    ("snapshots", "reasons"), [((LIVE,), ["tool_unavailable"]), ((catalog(),), ["inventory_missing"])]
)
def test_a_missing_inventory_leaves_nothing_eligible(snapshots, reasons):
    wanted = desired(state(None, snapshots=snapshots), NOW)
    assert wanted.inventory is None
    taken = only(wanted.snapshots)
    assert (taken["eligibility"], taken["reasons"]) == ("re-review-required", reasons)
    assert conditions(taken) == {"Approved": ("True", "approved"), "Eligible": ("False", "inventory_missing")}


def test_approvals_that_do_not_count_say_why():
    taken = put(snapshot(LIVE))
    other = put(snapshot(OTHER))
    past, future = "2029-12-31T00:00:00Z", "2030-01-01T13:00:00Z"
    changed = approval(taken, name="mismatch")
    changed["spec"]["snapshotDigest"] = digest("e")
    given = [
        approval(taken, "a", name="expired", expires_at=past),
        approval(taken, "b", name="revoked", revoked=True),
        approval(taken, "b", name="sibling"),
        changed,
        approval(other, name="dangling"),
        approval(taken, "c", name="good", expires_at=future),
    ]
    wanted = desired(state(approvals=given), NOW)
    assert {name: conditions(status)["Valid"] for name, status in wanted.approvals.items()} == {
        "expired": ("False", "expired"),
        "revoked": ("False", "revoked"),
        # Not counted: its approver took another one back.
        "sibling": ("False", "revoked"),
        "mismatch": ("False", "mismatch"),
        "dangling": ("False", "snapshot_missing"),
        "good": ("True", "valid"),
    }
    assert only(wanted.snapshots)["approvals"] == {"required": 1, "valid": 1}
    assert wanted.next_expiry == datetime(2030, 1, 1, 13, tzinfo=UTC)


def test_an_approval_counts_until_its_end_and_not_at_it():
    given = [approval(put(snapshot(LIVE)), expires_at="2030-01-01T12:00:00Z")]
    before = desired(state(approvals=given), NOW - timedelta(microseconds=1))
    assert (conditions(before.inventory)["Approved"], before.next_expiry) == (("True", "approved"), NOW)
    at = desired(state(approvals=given), NOW)
    assert conditions(at.inventory)["Approved"] == ("False", "approval_expired")
    assert at.next_expiry is None


def test_a_quorum_of_distinct_approvers():
    taken = put(snapshot(LIVE))
    two = {"policies": PolicySet(Policy(2))}
    same = [approval(taken, "a", name="1"), approval(taken, "a", name="2")]
    assert conditions(desired(state(approvals=same, **two), NOW).inventory)["Approved"][0] == "False"
    both = [approval(taken, "a", name="1"), approval(taken, "b", name="2")]
    assert conditions(desired(state(approvals=both, **two), NOW).inventory)["Approved"][0] == "True"


def test_what_cannot_be_understood_has_a_code_and_no_value():
    broken = inventory(LIVE)
    broken["spec"]["tools"][0]["version"] = "SECRET"
    found = stored(put(broken), catalog_from_inventory)
    whole = state(workloads=[deployment()])
    wanted = desired(
        Observed("team", AGENT, found, whole.snapshots, whole.approvals, workloads=whole.workloads), NOW
    )
    assert conditions(wanted.inventory) == {
        "Approved": ("False", "state_invalid"),
        "Stalled": ("True", "state_invalid"),
    }
    assert {item["message"] for item in wanted.inventory["conditions"]} == {
        "spec.tools[0].version: invalid_semver"
    }
    assert wanted.inventory["workloads"] == {"governed": 1, "eligible": 0, "drifted": 1}
    assert conditions(only(wanted.snapshots))["Eligible"] == ("False", "state_invalid")
    assert only(wanted.snapshots)["reasons"] == ["state_invalid"]
    assert "SECRET" not in str(wanted)[: str(wanted).index("workloads=")]


def test_a_broken_snapshot_a_broken_approval_and_an_unreadable_policy():
    broken = put(snapshot(OTHER))
    broken["spec"]["bindings"] = "SECRET"
    half = put(approval(put(snapshot(LIVE)), name="half"))
    half["spec"]["expiresAt"] = "SECRET"
    good = state()
    found = Observed(
        "team",
        AGENT,
        good.inventory,
        [*good.snapshots, stored(broken, snapshot_from_object)],
        [*good.approvals, stored(half, approval_from_object)],
    )
    wanted = desired(found, NOW)
    assert conditions(wanted.snapshots[broken["metadata"]["name"]])["Stalled"] == ("True", "state_invalid")
    assert conditions(wanted.approvals["half"])["Valid"] == ("False", "state_invalid")
    # As the gate: one approval of a snapshot that cannot be read, and nothing is known of them all.
    assert conditions(wanted.inventory)["Approved"] == ("False", "state_invalid")
    wanted = desired(state(policies=Unknown.INVALID), NOW)
    assert conditions(wanted.inventory)["Approved"] == ("False", "state_invalid")
    assert "approvals" not in only(wanted.snapshots)


def test_a_snapshot_that_claims_another_digest_is_not_approved():
    forged = put(snapshot(LIVE))
    forged["spec"]["bindings"] = put(snapshot(OTHER))["spec"]["bindings"]
    found = stored(forged, snapshot_from_object)
    wanted = desired(Observed("team", AGENT, state(OTHER).inventory, [found], state().approvals), NOW)
    shown = conditions(only(wanted.snapshots))
    assert shown["Stalled"] == ("True", "state_invalid")
    assert (shown["Approved"][0], shown["Eligible"][0]) == ("False", "False")
    assert "lastApproved" not in wanted.inventory


def test_pinned_mismatched_and_misplaced_workloads():
    misplaced = deployment("misplaced")
    misplaced["metadata"]["annotations"] = {"toolvet.dev/inventory": AGENT}
    found = state(
        workloads=[
            deployment("pinned", snapshot=snapshot(LIVE)["metadata"]["name"]),
            deployment("old", snapshot=snapshot(OTHER)["metadata"]["name"]),
            deployment("gone", snapshot=f"{AGENT}-{'0' * 16}"),
            deployment("other", inventory="other"),
            misplaced,
        ],
        snapshots=(LIVE, OTHER),
    )
    reasons = {item.workload.name: item.decision.reason for item in desired(found, NOW).workloads}
    assert reasons == {
        "pinned": None,
        "old": "snapshot_outdated",
        "gone": "snapshot_missing",
        "other": "binding_mismatch",
        "misplaced": "binding_misplaced",
    }


@pytest.mark.parametrize(
    ("account", "annotated", "others", "expected"),
    [
        (AGENT, None, {}, True),
        (AGENT, "other", {}, True),
        ("bot", AGENT, {"bot": None}, True),
        ("bot", AGENT, {"bot": {"an": "inventory"}}, False),
        ("bot", None, {}, False),
    ],
)
def test_who_governs(account, annotated, others, expected):
    assert governs(AGENT, Workload("", "", account, annotated, None, (), None), others) is expected


def test_the_policy_is_ready_or_says_why():
    assert conditions(policy_status(stored(put(policy(2)), policies_from_object), NOW))["Ready"][0] == "True"
    broken = policy_status(stored(put(policy(99)), policies_from_object), NOW)
    assert conditions(broken)["Ready"] == ("False", "state_invalid")
    assert "99" not in str(broken["conditions"])


REWORDED = catalog(binding("read", implementation="c"), binding("search"))
MATERIAL = PolicySet(Policy(review_on=ReviewOn.MATERIAL_CHANGE))


def called_minor(policies=MATERIAL, **settings) -> Observed:
    """A live catalog that the collector calls a minor change of the one approved before."""
    found = state(REWORDED, policies=policies, **settings)
    obj = put(inventory(REWORDED))
    obj["spec"]["minorChangeOf"] = [LIVE.digest]
    return Observed(**{**found.__dict__, "inventory": stored(obj, catalog_from_inventory)})


def test_a_minor_change_leaves_nothing_to_review_where_the_policy_says_so():
    pin = snapshot(LIVE)["metadata"]["name"]
    workloads = [deployment(), deployment("pinned", snapshot=pin)]
    wanted = desired(called_minor(workloads=workloads), NOW)
    assert conditions(wanted.inventory) == {"Approved": ("True", "minor_change")}
    (approved,) = wanted.inventory["conditions"]
    assert approved["message"].startswith(f"1 of 1 approvals of {pin}: ")
    assert wanted.inventory["workloads"] == {"governed": 2, "eligible": 2, "drifted": 0}
    taken = only(wanted.snapshots)
    assert conditions(taken) == {"Approved": ("True", "approved"), "Eligible": ("True", "minor_change")}
    # The contract's own fields know equality alone.
    assert (taken["eligibility"], taken["reasons"]) == ("re-review-required", ["implementation_changed"])


def test_by_default_a_minor_change_is_any_change():
    exact = called_minor(policies=PolicySet(), workloads=[deployment()])
    plain = state(REWORDED, workloads=[deployment()])
    assert desired(exact, NOW).inventory == desired(plain, NOW).inventory
    assert desired(exact, NOW).snapshots == desired(plain, NOW).snapshots
    assert conditions(desired(called_minor(approvals=[]), NOW).inventory) == {
        "Approved": ("False", "not_approved")
    }

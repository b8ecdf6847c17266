"""The statuses and Events that follow from a state, without a cluster."""

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
from toolvet.controller.change import Change
from toolvet.controller.conditions import differs
from toolvet.controller.desired import desired, policy_status
from toolvet.controller.events import MAX_WORKLOADS, events
from toolvet.controller.history import (
    MAX_BYTES,
    MAX_REVISIONS,
    newest_before,
    revision,
    revision_name,
    superfluous,
)
from toolvet.controller.observed import Observed, Previous, governs, stored
from toolvet.core.decision import Unknown
from toolvet.core.errors import ContractError
from toolvet.core.policy import Policy, PolicySet
from toolvet.core.workload import Workload
from toolvet.kube.kinds import KINDS, workload
from toolvet.kube.resources import (
    approval_from_object as approval_guarded_since,
)
from toolvet.kube.resources import (
    catalog_from_inventory,
    policies_from_object,
    snapshot_from_object,
)
from toolvet.kube.revisions import pack, unpack

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
LIVE = catalog(binding("read"), binding("search"))
OTHER = catalog(binding("read", schema="c"), binding("search"))


def approval_from_object(obj):
    """Read an approval made under the policy that checks approvers."""
    return approval_guarded_since(obj, datetime(2020, 1, 1, tzinfo=UTC))


def put(obj, *, uid="uid-of-it", generation=1, status=None, created="2029-01-01T00:00:00Z"):
    """Give an object what the API server gives it."""
    fixed = {"uid": uid, "generation": generation, "resourceVersion": "1", "creationTimestamp": created}
    metadata = {"namespace": "team", **obj["metadata"], **fixed}
    return {**obj, "metadata": metadata, "status": status or {}}


def state(
    live=LIVE, *, snapshots=(LIVE,), approvals=None, workloads=(), status=None, generation=1, **settings
) -> Observed:
    taken = [put(snapshot(found)) for found in snapshots]
    given = (
        [approval(item, name=f"yes-{i}") for i, item in enumerate(taken)] if approvals is None else approvals
    )
    found = None
    if live is not None:
        found = stored(put(inventory(live), generation=generation, status=status), catalog_from_inventory)
    return Observed(
        namespace="team",
        name=AGENT,
        inventory=found,
        snapshots=[stored(item, snapshot_from_object) for item in taken],
        approvals=[stored(put(item, uid=f"uid-{i}"), approval_from_object) for i, item in enumerate(given)],
        workloads=[
            stored(put(item, uid=f"w-{i}"), lambda obj: workload(KINDS[0], obj))
            for i, item in enumerate(workloads)
        ],
        **settings,
    )


def conditions(status):
    return {item["type"]: (item["status"], item["reason"]) for item in status["conditions"]}


def only(statuses):
    (status,) = statuses.values()
    return status


def settled(found: Observed, **more) -> Observed:
    """Return the same state once a pass has written what it wanted."""
    status = desired(found, NOW - timedelta(hours=1)).inventory
    return state(status=status, **more)


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


# -- what changed --------------------------------------------------------------------------------------


def observed_before(generation=1, found=OTHER):
    return desired(state(found, generation=generation), NOW - timedelta(hours=1)).inventory


def test_a_new_generation_is_compared_with_the_one_seen_before():
    found = state(LIVE, generation=4, status=observed_before(), previous=Previous(1, OTHER))
    change = desired(found, NOW).inventory["lastChange"]
    assert (change["observedGeneration"], change["previousGeneration"]) == (4, 1)
    assert (change["changed"], change["unchanged"], change["time"]) == (1, 1, "2030-01-01T12:00:00Z")
    assert change["entries"][0]["fields"] == ["schema_digest"]


def test_without_history_the_gap_is_shown_and_no_count_is_invented():
    change = desired(state(LIVE, generation=4, status=observed_before()), NOW).inventory["lastChange"]
    assert (change["previousGeneration"], change["previousCatalogDigest"]) == (1, OTHER.digest)
    assert not {"added", "removed", "changed", "unchanged", "entries"} & change.keys()


def test_an_equal_catalog_is_no_change_and_the_last_one_stays():
    changed = desired(
        state(LIVE, generation=2, status=observed_before(), previous=Previous(1, OTHER)), NOW
    ).inventory
    later = state(LIVE, generation=3, status=changed, previous=Previous(2, LIVE))
    wanted = desired(later, NOW + timedelta(hours=1))
    assert wanted.change is None
    assert wanted.inventory["lastChange"] == changed["lastChange"]


def test_the_first_sight_is_a_baseline():
    assert desired(state(), NOW).change is None


def test_history_packs_and_bounds():
    big = catalog(*(binding(f"tool-{n}", schema=n + 1, implementation=n + 9) for n in range(1000)))
    packed = pack(big)
    assert unpack(packed).digest == big.digest
    assert len(packed["tools"]) < MAX_BYTES / 2
    for damaged in (
        None,
        {},
        {"encoding": "x"},
        {**packed, "tools": "?"},
        {**packed, "tools": packed["tools"][:400]},
    ):
        with pytest.raises(ContractError, match=r"^data: unreadable$"):
            unpack(damaged)
    found = stored(put(inventory(LIVE), generation=7), catalog_from_inventory)
    whole = revision(found, LIVE)
    assert whole["metadata"]["ownerReferences"][0]["uid"] == "uid-of-it"
    assert whole["metadata"]["name"] == f"{AGENT}-uid-of-i-7"
    assert len(revision_name("a" * 236, "12345678-x", 2**62)) <= 253

    def kept(generation, data):
        return {"metadata": {"name": f"r-{generation}"}, "revision": generation, "data": data}

    small = pack(LIVE)
    assert superfluous([kept(n, small) for n in range(1, 13)]) == ["r-2", "r-1"]
    assert MAX_REVISIONS == 10
    huge = {"tools": "x" * (MAX_BYTES // 2 + 1)}
    assert superfluous([kept(1, huge), kept(2, huge)]) == ["r-1"]
    assert superfluous([kept(1, {"tools": "x" * (MAX_BYTES + 1)})]) == []  # the newest is always kept
    revisions = [kept(1, small), kept(3, pack(OTHER)), kept(2, {"broken": 1}), kept(5, small)]
    assert newest_before(revisions, 5) == Previous(3, OTHER)
    assert newest_before(revisions, 3) == Previous(1, LIVE)  # 2 cannot be read
    assert newest_before(revisions, 1) is None


# -- Events --------------------------------------------------------------------------------------------


def owed(found: Observed, now=NOW):
    return events(found, desired(found, now), now, "instance")


def test_nothing_changed_nothing_owed():
    found = state(workloads=[deployment()])
    again = settled(found, workloads=[deployment()])
    assert owed(again) == []
    # A workload more that is not eligible is no change of the catalog.
    pinned = [deployment(), deployment("other", snapshot=f"{AGENT}-{'0' * 16}")]
    assert owed(settled(found, workloads=pinned)) == []


def test_a_change_is_told_to_the_inventory_and_its_drifted_workloads():
    found = state(
        OTHER,
        generation=2,
        status=observed_before(1, LIVE),
        previous=Previous(1, LIVE),
        workloads=[deployment()],
    )
    first, second = owed(found)
    assert (first["reason"], first["type"], first["regarding"]["kind"]) == (
        "CatalogChanged",
        "Warning",
        "ToolInventory",
    )
    assert "since generation 1: 0 added, 0 removed, 1 changed" in first["note"]
    assert "tool:org.example/read 1.0.0: schema_changed" in first["note"]
    assert (second["reason"], second["type"], second["regarding"]["uid"]) == (
        "CatalogDrifted",
        "Warning",
        "w-0",
    )
    assert second["note"].startswith("not_approved: inventory assistant, live catalog ")
    assert second["note"].endswith("review: kubectl toolvet capture assistant -n team")
    # The same occasion, judged again a moment later, has the same names; the next one has others.
    assert [item["metadata"]["name"] for item in owed(found, NOW + timedelta(seconds=9))] == [
        first["metadata"]["name"],
        second["metadata"]["name"],
    ]
    later = state(
        OTHER,
        generation=4,
        status=observed_before(3, LIVE),
        previous=Previous(3, LIVE),
        workloads=[deployment()],
    )
    assert not {item["metadata"]["name"] for item in owed(later)} & {
        first["metadata"]["name"],
        second["metadata"]["name"],
    }


def test_an_approval_makes_drifted_workloads_eligible_again():
    before = state(approvals=[], workloads=[deployment()])
    found = settled(before, workloads=[deployment()])
    (event,) = owed(found)
    assert (event["reason"], event["type"]) == ("CatalogEligible", "Normal")
    assert snapshot(LIVE)["metadata"]["name"] in event["note"]
    # Who was never drifted hears nothing.
    assert owed(settled(state(approvals=[]), workloads=[deployment()])) == []


def test_an_approval_that_goes_twice_is_told_twice():
    """Within one generation, with the same approvals left each time: none."""
    names = set()
    for hour in range(2):
        before = desired(state(workloads=[deployment()]), NOW + timedelta(hours=hour)).inventory
        (event,) = owed(
            state(approvals=[], status=before, workloads=[deployment()]), NOW + timedelta(hours=hour)
        )
        assert event["reason"] == "CatalogDrifted"
        names.add(event["metadata"]["name"])
    assert len(names) == 2


def test_at_most_fifty_workloads_and_one_with_counts():
    many = [deployment(f"agent-{number}") for number in range(MAX_WORKLOADS + 7)]
    found = settled(state(workloads=many), approvals=[], workloads=many)
    told = owed(found)
    assert len(told) == MAX_WORKLOADS + 1
    assert told[-1]["regarding"]["kind"] == "ToolInventory"
    assert "7 more workloads" in told[-1]["note"]


def test_the_longest_names_fit():
    long = "a" * 236
    domain = ".".join(["d" * 61] * 4)
    tools = [binding("t" + "x" * 60 + str(n), domain=domain) for n in range(5)]
    obj = put(inventory(catalog(*tools), name=long))
    obj["metadata"]["namespace"] = "n" * 63
    found = Observed(
        "n" * 63,
        long,
        stored(obj, catalog_from_inventory),
        [stored(put(snapshot(LIVE, name=long)), snapshot_from_object)],
        [stored(put(approval(put(snapshot(LIVE, name=long)))), approval_from_object)],
        workloads=[stored(put(deployment("d" * 253, account=long)), lambda item: workload(KINDS[0], item))],
        previous=Previous(1, LIVE),
    )
    found = Observed(
        **{
            **found.__dict__,
            "inventory": stored({**obj, "status": {"observedGeneration": 0}}, catalog_from_inventory),
        }
    )
    told = owed(found)
    assert [item["reason"] for item in told] == ["CatalogChanged", "CatalogDrifted"]
    for event in told:
        assert len(event["note"].encode()) <= 1024  # the API server's own bound
        assert len(event["metadata"]["name"]) <= 253
    assert told[1]["note"].endswith(f"-n {'n' * 63}")


def test_a_change_whose_past_is_unknown_says_so():
    change = Change(4, 1, LIVE.digest, OTHER.digest, None, 2)
    assert "added" not in change.to_status("t")
    found = state(LIVE, generation=4, status=observed_before())
    assert "not known any more" in owed(found)[0]["note"]

"""The Events a state owes: to whom, how often, and that they fit."""

from datetime import timedelta

from controller.objects import AGENT, approval, binding, catalog, deployment, inventory, snapshot
from controller.observations import (
    LIVE,
    NOW,
    OTHER,
    approval_from_object,
    observed_before,
    put,
    settled,
    state,
)
from toolvet.controller.change import Change
from toolvet.controller.desired import desired
from toolvet.controller.events import MAX_WORKLOADS, events
from toolvet.controller.observed import Observed, Previous, stored
from toolvet.core.policy import Policy, PolicySet, ReviewOn
from toolvet.kube.kinds import KINDS, workload
from toolvet.kube.resources import catalog_from_inventory, snapshot_from_object


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


def test_a_minor_change_is_told_and_leaves_nobody_drifted():
    now = catalog(binding("read", implementation="c"), binding("search"))
    obj = put(inventory(now), generation=2, status=observed_before(1, LIVE))
    obj["spec"]["minorChangeOf"] = [LIVE.digest]
    before = state(LIVE, previous=Previous(1, LIVE), workloads=[deployment()])
    material = PolicySet(Policy(review_on=ReviewOn.MATERIAL_CHANGE))
    changed = {"inventory": stored(obj, catalog_from_inventory), "policies": material}
    (told,) = owed(Observed(**{**before.__dict__, **changed}))
    assert (told["reason"], told["type"]) == ("CatalogChanged", "Normal")
    assert told["note"].splitlines()[0].endswith(": minor_change")
    assert "tool:org.example/read 1.0.0: implementation_changed" in told["note"]

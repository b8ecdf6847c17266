"""An inventory whose source was not looked at for too long: what its statuses say, and when they say it."""

from datetime import timedelta

import pytest

from controller.objects import catalog, deployment, inventory
from controller.observations import LIVE, NOW, OTHER, conditions, only, put, state
from toolvet.controller.desired import desired
from toolvet.controller.events import events
from toolvet.controller.observed import stored
from toolvet.kube.resources import catalog_from_inventory

SECOND = timedelta(seconds=1)
EXPIRED = ("Unknown", "observation_expired")


def observed(until, found=LIVE, **more):
    annotations = {"toolvet.dev/source": "files"}
    if until is not None:
        annotations["toolvet.dev/observed-until"] = until if isinstance(until, str) else until.isoformat()
    obj = inventory(found)
    obj["metadata"]["annotations"] = annotations
    before = state(**more)
    status = more.get("status")
    object.__setattr__(before, "inventory", stored(put(obj, status=status), catalog_from_inventory))
    return before


def test_what_still_counts_is_judged_as_ever_and_again_at_its_end() -> None:
    wanted = desired(observed(NOW + SECOND), NOW)
    plain = desired(state(), NOW)
    assert (wanted.inventory, wanted.snapshots) == (plain.inventory, plain.snapshots)
    assert (wanted.next_expiry, plain.next_expiry) == (NOW + SECOND, None)


@pytest.mark.parametrize("until", [NOW, NOW - SECOND, None, "soon", ""])
def test_an_end_that_passed_or_says_nothing_makes_all_of_it_unknown(until) -> None:
    wanted = desired(observed(until, workloads=[deployment()]), NOW)
    assert conditions(wanted.inventory) == {"Approved": EXPIRED}
    assert wanted.inventory["workloads"] == {"governed": 1, "eligible": 0, "drifted": 1}
    assert wanted.inventory["catalogDigest"] == LIVE.digest, "what was seen last is still told"
    taken = only(wanted.snapshots)
    assert conditions(taken) == {"Approved": ("True", "approved"), "Eligible": EXPIRED}
    assert (taken["eligibility"], taken["reasons"]) == ("unknown", ["observation_expired"])
    assert not taken["previewValid"]
    assert not taken["resumeEligible"]
    assert wanted.next_expiry is None


def test_unknown_clears_no_difference() -> None:
    taken = only(desired(observed(NOW, OTHER), NOW).snapshots)
    assert taken["eligibility"] == "re-review-required"
    assert taken["reasons"] == ["observation_expired", "schema_changed"]
    assert conditions(taken)["Eligible"] == ("False", "snapshot_outdated")
    empty = only(desired(observed(NOW, catalog()), NOW).snapshots)
    assert "tool_unavailable" in empty["reasons"]


def test_the_event_of_a_workload_asks_for_no_review() -> None:
    before = desired(observed(NOW + SECOND), NOW).inventory
    late = observed(NOW + SECOND, workloads=[deployment()], status=before)
    now = NOW + SECOND
    (event,) = events(late, desired(late, now), now, "controller-1")
    assert event["note"].startswith("observation_expired: inventory assistant")
    assert "review:" not in event["note"]

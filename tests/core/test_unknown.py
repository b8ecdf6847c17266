"""Nothing unknown and nothing unread admits."""

import pytest

from core.build import workload
from core.situation import BOUND_BY_ANNOTATION, REVIEWED, UNBOUND, judged
from toolvet.core.decision import Unknown, Verdict
from toolvet.core.reasons import Reason


@pytest.mark.parametrize("unknown", list(Unknown))
@pytest.mark.parametrize("pin", [None, REVIEWED.name])
@pytest.mark.parametrize("place", ["policies", "live", "snapshots", "approvals"])
def test_unknown_is_never_permission(unknown, pin, place) -> None:
    value = {"live": {"assistant": unknown}, "snapshots": {REVIEWED.name: unknown}}.get(place, unknown)
    decision = judged(workload(snapshot=pin), **{place: value})
    assert decision.verdict is Verdict.DENIED
    assert decision.reason is unknown.reason
    assert not decision.pending


@pytest.mark.parametrize("unknown", list(Unknown))
def test_unknown_inventories_of_the_annotation_and_of_the_old_object_are_not_permission(unknown) -> None:
    annotated = judged(BOUND_BY_ANNOTATION, live={"web": None, "assistant": unknown})
    assert annotated.reason is unknown.reason
    left = judged(UNBOUND, old=workload("assistant"), live={"web": None, "assistant": unknown})
    assert left.reason is unknown.reason


@pytest.mark.parametrize("given", [{"live": {}}, {"snapshots": {}}])
def test_what_was_not_read_is_unavailable(given) -> None:
    assert judged(**given).reason is Reason.STATE_UNAVAILABLE


def test_an_unread_inventory_of_the_annotation_or_of_the_old_object_is_unavailable() -> None:
    assert judged(BOUND_BY_ANNOTATION, live={"web": None}).reason is Reason.STATE_UNAVAILABLE
    left = judged(UNBOUND, old=workload("assistant"), live={"web": None})
    assert left.reason is Reason.STATE_UNAVAILABLE

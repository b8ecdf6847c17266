"""A workload pinned to a snapshot: what may still arrive is pending, and what is outdated is refused."""

import pytest

from core.build import approval, snapshot, workload
from core.situation import ALICE, CHANGED, LIVE, REVIEWED, judged
from toolvet.core.decision import Unknown
from toolvet.core.differences import ToolDifference
from toolvet.core.reasons import Reason


def test_a_pin_of_the_live_catalog_is_allowed() -> None:
    decision = judged(workload(snapshot=REVIEWED.name))
    assert decision.allowed
    assert not decision.pending


PINNED = workload(snapshot=REVIEWED.name)
OUTDATED = {"live": {"assistant": CHANGED}}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"snapshots": {REVIEWED.name: None}}, Reason.SNAPSHOT_MISSING),
        (OUTDATED, Reason.SNAPSHOT_OUTDATED),
        ({"approvals": ()}, Reason.NOT_APPROVED),
    ],
)
def test_a_pin_that_may_still_arrive_is_pending(given, reason) -> None:
    decision = judged(PINNED, **given)
    assert not decision.allowed
    assert (decision.reason, decision.pending) == (reason, True)


@pytest.mark.parametrize("given", [{"snapshots": {}}, {"approvals": Unknown.UNAVAILABLE}, {"live": {}}])
def test_an_unknown_pin_is_not_pending(given) -> None:
    decision = judged(PINNED, **given)
    assert (decision.reason, decision.pending) == (Reason.STATE_UNAVAILABLE, False)


def test_without_a_pin_nothing_is_pending() -> None:
    for given in ({"snapshots": {REVIEWED.name: None}}, {"approvals": ()}):
        decision = judged(**given)
        assert (decision.reason, decision.pending) == (Reason.NOT_APPROVED, False)


def test_a_pin_of_another_inventory_is_a_mismatch() -> None:
    foreign = snapshot("other", LIVE)
    decision = judged(
        workload(snapshot=foreign.name),
        snapshots={foreign.name: foreign},
        approvals=(approval(foreign),),
    )
    assert decision.reason is Reason.BINDING_MISMATCH
    assert not decision.pending


def test_an_outdated_pin_is_refused_even_where_the_live_catalog_is_approved() -> None:
    current = snapshot("assistant", CHANGED)
    decision = judged(
        PINNED,
        live={"assistant": CHANGED},
        snapshots={REVIEWED.name: REVIEWED, current.name: current},
        approvals=(ALICE, approval(current)),
    )
    assert decision.reason is Reason.SNAPSHOT_OUTDATED
    assert decision.baseline == REVIEWED.name
    assert decision.differences == (
        ToolDifference("tool:org.example/search", "1.0.0", (Reason.SCHEMA_CHANGED,)),
    )

"""No answer is believed blindly: one that fails or is strange denies, and a status only describes."""

from typing import Any

import pytest

from core.build import workload
from kube.scripted import (
    ANNOTATED,
    BEFORE,
    EARLIER,
    FREE,
    GUARD,
    GUARD_BINDING,
    INVENTORY,
    PINNED,
    POLICY,
    SNAPSHOT,
    WANTED,
    approval,
    inventory,
    judged,
    server,
    snapshot,
)
from toolvet.core.reasons import Reason
from toolvet.kube.client import ApiError
from toolvet.kube.names import APPROVAL_GUARD

UNAVAILABLE = [
    ApiError(0, "Timeout"),
    ApiError(429, "TooManyRequests"),
    ApiError(500, "x"),
    ApiError(403, "x"),
]
STRANGE: list[Any] = [{}, {"spec": None}, {"spec": []}, {"spec": "x"}, {"metadata": [], "spec": {"x": 1}}, []]
PLACES = [
    (POLICY, "default"),
    (INVENTORY, "assistant"),
    (SNAPSHOT, WANTED),
    (GUARD, APPROVAL_GUARD),
    (GUARD_BINDING, APPROVAL_GUARD),
]


@pytest.mark.parametrize("answer", UNAVAILABLE, ids=str)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[0])
async def test_a_read_that_fails_denies(place, answer) -> None:
    for new in (workload(), PINNED):
        decision = await judged(server(objects={place: answer}), new)
        assert (decision.reason, decision.pending) == (Reason.STATE_UNAVAILABLE, False)


@pytest.mark.parametrize("answer", STRANGE, ids=str)
@pytest.mark.parametrize("place", PLACES[:3], ids=lambda place: place[0])
async def test_an_answer_that_cannot_be_understood_denies(place, answer) -> None:
    for new in (workload(), PINNED):
        decision = await judged(server(objects={place: answer}), new)
        assert (decision.reason, decision.pending) == (Reason.STATE_INVALID, False)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((fault, Reason.STATE_UNAVAILABLE) for fault in UNAVAILABLE),
        ({"items": [], "metadata": {"continue": "more"}}, Reason.STATE_UNAVAILABLE),
        ({"items": [approval(snapshot())], "metadata": {"continue": "more"}}, Reason.STATE_UNAVAILABLE),
        ({}, Reason.STATE_INVALID),
        ({"items": None}, Reason.STATE_INVALID),
        ({"items": ["x"]}, Reason.STATE_INVALID),
        ({"items": [{}]}, Reason.STATE_INVALID),
        ({"items": [approval(snapshot()), {"metadata": {"name": "x"}, "spec": {}}]}, Reason.STATE_INVALID),
        ({"items": [], "metadata": "x"}, Reason.STATE_INVALID),
        ({"items": []}, Reason.NOT_APPROVED),
        ({"items": [], "metadata": {"continue": ""}}, Reason.NOT_APPROVED),
    ],
    ids=str,
)
async def test_a_list_of_approvals_counts_whole_or_not_at_all(answer, reason) -> None:
    assert (await judged(server(approvals=answer), workload())).reason is reason


@pytest.mark.parametrize(
    "answer", [*UNAVAILABLE, {}, {"status": None}, {"status": "x"}, {"status": {"allowed": "true"}}], ids=str
)
async def test_a_right_that_is_not_plainly_there_is_not_there(answer) -> None:
    decision = await judged(server(may_exempt=answer), FREE, ANNOTATED)
    expected = Reason.STATE_UNAVAILABLE if isinstance(answer, ApiError) else Reason.BINDING_REMOVED
    assert decision.reason is expected


@pytest.mark.parametrize("missing", [(GUARD, APPROVAL_GUARD), (GUARD_BINDING, APPROVAL_GUARD)])
@pytest.mark.parametrize(
    "found", [None, {"metadata": {}}, {"metadata": {"creationTimestamp": "2029-12-01T00:00:00Z"}}]
)
async def test_without_an_older_guard_no_approval_counts(missing, found) -> None:
    decision = await judged(server(objects={missing: found}), workload())
    assert decision.reason is Reason.UNVERIFIED_ORIGIN


# A status describes and never decides

STATUSES: list[Any] = [
    None,
    [],
    "x",
    {"lastApproved": None},
    {"lastApproved": "x"},
    {"lastApproved": {"snapshotName": None}},
    {"lastApproved": {"snapshotName": 1}},
    {"lastApproved": {"snapshotName": "../x"}},
    {"lastApproved": {"snapshotName": "absent"}},
]


@pytest.mark.parametrize("status", STATUSES, ids=str)
async def test_no_status_changes_a_verdict(status) -> None:
    held = inventory() | {"status": status}
    assert (await judged(server(objects={(INVENTORY, "assistant"): held}), workload())).allowed
    changed = inventory(of=EARLIER) | {"status": status}
    objects = {(INVENTORY, "assistant"): changed, (SNAPSHOT, BEFORE): None}
    assert (await judged(server(objects=objects), workload())).reason is Reason.NOT_APPROVED


@pytest.mark.parametrize("answer", [*UNAVAILABLE, *STRANGE, None], ids=str)
async def test_a_baseline_that_cannot_be_read_only_leaves_the_text_shorter(answer) -> None:
    objects = {(SNAPSHOT, BEFORE): answer}
    assert (await judged(server(last_approved=BEFORE, objects=objects), workload())).allowed
    refused = await judged(server(last_approved=BEFORE, objects=objects, approvals={"items": []}), workload())
    assert (refused.reason, refused.differences) == (Reason.NOT_APPROVED, ())


async def test_the_baseline_says_what_changed() -> None:
    refused = await judged(server(last_approved=BEFORE, approvals={"items": []}), workload())
    assert refused.baseline == BEFORE
    assert [item.codes for item in refused.differences] == [(Reason.SCHEMA_CHANGED,)]

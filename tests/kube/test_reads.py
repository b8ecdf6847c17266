"""What a decision asks of the API server: every case counted."""

from collections import Counter

import pytest

from core.build import binding, catalog, workload
from kube.scripted import (
    ACCESS,
    ANNOTATED,
    APPROVALS_LIST,
    BEFORE,
    FREE,
    GUARD,
    GUARD_BINDING,
    INVENTORY,
    LIVE,
    MATERIAL,
    NAMESPACE,
    PINNED,
    POLICY,
    SNAPSHOT,
    WANTED,
    approval,
    judged,
    minor_change_of,
    server,
    snapshot,
)
from toolvet.core.approval import snapshot_name
from toolvet.core.reasons import Reason
from toolvet.kube.client import ApiError
from toolvet.kube.names import APPROVAL_GUARD, POLICIES
from toolvet.kube.reads import MAX_APPROVALS

JUDGED = {APPROVALS_LIST: 1, GUARD: 1, GUARD_BINDING: 1}
"""What every judgement of a snapshot reads besides the snapshot."""
CASES = [
    ("no governed change", server(), workload(), workload(), None, {}, []),
    ("misplaced", server(), workload(misplaced=("x",)), None, Reason.BINDING_MISPLACED, {}, []),
    ("nothing governs", server(), workload("web"), None, None, {POLICY: 1, INVENTORY: 1}, [2]),
    (
        "own, approved",
        server(),
        workload(),
        None,
        None,
        {POLICY: 1, INVENTORY: 1, SNAPSHOT: 1, **JUDGED},
        [2, 4],
    ),
    (
        "own, named too",
        server(),
        workload(inventory="assistant"),
        None,
        None,
        {POLICY: 1, INVENTORY: 1, SNAPSHOT: 1, **JUDGED},
        [2, 4],
    ),
    ("own, pinned", server(), PINNED, None, None, {POLICY: 1, INVENTORY: 1, SNAPSHOT: 1, **JUDGED}, [2, 4]),
    (
        "own, last approved is the wanted one",
        server(last_approved=WANTED),
        workload(),
        None,
        None,
        {POLICY: 1, INVENTORY: 1, SNAPSHOT: 1, **JUDGED},
        [2, 4],
    ),
    (
        "own, another was approved last",
        server(last_approved=BEFORE),
        workload(),
        None,
        None,
        {POLICY: 1, INVENTORY: 1, SNAPSHOT: 2, **JUDGED},
        [2, 5],
    ),
    ("annotated", server(), ANNOTATED, None, None, {POLICY: 1, INVENTORY: 2, SNAPSHOT: 1, **JUDGED}, [3, 4]),
    (
        "own and another named",
        server(),
        workload(inventory="other"),
        None,
        Reason.BINDING_MISMATCH,
        {POLICY: 1, INVENTORY: 2},
        [3],
    ),
    (
        "annotated and missing",
        server(),
        workload("web", inventory="other"),
        None,
        Reason.INVENTORY_MISSING,
        {POLICY: 1, INVENTORY: 2},
        [3],
    ),
    (
        "from its account to an annotation of what is missing",
        server(),
        workload("web", inventory="other", template="another"),
        workload(),
        Reason.INVENTORY_MISSING,
        {POLICY: 1, INVENTORY: 3},
        [4],
    ),
    (
        "annotated with what is no name",
        server(),
        workload("web", inventory="(not a name)"),
        None,
        Reason.INVENTORY_MISSING,
        {POLICY: 1, INVENTORY: 1},
        [2],
    ),
    (
        "pinned to what is no name",
        server(),
        workload(snapshot="../x"),
        None,
        Reason.SNAPSHOT_MISSING,
        {POLICY: 1, INVENTORY: 1},
        [2],
    ),
    (
        "takes its annotation away",
        server(),
        FREE,
        ANNOTATED,
        Reason.BINDING_REMOVED,
        {POLICY: 1, INVENTORY: 1, ACCESS: 1},
        [2, 1],
    ),
    (
        "leaves its account",
        server(),
        FREE,
        workload(),
        Reason.BINDING_REMOVED,
        {POLICY: 1, INVENTORY: 2, ACCESS: 1},
        [3, 1],
    ),
    (
        "leaves its account, may",
        server(may_exempt=True),
        FREE,
        workload(),
        None,
        {POLICY: 1, INVENTORY: 2, ACCESS: 1},
        [3, 1],
    ),
    (
        "leaves an account that bound nothing",
        server(),
        FREE,
        workload("other"),
        None,
        {POLICY: 1, INVENTORY: 2},
        [3],
    ),
]


@pytest.mark.parametrize(
    ("api", "new", "old", "reason", "asked", "rounds"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
async def test_the_reads_of_every_case(api, new, old, reason, asked, rounds) -> None:
    decision = await judged(api, new, old)
    assert decision.reason is reason
    assert dict(api.asked) == asked
    assert api.rounds == rounds


async def test_what_is_read_is_named_and_bounded() -> None:
    api = server(last_approved=BEFORE)
    await judged(api, workload())
    assert sorted(api.names) == sorted(
        [
            (POLICY, None, "default"),
            (INVENTORY, NAMESPACE, "assistant"),
            (SNAPSHOT, NAMESPACE, WANTED),
            (SNAPSHOT, NAMESPACE, BEFORE),
            (GUARD, None, APPROVAL_GUARD),
            (GUARD_BINDING, None, APPROVAL_GUARD),
        ]
    )
    # No resourceVersion: the list is as current as a write that was answered before.
    assert api.lists == [{"fieldSelector": f"spec.snapshotName={WANTED}", "limit": MAX_APPROVALS}]


async def test_the_callers_own_right_to_exempt_is_asked_for() -> None:
    api = server(may_exempt=True)
    await judged(api, FREE, ANNOTATED)
    (review,) = api.reviews
    assert review["spec"] == {
        "user": "jane",
        "groups": ["devs"],
        "uid": "1",
        "extra": {"scopes": ["x"]},
        "resourceAttributes": {"group": "toolvet.dev", "resource": POLICIES.plural, "verb": "exempt"},
    }


LISTED = [catalog(binding("search", implementation=number)) for number in range(4)]
FIRST = snapshot(LISTED[0])["metadata"]["name"]


def lenient(*listed, policy=MATERIAL, last_approved=None, approved=LISTED[:1], **changed):
    """A server whose live catalog is not approved and called a minor change of others, some approved."""
    held = {(SNAPSHOT, snapshot(of)["metadata"]["name"]): snapshot(of) for of in listed}
    objects = {
        (INVENTORY, "assistant"): minor_change_of(*listed, last_approved=last_approved),
        (POLICY, "default"): policy,
        **held,
        **changed.pop("objects", {}),
    }
    lists = {snapshot(of)["metadata"]["name"]: {"items": [approval(snapshot(of))]} for of in approved}
    return server(objects=objects, approvals={"none": {}} | lists | changed.pop("approvals", {}), **changed)


ONCE = {POLICY: 1, INVENTORY: 1, SNAPSHOT: 1, **JUDGED}
FURTHER = [
    ("exact, four listed", lenient(*LISTED, policy=None), workload(), Reason.NOT_APPROVED, {}, [2, 4]),
    ("material, approved itself", lenient(*LISTED, approved=[LIVE]), workload(), None, {}, [2, 4]),
    ("material, nothing listed", lenient(), workload(), Reason.NOT_APPROVED, {}, [2, 4]),
    ("material, itself listed", lenient(LIVE), workload(), Reason.NOT_APPROVED, {}, [2, 4]),
    ("one listed", lenient(LISTED[0]), workload(), None, {SNAPSHOT: 1, APPROVALS_LIST: 1}, [2, 4, 2]),
    ("four listed", lenient(*LISTED), workload(), None, {SNAPSHOT: 4, APPROVALS_LIST: 4}, [2, 4, 8]),
    (
        "four listed, none approved",
        lenient(*LISTED, approved=[]),
        workload(),
        Reason.NOT_APPROVED,
        {SNAPSHOT: 4, APPROVALS_LIST: 4},
        [2, 4, 8],
    ),
    (
        "the one approved last is listed, and read already",
        lenient(LISTED[0], last_approved=FIRST),
        workload(),
        None,
        {SNAPSHOT: 1, APPROVALS_LIST: 1},
        [2, 5, 1],
    ),
    (
        "pinned to a listed one",
        lenient(*LISTED),
        workload(snapshot=FIRST),
        None,
        {SNAPSHOT: 1, APPROVALS_LIST: 1},
        [2, 4, 2],
    ),
    (
        "pinned to one that is not listed",
        lenient(*LISTED),
        workload(snapshot=BEFORE),
        Reason.SNAPSHOT_OUTDATED,
        {},
        [2, 4],
    ),
]


@pytest.mark.parametrize(
    ("api", "new", "reason", "more", "rounds"), [c[1:] for c in FURTHER], ids=[c[0] for c in FURTHER]
)
async def test_minor_changes_cost_reads_only_where_they_may_decide(api, new, reason, more, rounds) -> None:
    decision = await judged(api, new)
    assert decision.reason is reason
    assert decision.minor_change is (len(rounds) == 3 and reason is None)
    assert api.asked == Counter(ONCE) + Counter(more)
    assert api.rounds == rounds


async def test_listed_snapshots_are_looked_up_by_name_and_their_approvals_bounded() -> None:
    api = lenient(*LISTED[:2], approved=[LISTED[1]])
    decision = await judged(api, workload())
    names = [snapshot_name("assistant", of.digest) for of in LISTED[:2]]
    assert decision.snapshot == names[1]
    assert [name for plural, _, name in api.names if plural == SNAPSHOT] == [WANTED, *names]
    selectors = [f"spec.snapshotName={name}" for name in (WANTED, *names)]
    assert api.lists == [{"fieldSelector": item, "limit": MAX_APPROVALS} for item in selectors]


FAILURES = [
    (
        "its snapshot",
        {"objects": {(SNAPSHOT, FIRST): ApiError(500, "InternalError")}},
        Reason.STATE_UNAVAILABLE,
    ),
    ("its approvals", {"approvals": {FIRST: ApiError(0, "timeout")}}, Reason.STATE_UNAVAILABLE),
    (
        "more approvals than a page",
        {"approvals": {FIRST: {"metadata": {"continue": "x"}, "items": []}}},
        Reason.STATE_UNAVAILABLE,
    ),
    ("a snapshot that is none", {"objects": {(SNAPSHOT, FIRST): {"spec": 1}}}, Reason.STATE_INVALID),
    ("an approval that is none", {"approvals": {FIRST: {"items": [{}]}}}, Reason.STATE_INVALID),
    ("no guard", {"objects": {(GUARD, APPROVAL_GUARD): None}}, Reason.NOT_APPROVED),
    ("the guard", {"objects": {(GUARD, APPROVAL_GUARD): ApiError(500, "x")}}, Reason.STATE_UNAVAILABLE),
    ("the live one's approvals", {"approvals": {WANTED: ApiError(0, "timeout")}}, Reason.STATE_UNAVAILABLE),
]


@pytest.mark.parametrize(
    ("changed", "reason"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
async def test_a_further_read_that_fails_admits_nothing(changed, reason) -> None:
    objects = {(SNAPSHOT, WANTED): snapshot(), **changed.get("objects", {})}
    api = lenient(LISTED[0], **{**changed, "objects": objects})
    decision = await judged(api, workload())
    assert (decision.allowed, decision.reason) == (False, reason)

"""What a decision asks of the API server: every case counted."""

import pytest

from core.build import workload
from kube.scripted import (
    ACCESS,
    ANNOTATED,
    APPROVALS_LIST,
    BEFORE,
    FREE,
    GUARD,
    GUARD_BINDING,
    INVENTORY,
    NAMESPACE,
    PINNED,
    POLICY,
    SNAPSHOT,
    WANTED,
    judged,
    server,
)
from toolvet.core.reasons import Reason
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

"""What a decision asks of the API server: every case counted, and no answer believed blindly."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.build import NOW, binding, catalog, workload
from toolvet.core.approval import snapshot_name
from toolvet.core.decision import Decision
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload
from toolvet.kube.client import ApiError
from toolvet.kube.names import APPROVAL_GUARD, INVENTORIES, POLICIES, SNAPSHOTS, Resource
from toolvet.kube.reads import MAX_APPROVALS, Plan, judge
from toolvet.kube.resources import manifest, snapshot_from_object, tools_to_spec

NAMESPACE = "team-a"
LIVE, EARLIER = catalog(binding("search")), catalog(binding("search", schema="earlier"))
WANTED, BEFORE = snapshot_name("assistant", LIVE.digest), snapshot_name("assistant", EARLIER.digest)
CALLER = {"username": "jane", "groups": ["devs"], "uid": "1", "extra": {"scopes": ["x"]}}

POLICY, GUARD, GUARD_BINDING = (
    "catalogpolicies",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)
INVENTORY, SNAPSHOT, APPROVALS_LIST = "toolinventories", "runtoolcatalogsnapshots", "catalogapprovals"
ACCESS = "subjectaccessreviews"
JUDGED = {APPROVALS_LIST: 1, GUARD: 1, GUARD_BINDING: 1}
"""What every judgement of a snapshot reads besides the snapshot."""


def stored(resource: Resource, name: str, spec: dict[str, Any], **members: Any) -> dict[str, Any]:
    obj = manifest(resource, name, NAMESPACE, spec) | members
    obj["metadata"] |= {"uid": "0" * 32, "creationTimestamp": "2029-06-01T00:00:00Z"}
    return obj


def inventory(name: str = "assistant", last_approved: object = None, of=LIVE) -> dict[str, Any]:
    status = {} if last_approved is None else {"lastApproved": {"snapshotName": last_approved}}
    return stored(INVENTORIES, name, {"tools": tools_to_spec(of)}, status=status)


def snapshot(of=LIVE, name: str = "assistant") -> dict[str, Any]:
    spec = {"inventoryName": name, "catalogDigest": of.digest, "bindings": tools_to_spec(of)}
    return stored(SNAPSHOTS, snapshot_name(name, of.digest), spec)


def approval(of: dict[str, Any], by: str = "alice") -> dict[str, Any]:
    held = snapshot_from_object(of)
    spec = {
        "inventoryName": held.inventory_name,
        "snapshotName": held.name,
        "snapshotDigest": held.evidence.digest,
        "catalogDigest": held.catalog.digest,
        "approvedBy": by,
    }
    return {"metadata": {"name": by, "creationTimestamp": "2029-12-01T00:00:00Z"}, "spec": spec}


OLD_GUARD = {"metadata": {"creationTimestamp": "2029-01-01T00:00:00Z"}}


@dataclass
class Scripted:
    """An API server that answers from a table, and remembers what was asked, and what at once."""

    objects: dict[tuple[str, str], Any] = field(default_factory=dict)
    approvals: Any = None
    may_exempt: Any = False
    asked: Counter[str] = field(default_factory=Counter)
    names: list[tuple[str, str | None, str]] = field(default_factory=list)
    lists: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    """How many calls each burst had: calls that were under way at once."""
    _under_way: int = 0

    async def _answer(self, resource: Resource, answer: Any) -> Any:
        if self._under_way == 0:
            self.rounds.append(0)
        self.asked[resource.plural] += 1
        self.rounds[-1] += 1
        self._under_way += 1
        for _ in range(5):  # every other call of this round starts before the first one ends
            await asyncio.sleep(0)
        self._under_way -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> dict[str, Any] | None:
        assert metadata_only is (name == APPROVAL_GUARD)
        self.names.append((resource.plural, namespace, name))
        return await self._answer(resource, self.objects.get((resource.plural, name)))

    async def list(
        self, resource: Resource, namespace: str | None = None, **parameters: Any
    ) -> dict[str, Any]:
        assert namespace == NAMESPACE
        self.lists.append(parameters)
        return await self._answer(resource, self.approvals)

    async def create(
        self, resource: Resource, namespace: str | None, obj: Any, *, dry_run: bool = False
    ) -> Any:
        assert (namespace, dry_run) == (None, False)
        self.reviews.append(obj)
        answer = self.may_exempt
        return await self._answer(
            resource, answer if isinstance(answer, BaseException | dict) else {"status": {"allowed": answer}}
        )


def server(*, last_approved: object = None, **changed: Any) -> Scripted:
    """Hold an inventory, its approved snapshot, the one before, and the guard of approvals."""
    held = snapshot()
    objects = {
        (INVENTORY, "assistant"): inventory(last_approved=last_approved),
        (SNAPSHOT, WANTED): held,
        (SNAPSHOT, BEFORE): snapshot(EARLIER),
        (GUARD, APPROVAL_GUARD): OLD_GUARD,
        (GUARD_BINDING, APPROVAL_GUARD): OLD_GUARD,
        **changed.pop("objects", {}),
    }
    return Scripted(objects, changed.pop("approvals", {"items": [approval(held)]}), **changed)


async def judged(api: Scripted, new: Workload, old: Workload | None = None) -> Decision:
    plan = Plan(api, NAMESPACE)
    decision = await judge(plan, NAMESPACE, old, new, CALLER, NOW)
    assert plan.reads == api.asked.total()
    return decision


PINNED = workload(snapshot=WANTED)
ANNOTATED = workload("web", inventory="assistant")
FREE = workload("web", template="another")
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


# Answers that are none

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

"""The decision, row by row (DESIGN 4): who governs, what counts, and that nothing unknown admits."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.build import NOW, OTHER_RUN, approval, binding, catalog, snapshot, workload
from toolvet.core.approval import snapshot_name
from toolvet.core.decision import (
    Decision,
    Unknown,
    Verdict,
    decide,
    governing,
    inventories_to_read,
    snapshot_to_read,
)
from toolvet.core.differences import ToolDifference
from toolvet.core.policy import BUILT_IN, Policy, PolicySet
from toolvet.core.reasons import Reason

LIVE = catalog(binding("search"), binding("export"))
CHANGED = catalog(binding("search", schema="other"), binding("export"))
REVIEWED = snapshot("assistant", LIVE)
ALICE, BOB = approval(REVIEWED, "alice"), approval(REVIEWED, "bob")
TWO = PolicySet(Policy(required_approvals=2))
SECOND = timedelta(seconds=1)


def judged(new=None, **given) -> Decision:
    """Decide the creation of a workload that is allowed, with one thing changed."""
    facts = {
        "policies": BUILT_IN,
        "live": {"assistant": LIVE},
        "snapshots": {REVIEWED.name: REVIEWED},
        "approvals": (ALICE,),
        "old": None,
        "new": new or workload(),
        "now": NOW,
        "namespace": "team-a",
        **given,
    }
    return decide(**facts)


def test_an_approved_live_catalog_is_allowed_and_says_why() -> None:
    decision = judged()
    assert decision.verdict is Verdict.ALLOWED
    assert decision.reason is None
    assert (decision.inventory, decision.live_digest) == ("assistant", LIVE.digest)
    assert (decision.snapshot, decision.snapshot_exists) == (REVIEWED.name, True)
    assert decision.approvals is not None
    assert decision.approvals.counted == (ALICE.name,)


# Who governs

GOVERNING = [
    ("own", workload(), {"assistant": LIVE}, "assistant", None),
    ("own, named too", workload(inventory="assistant"), {"assistant": LIVE}, "assistant", None),
    (
        "own, another named",
        workload(inventory="other"),
        {"assistant": LIVE, "other": LIVE},
        "assistant",
        Reason.BINDING_MISMATCH,
    ),
    (
        "own, a missing one named",
        workload(inventory="other"),
        {"assistant": LIVE, "other": None},
        "assistant",
        Reason.BINDING_MISMATCH,
    ),
    (
        "annotated",
        workload("web", inventory="assistant"),
        {"web": None, "assistant": LIVE},
        "assistant",
        None,
    ),
    (
        "annotated and missing",
        workload("web", inventory="assistant"),
        {"web": None, "assistant": None},
        "assistant",
        Reason.INVENTORY_MISSING,
    ),
    ("neither", workload("web"), {"web": None}, None, None),
    ("neither, another inventory exists", workload("web"), {"web": None, "assistant": LIVE}, None, None),
]


@pytest.mark.parametrize(
    ("new", "live", "inventory", "reason"),
    [row[1:] for row in GOVERNING],
    ids=[row[0] for row in GOVERNING],
)
def test_who_governs(new, live, inventory, reason) -> None:
    decision = judged(new, live=live)
    assert decision.allowed is (reason is None)
    assert (decision.inventory, decision.reason) == (inventory, reason)


@pytest.mark.parametrize("misplaced", [("toolvet.dev/inventory",), ("toolvet.dev/snapshot",)])
@pytest.mark.parametrize("service_account", ["assistant", "web"])
def test_a_misplaced_binding_is_refused_wherever_it_would_have_led(service_account, misplaced) -> None:
    decision = judged(workload(service_account, misplaced=misplaced), live={"assistant": LIVE, "web": None})
    assert decision.reason is Reason.BINDING_MISPLACED
    assert decision.misplaced == misplaced


# Taking a binding away

BOUND_BY_ANNOTATION = workload("web", inventory="assistant")
UNBOUND = workload("web", template={"image": "two"})
WITHOUT_OWN = {"assistant": LIVE, "web": None}


@pytest.mark.parametrize(
    ("old", "new", "live"),
    [
        (BOUND_BY_ANNOTATION, UNBOUND, WITHOUT_OWN),
        (workload("assistant"), UNBOUND, WITHOUT_OWN),
        (workload("assistant", inventory="assistant"), UNBOUND, WITHOUT_OWN),
    ],
)
def test_removing_a_binding_takes_the_verb_exempt(old, new, live) -> None:
    assert judged(new, old=old, live=live).reason is Reason.BINDING_REMOVED
    assert judged(new, old=old, live=live, may_exempt=False).reason is Reason.BINDING_REMOVED
    assert judged(new, old=old, live=live, may_exempt=True).allowed
    for unknown in Unknown:
        assert judged(new, old=old, live=live, may_exempt=unknown).reason is unknown.reason


def test_the_verb_exempt_excuses_nothing_else() -> None:
    assert judged(approvals=(), may_exempt=True).reason is Reason.NOT_APPROVED
    missing = {snapshot_name("assistant", CHANGED.digest): None}
    changed = judged(live={"assistant": CHANGED}, snapshots=missing, may_exempt=True)
    assert changed.reason is Reason.NOT_APPROVED


def test_moving_between_unbound_accounts_removes_nothing() -> None:
    live = {"web": None, "other": None}
    assert judged(UNBOUND, old=workload("other"), live=live).allowed


def test_moving_to_another_governed_account_is_judged_there() -> None:
    other = catalog(binding("other"))
    decision = judged(
        UNBOUND,
        old=workload("assistant"),
        live={"assistant": LIVE, "web": other},
        snapshots={snapshot_name("web", other.digest): None},
    )
    assert (decision.inventory, decision.reason) == ("web", Reason.NOT_APPROVED)


# Changes that are none

QUIET = [
    ("same", {}, {}),
    ("scaled up from one", {"replicas": 1}, {"replicas": 5}),
    ("scaled to zero", {"replicas": 3}, {"replicas": 0}),
    ("stays at zero", {"replicas": 0}, {"replicas": 0}),
    ("paused", {"paused": False}, {"paused": True}),
    ("stays paused", {"paused": True}, {"paused": True}),
    ("misplaced only", {}, {"misplaced": ("toolvet.dev/inventory",)}),
]
LOUD = [
    ("template", {}, {"template": {"image": "two"}}),
    ("woken", {"replicas": 0}, {"replicas": 1}),
    ("un-paused", {"paused": True}, {"paused": False}),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in QUIET], ids=[row[0] for row in QUIET])
def test_other_changes_need_no_knowledge(before, after) -> None:
    nothing = {
        "policies": Unknown.UNAVAILABLE,
        "live": {},
        "snapshots": {},
        "approvals": Unknown.UNAVAILABLE,
        "may_exempt": Unknown.UNAVAILABLE,
    }
    assert judged(workload(**after), old=workload(**before), **nothing).allowed


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in LOUD], ids=[row[0] for row in LOUD])
def test_governed_changes_are_judged_like_a_creation(before, after) -> None:
    old, new = workload(**before), workload(**after)
    assert judged(new, old=old).allowed
    assert judged(new, old=old, approvals=()).reason is Reason.NOT_APPROVED
    assert judged(new, old=old, live={}).reason is Reason.STATE_UNAVAILABLE


# Pins


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


# What a stored snapshot claims


def test_names_select_and_contents_decide() -> None:
    impostor = snapshot("assistant", CHANGED, name=REVIEWED.name)
    decision = judged(snapshots={REVIEWED.name: impostor}, approvals=(approval(impostor),))
    assert decision.reason is Reason.NOT_APPROVED


def test_a_snapshot_of_the_right_name_and_another_inventory_does_not_cover() -> None:
    impostor = snapshot("other", LIVE, name=REVIEWED.name)
    decision = judged(snapshots={REVIEWED.name: impostor}, approvals=(approval(impostor),))
    assert decision.reason is Reason.BINDING_MISMATCH


# Approvals

OTHER = snapshot("assistant", CHANGED)
RECREATED = snapshot("assistant", LIVE, run=OTHER_RUN)


@pytest.mark.parametrize(
    "given",
    [
        approval(OTHER),
        approval(RECREATED),
        replace(ALICE, snapshot_digest=RECREATED.evidence.digest),
        replace(ALICE, catalog_digest=OTHER.catalog.digest),
        replace(ALICE, inventory_name="other"),
        replace(ALICE, snapshot_name=OTHER.name),
    ],
    ids=["other snapshot", "re-created", "snapshot digest", "catalog digest", "inventory", "snapshot name"],
)
def test_an_approval_of_anything_else_does_not_count(given) -> None:
    decision = judged(approvals=(given,))
    assert decision.reason is Reason.NOT_APPROVED
    assert decision.approvals is not None
    assert decision.approvals.valid == 0


def test_a_revocation_of_anything_else_does_not_count_either() -> None:
    assert judged(approvals=(ALICE, approval(RECREATED, revoked=True))).allowed


@pytest.mark.parametrize(
    ("expires_in", "allowed"),
    [(-SECOND, False), (timedelta(0), False), (timedelta(microseconds=1), True), (SECOND, True)],
)
def test_an_approval_counts_before_the_moment_it_expires(expires_in, allowed) -> None:
    decision = judged(approvals=(replace(ALICE, expires_at=NOW + expires_in),))
    assert decision.allowed is allowed
    assert decision.reason is (None if allowed else Reason.APPROVAL_EXPIRED)


COPY = replace(ALICE, name="copy")
EXPIRED = replace(ALICE, name="expired", expires_at=NOW)
REVOKED = replace(ALICE, name="revoked", revoked=True)
BOBS_EXPIRED = replace(BOB, name="bobs-expired", expires_at=NOW - SECOND)


@pytest.mark.parametrize(
    ("policies", "approvals", "reason"),
    [
        (BUILT_IN, (), Reason.NOT_APPROVED),
        (BUILT_IN, (REVOKED,), Reason.APPROVAL_REVOKED),
        (BUILT_IN, (ALICE, REVOKED), Reason.APPROVAL_REVOKED),
        (BUILT_IN, (COPY, ALICE, REVOKED), Reason.APPROVAL_REVOKED),
        (BUILT_IN, (REVOKED, BOB), None),
        (BUILT_IN, (EXPIRED, ALICE), None),
        (BUILT_IN, (COPY, ALICE), None),
        (BUILT_IN, (replace(REVOKED, expires_at=NOW), ALICE), Reason.APPROVAL_REVOKED),
        (TWO, (ALICE,), Reason.NOT_APPROVED),
        (TWO, (ALICE, COPY), Reason.NOT_APPROVED),
        (TWO, (ALICE, BOB), None),
        (TWO, (ALICE, BOB, REVOKED), Reason.APPROVAL_REVOKED),
        (TWO, (ALICE, BOBS_EXPIRED), Reason.APPROVAL_EXPIRED),
        (TWO, (EXPIRED, BOBS_EXPIRED), Reason.APPROVAL_EXPIRED),
        (TWO, (EXPIRED, ALICE), Reason.NOT_APPROVED),
        (TWO, (EXPIRED,), Reason.NOT_APPROVED),
    ],
)
def test_quorum_counts_distinct_approvers(policies, approvals, reason) -> None:
    decision = judged(policies=policies, approvals=approvals)
    assert decision.reason is reason
    assert decision.allowed is (reason is None)
    assert judged(policies=policies, approvals=approvals[::-1]) == decision


def test_the_namespace_has_rules_of_its_own() -> None:
    policies = PolicySet(Policy(1), {"team-a": Policy(2)})
    assert judged(policies=policies).reason is Reason.NOT_APPROVED
    assert judged(policies=policies, namespace="team-b").allowed
    assert judged(policies=policies, approvals=(ALICE, BOB)).allowed


# What is not known


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


# What a refusal is described with


def test_the_baseline_describes_and_never_decides() -> None:
    current = snapshot_name("assistant", CHANGED.digest)
    facts = {"live": {"assistant": CHANGED}, "snapshots": {current: None, REVIEWED.name: REVIEWED}}
    described = judged(**facts, baseline=REVIEWED.name)
    assert described.baseline == REVIEWED.name
    assert [item.codes for item in described.differences] == [(Reason.SCHEMA_CHANGED,)]
    for baseline in (None, "absent", current):
        plain = judged(**facts, baseline=baseline)
        assert (plain.verdict, plain.reason) == (described.verdict, described.reason)
        assert plain.differences == ()
    foreign = snapshot("other", LIVE)
    snapshots = {current: None, foreign.name: foreign}
    assert judged(live={"assistant": CHANGED}, snapshots=snapshots, baseline=foreign.name).differences == ()
    assert judged(baseline=REVIEWED.name) == judged()


# What to read


def test_the_reads_follow_from_the_workloads() -> None:
    assert inventories_to_read(None, workload()) == {"assistant"}
    assert inventories_to_read(None, workload(inventory="assistant")) == {"assistant"}
    assert inventories_to_read(None, workload("web", inventory="assistant")) == {"web", "assistant"}
    assert inventories_to_read(workload("old"), workload("web")) == {"old", "web"}
    assert inventories_to_read(workload("web", inventory="old"), workload("web")) == {"web"}


def test_the_snapshot_to_read_is_the_pin_or_the_computed_name() -> None:
    found = governing(workload(), {"assistant": LIVE})
    assert not isinstance(found, Decision)
    assert snapshot_to_read(workload(), found) == f"assistant-{LIVE.digest[7:23]}"
    assert snapshot_to_read(workload(snapshot="pinned"), found) == "pinned"
    nothing = governing(workload("web", snapshot="pinned"), {"web": None})
    assert not isinstance(nothing, Decision)
    assert snapshot_to_read(workload("web", snapshot="pinned"), nothing) is None

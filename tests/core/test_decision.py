"""The decision, row by row (DESIGN 4): who governs, which changes are judged, and what is read for it."""

import pytest

from core.build import binding, catalog, snapshot, workload
from core.situation import ALICE, BOUND_BY_ANNOTATION, CHANGED, LIVE, REVIEWED, UNBOUND, judged
from toolvet.core.approval import snapshot_name
from toolvet.core.decision import Decision, Unknown, Verdict, governing, inventories_to_read, snapshot_to_read
from toolvet.core.reasons import Reason


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

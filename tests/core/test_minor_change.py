"""``reviewOn: MaterialChange``: a live catalog under the approval of what it is a minor change of."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.build import NOW, approval, binding, catalog, digest, snapshot, workload
from toolvet.core.binding import Catalog, LiveCatalog
from toolvet.core.decision import Decision, Unknown, decide
from toolvet.core.denial import minor_change_text
from toolvet.core.differences import differences
from toolvet.core.policy import BUILT_IN, Policy, PolicySet, ReviewOn
from toolvet.core.reasons import Reason

NEW = catalog(binding("search", implementation="reworded"), binding("export"))
FIRST = snapshot("assistant", catalog(binding("search"), binding("export")))
SECOND = snapshot("assistant", catalog(binding("search", implementation="second"), binding("export")))
ITS_OWN = snapshot("assistant", NEW)
ANOTHERS = snapshot("web", FIRST.catalog)
LIVE = LiveCatalog(NEW.bindings, (FIRST.catalog.digest, SECOND.catalog.digest))
MATERIAL = PolicySet(Policy(review_on=ReviewOn.MATERIAL_CHANGE))
NAMES = [FIRST.name, SECOND.name]


def judged(
    approvals=(), snapshots=(FIRST, SECOND), new=None, live=LIVE, policies=MATERIAL, **given
) -> Decision:
    """Decide a creation; ``approvals`` go to the snapshots they name."""
    new = new or workload()
    known = {**dict.fromkeys([*NAMES, ITS_OWN.name]), **{item.name: item for item in snapshots}}
    by_name = {name: [item for item in approvals if item.snapshot_name == name] for name in known}
    by_name |= given.pop("other_approvals", {})
    own = by_name.pop(new.snapshot or ITS_OWN.name)
    facts = {"snapshots": known, "approvals": own, "other_approvals": by_name, **given}
    return decide(policies, {"assistant": live}, old=None, new=new, now=NOW, namespace="team-a", **facts)


def test_a_listed_and_approved_snapshot_admits_and_says_so() -> None:
    decision = judged([approval(FIRST)])
    assert (decision.allowed, decision.reason, decision.code) == (True, None, Reason.MINOR_CHANGE)
    assert (decision.snapshot, decision.baseline) == (FIRST.name, FIRST.name)
    assert decision.approvals.counted == (approval(FIRST).name,)
    assert decision.live_digest == NEW.digest
    assert decision.differences == differences(FIRST.catalog, NEW)
    text = minor_change_text(decision, "team-a")
    assert text.startswith("minor_change: inventory assistant, live catalog ")
    assert "  tool:org.example/search 1.0.0: implementation_changed" in text
    assert text.endswith("review: kubectl toolvet capture assistant -n team-a")


def test_the_first_of_the_list_that_is_approved_decides() -> None:
    both = [approval(FIRST), approval(SECOND)]
    assert judged(both).snapshot == FIRST.name
    turned = LiveCatalog(NEW.bindings, LIVE.minor_change_of[::-1])
    assert judged(both, live=turned).snapshot == SECOND.name
    assert judged(both[1:]).snapshot == SECOND.name


def test_the_live_catalogs_own_approval_needs_no_warning() -> None:
    decision = judged([approval(ITS_OWN), approval(FIRST)], (ITS_OWN, FIRST))
    assert (decision.snapshot, decision.code, decision.differences) == (ITS_OWN.name, None, ())


def test_by_default_the_list_plays_no_part() -> None:
    assert BUILT_IN.default.review_on is Policy().review_on is ReviewOn.ANY_CHANGE
    plain = Catalog(NEW.bindings)
    for approvals in ([], [approval(FIRST)], [approval(ITS_OWN)], [approval(FIRST, revoked=True)]):
        for new in (workload(), workload(snapshot=FIRST.name), workload(snapshot=ITS_OWN.name)):
            for snapshots in ((), (FIRST,), (FIRST, ITS_OWN)):
                given = {"approvals": approvals, "snapshots": snapshots, "new": new}
                assert judged(**given, policies=BUILT_IN) == judged(**given, live=plain, policies=BUILT_IN)
                # Nor does the policy without a list.
                assert judged(**given, live=plain) == judged(**given, live=plain, policies=BUILT_IN)


NOT_APPROVED = [
    ("no approval", [], (FIRST,)),
    (
        "an approval of another snapshot under its name",
        [approval(replace(SECOND, name=FIRST.name))],
        (FIRST,),
    ),
    ("an expired approval", [approval(FIRST, expires_at=NOW)], (FIRST,)),
    ("a revoked approval", [approval(FIRST, revoked=True)], (FIRST,)),
    ("an approval nobody vouches for", [approval(FIRST, origin_verified=False)], (FIRST,)),
    ("no snapshot", [approval(FIRST)], ()),
    ("a snapshot of another inventory", [approval(FIRST)], (replace(ANOTHERS, name=FIRST.name),)),
    ("another content under its name", [approval(FIRST)], (replace(SECOND, name=FIRST.name),)),
]


@pytest.mark.parametrize(
    ("approvals", "snapshots"), [row[1:] for row in NOT_APPROVED], ids=[row[0] for row in NOT_APPROVED]
)
def test_a_listed_snapshot_that_is_not_approved_itself_admits_nothing(approvals, snapshots) -> None:
    decision = judged(approvals, snapshots)
    assert (decision.allowed, decision.reason, decision.minor_change) == (False, Reason.NOT_APPROVED, False)


def test_a_claimed_digest_admits_nothing() -> None:
    # The first digits of a digest, which the name has, are no digest.
    near = FIRST.catalog.digest[:40] + "0" * 31
    assert judged([approval(FIRST)], live=LiveCatalog(NEW.bindings, (near,))).reason is Reason.NOT_APPROVED
    assert judged([approval(FIRST)], live=LiveCatalog(NEW.bindings, (digest("x"),))).unread != ()


def test_the_quorum_is_the_policys_for_each_snapshot_alone() -> None:
    two = PolicySet(Policy(2, review_on=ReviewOn.MATERIAL_CHANGE))
    spread = [approval(FIRST, "alice"), approval(SECOND, "bob")]
    assert judged(spread, policies=two).reason is Reason.NOT_APPROVED
    assert judged([*spread, approval(SECOND, "carol")], policies=two).snapshot == SECOND.name


@pytest.mark.parametrize("snapshots", [(FIRST, ITS_OWN), (FIRST,)], ids=["captured", "captured no more"])
@pytest.mark.parametrize("pin", [None, FIRST.name])
def test_a_yes_taken_back_of_the_very_catalog_outweighs_minor(snapshots, pin) -> None:
    taken_back = approval(ITS_OWN, "bob", revoked=True)
    assert judged([approval(FIRST)], snapshots, workload(snapshot=pin)).allowed
    decision = judged([approval(FIRST), taken_back], snapshots, workload(snapshot=pin))
    assert not decision.allowed
    expired = replace(taken_back, expires_at=NOW - timedelta(days=1))
    assert not judged([approval(FIRST), expired], snapshots, workload(snapshot=pin)).allowed


def test_a_pin_reaches_no_further_than_the_snapshot_it_names() -> None:
    first, second = workload(snapshot=FIRST.name), workload(snapshot=SECOND.name)
    assert judged([approval(FIRST)], new=first).snapshot == FIRST.name
    decision = judged([approval(FIRST)], new=second)
    assert (decision.reason, decision.pending) == (Reason.SNAPSHOT_OUTDATED, True)
    assert judged([approval(FIRST)], (FIRST,), second).reason is Reason.SNAPSHOT_MISSING
    own = judged([approval(FIRST)], (FIRST, ITS_OWN), workload(snapshot=ITS_OWN.name))
    assert own.reason is Reason.NOT_APPROVED
    unlisted = LiveCatalog(NEW.bindings, (SECOND.catalog.digest,))
    assert judged([approval(FIRST)], new=first, live=unlisted).reason is Reason.SNAPSHOT_OUTDATED
    assert judged([approval(FIRST)], new=first, policies=BUILT_IN).reason is Reason.SNAPSHOT_OUTDATED


@pytest.mark.parametrize("unknown", list(Unknown))
def test_what_is_not_known_admits_nothing(unknown) -> None:
    lost = {FIRST.name: unknown}
    assert judged([approval(FIRST)], other_approvals=lost).reason is unknown.reason
    known = {ITS_OWN.name: None, FIRST.name: unknown, SECOND.name: SECOND}
    facts = {"other_approvals": {FIRST.name: [approval(FIRST)], SECOND.name: []}, "approvals": []}
    place = {"old": None, "new": workload(), "now": NOW, "namespace": "team-a"}
    assert decide(MATERIAL, {"assistant": LIVE}, known, **facts, **place).reason is unknown.reason
    # Another that is approved decides alone, whatever the first one turns out to be.
    facts["other_approvals"][SECOND.name] = [approval(SECOND)]
    assert decide(MATERIAL, {"assistant": LIVE}, known, **facts, **place).snapshot == SECOND.name
    facts["approvals"] = unknown
    known[ITS_OWN.name] = ITS_OWN
    assert decide(MATERIAL, {"assistant": LIVE}, known, **facts, **place).reason is unknown.reason


def test_what_was_not_read_is_named_and_admits_nothing() -> None:
    place = {"old": None, "now": NOW, "namespace": "team-a"}
    decision = decide(MATERIAL, {"assistant": LIVE}, {ITS_OWN.name: None}, (), new=workload(), **place)
    assert (decision.reason, decision.unread) == (Reason.STATE_UNAVAILABLE, tuple(NAMES))
    pinned = workload(snapshot=FIRST.name)
    known = {FIRST.name: FIRST}
    decision = decide(MATERIAL, {"assistant": LIVE}, known, [approval(FIRST)], new=pinned, **place)
    assert (decision.reason, decision.unread) == (Reason.STATE_UNAVAILABLE, (ITS_OWN.name,))

"""What holds of every decision, over random situations of a small world: every branch is met often."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.build import NOW, OTHER_RUN, approval, binding, catalog, snapshot, workload
from toolvet.core.approval import snapshot_name
from toolvet.core.binding import LiveCatalog
from toolvet.core.decision import Decision, Unknown, decide
from toolvet.core.differences import differences
from toolvet.core.policy import BUILT_IN, AgentSelector, Policy, PolicySet, ReviewOn
from toolvet.core.workload import Workload

examples = settings(max_examples=200, deadline=None)


@dataclass(frozen=True)
class Situation:
    """Everything a decision is made of, known or not."""

    policies: Any
    live: dict[str, Any]
    snapshots: dict[str, Any]
    approvals: Any
    old: Workload | None
    new: Workload
    may_exempt: Any
    baseline: str | None
    other_approvals: Any = None

    def decide(self, now=NOW, **changed) -> Decision:
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__} | changed
        return decide(**facts, now=now, namespace="team-a")


CATALOGS = [catalog(binding("a")), catalog(binding("a", schema="new")), catalog()]
NAMES = ["assistant", "web"]
HOUR = timedelta(hours=1)
REVIEWED = [snapshot(name, of) for name in NAMES for of in CATALOGS]
REVIEWED += [snapshot("assistant", CATALOGS[0], run=OTHER_RUN)]
SNAPSHOT_NAMES = sorted({item.name for item in REVIEWED})

unknowns = st.sampled_from(list(Unknown))
lists = st.lists(st.sampled_from([of.digest for of in CATALOGS]), max_size=4).map(tuple)
ends = st.sampled_from([None, None, *(NOW + timedelta(seconds=s) for s in (-1, 0, 1, 5))])
lives = st.builds(
    lambda of, listed, end: LiveCatalog(of.bindings, listed, end), st.sampled_from(CATALOGS), lists, ends
)
catalogs = st.one_of(st.sampled_from(CATALOGS), lives, st.none(), unknowns)
reviewed = st.one_of(st.sampled_from(REVIEWED), st.none(), unknowns)
approvals = st.builds(
    approval,
    st.sampled_from(REVIEWED),
    st.sampled_from(["alice", "bob", "carol"]),
    st.sampled_from(["one", "two", "three", "four"]),
    expires_at=st.sampled_from([None, None, *(NOW + timedelta(seconds=s) for s in (-1, 0, 1))]),
    revoked=st.sampled_from([False, False, False, True]),
    created_at=st.sampled_from([NOW - timedelta(hours=hours) for hours in (0, 1, 2)]),
    origin_verified=st.sampled_from([True, True, True, False]),
)
agents = st.sampled_from(
    [
        AgentSelector(),
        AgentSelector(everything=True),
        AgentSelector(service_accounts=frozenset({"web"})),
        AgentSelector(labels={"agent": "yes"}),
    ]
)
rules = st.builds(
    Policy,
    st.integers(1, 3),
    st.sampled_from([None, None, timedelta(hours=1), timedelta(hours=3)]),
    st.sampled_from([frozenset(), frozenset(), frozenset({"carol"})]),
    agents,
    st.sampled_from(ReviewOn),
)
policies = st.one_of(st.builds(PolicySet, rules), st.just(BUILT_IN), unknowns)
workloads = st.builds(
    workload,
    st.sampled_from(NAMES),
    inventory=st.sampled_from([None, None, *NAMES]),
    snapshot=st.sampled_from([None, None, *SNAPSHOT_NAMES]),
    misplaced=st.sampled_from([(), (), (), ("toolvet.dev/inventory",)]),
    template=st.integers(0, 1),
    replicas=st.integers(0, 2),
    paused=st.booleans(),
    labels=st.sampled_from([(), (("agent", "yes"),)]),
)
approval_lists = st.lists(approvals, max_size=5, unique_by=lambda item: item.name)
further = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(SNAPSHOT_NAMES), st.one_of(approval_lists, approval_lists, unknowns)),
)


@st.composite
def situations(draw):
    """Any situation; two of three start from an allowed creation, or admissions would be rare."""
    start = draw(st.sampled_from(["approved", "minor change", "anything"]))
    if start == "approved":
        of = REVIEWED[0]
        return Situation(
            draw(st.sampled_from([BUILT_IN, PolicySet(Policy(2))])),
            {"assistant": of.catalog, "web": draw(catalogs)},
            {of.name: of},
            [approval(of, "alice", "alice"), approval(of, "bob", "bob"), *draw(approval_lists)],
            None,
            workload(snapshot=draw(st.sampled_from([None, of.name]))),
            draw(st.booleans()),
            None,
        )
    if start == "minor change":
        return draw(minor_changes())
    return Situation(
        draw(policies),
        draw(st.dictionaries(st.sampled_from(NAMES), catalogs)),
        {name: draw(reviewed) for name in SNAPSHOT_NAMES if draw(st.booleans())},
        draw(st.one_of(approval_lists, unknowns)),
        draw(st.one_of(st.none(), workloads)),
        draw(workloads),
        draw(st.one_of(st.booleans(), unknowns)),
        draw(st.sampled_from([None, *SNAPSHOT_NAMES])),
        draw(further),
    )


@st.composite
def minor_changes(draw):
    """An allowed creation under a snapshot that the live catalog is a minor change of."""
    of, now, third = REVIEWED[0], REVIEWED[1], REVIEWED[2]
    pin = draw(st.sampled_from([None, None, of.name]))
    given = [approval(of, "alice", "alice"), approval(of, "bob", "bob"), *draw(approval_lists)]
    of_live = draw(approval_lists)
    others = {now.name: of_live} if pin else {of.name: given}
    others[third.name] = draw(st.one_of(approval_lists, unknowns))
    return Situation(
        PolicySet(Policy(draw(st.sampled_from([1, 2])), review_on=ReviewOn.MATERIAL_CHANGE)),
        {"assistant": LiveCatalog(now.catalog.bindings, (third.catalog.digest, of.catalog.digest))},
        {of.name: of, now.name: draw(st.sampled_from([None, now])), third.name: draw(reviewed)},
        given if pin else of_live,
        None,
        workload(snapshot=pin),
        draw(st.booleans()),
        None,
        others,
    )


@examples
@given(minor_changes(), st.data())
def test_taking_away_or_revoking_any_further_approval_never_admits(situation, data) -> None:
    name = data.draw(st.sampled_from(sorted(situation.other_approvals)))
    given = situation.other_approvals[name]
    if isinstance(given, Unknown) or not given:
        return
    place = data.draw(st.integers(0, len(given) - 1))
    revoked = [*given[:place], replace(given[place], revoked=True), *given[place + 1 :]]
    changes = [revoked, [*given, replace(given[place], revoked=True, name="revocation")]]
    if not given[place].revoked:
        changes.append([*given[:place], *given[place + 1 :]])
    for changed in changes:
        later = situation.decide(other_approvals=situation.other_approvals | {name: changed})
        assert situation.decide().allowed or not later.allowed


@examples
@given(situations(), lists)
def test_a_longer_list_never_refuses_and_by_default_means_nothing(situation, more) -> None:
    live = {
        name: LiveCatalog(
            of.bindings, (*getattr(of, "minor_change_of", ()), *more), getattr(of, "observed_until", None)
        )
        if not isinstance(of, Unknown | None)
        else of
        for name, of in situation.live.items()
    }
    before, after = situation.decide(), situation.decide(live=live)
    assert after.allowed or after.unread or not before.allowed
    if not isinstance(situation.policies, Unknown):
        exact = PolicySet(replace(situation.policies.default, review_on=ReviewOn.ANY_CHANGE))
        assert situation.decide(policies=exact) == situation.decide(policies=exact, live=live)


def _observed(situation, end) -> dict[str, Any]:
    return {
        name: of
        if isinstance(of, Unknown | None)
        else LiveCatalog(of.bindings, getattr(of, "minor_change_of", ()), end)
        for name, of in situation.live.items()
    }


@examples
@given(situations(), ends, st.integers(0, 10))
def test_an_earlier_end_of_an_observation_never_admits(situation, end, seconds) -> None:
    later, never = _observed(situation, end), _observed(situation, None)
    earlier = _observed(situation, (end or NOW + timedelta(seconds=9)) - timedelta(seconds=seconds))
    assert situation.decide(live=never).allowed or not situation.decide(live=later).allowed
    assert situation.decide(live=later).allowed or not situation.decide(live=earlier).allowed


@examples
@given(situations(), st.integers(1, 10))
def test_an_observation_that_lasts_has_no_part_in_the_verdict(situation, seconds) -> None:
    lasting = _observed(situation, NOW + timedelta(seconds=seconds))
    assert situation.decide(live=lasting) == situation.decide(live=_observed(situation, None))


@examples
@given(situations(), st.integers(0, 10))
def test_an_expired_observation_admits_nothing_that_it_governs(situation, seconds) -> None:
    decision = situation.decide(live=_observed(situation, NOW - timedelta(seconds=seconds)))
    assert not (decision.allowed and decision.inventory)
    assert not decision.unread, "no further read could help"
    assert not decision.pending, "nothing that a commit brings could help"


@examples
@given(situations())
def test_a_verdict_has_a_reason_exactly_when_it_denies(situation) -> None:
    decision = situation.decide()
    assert decision.allowed is (decision.reason is None)
    assert not (decision.allowed and decision.pending)


@examples
@given(situations(), st.data())
def test_taking_an_approval_away_never_admits(situation, data) -> None:
    if isinstance(situation.approvals, Unknown) or not situation.approvals:
        return
    gone = data.draw(st.sampled_from(situation.approvals))
    if gone.revoked:
        return  # deleting a revocation takes a no away, not a yes; RBAC keeps deletion from reviewers
    fewer = [item for item in situation.approvals if item is not gone]
    assert situation.decide().allowed or not situation.decide(approvals=fewer).allowed


@examples
@given(situations(), approvals)
def test_a_revocation_never_admits(situation, extra) -> None:
    if isinstance(situation.approvals, Unknown):
        return
    more = [*situation.approvals, replace(extra, revoked=True, name="revocation")]
    assert situation.decide().allowed or not situation.decide(approvals=more).allowed


@examples
@given(situations(), st.data())
def test_revoking_an_approval_never_admits(situation, data) -> None:
    if isinstance(situation.approvals, Unknown) or not situation.approvals:
        return
    place = data.draw(st.integers(0, len(situation.approvals) - 1))
    revoked = list(situation.approvals)
    revoked[place] = replace(revoked[place], revoked=True)
    assert situation.decide().allowed or not situation.decide(approvals=revoked).allowed


@examples
@given(situations(), st.integers(0, 10))
def test_time_alone_never_admits(situation, seconds) -> None:
    assert situation.decide().allowed or not situation.decide(NOW + timedelta(seconds=seconds)).allowed


STRICTER = [
    lambda rule: replace(rule, required_approvals=rule.required_approvals + 1),
    lambda rule: replace(rule, delivery_subjects=rule.delivery_subjects | {"alice"}),
    lambda rule: replace(rule, max_approval_age=min(rule.max_approval_age or HOUR, HOUR)),
    lambda rule: replace(rule, agents=AgentSelector(everything=True)),
    lambda rule: replace(rule, review_on=ReviewOn.ANY_CHANGE),
]


@examples
@given(situations(), st.sampled_from(STRICTER))
def test_a_stricter_policy_never_admits(situation, stricter) -> None:
    if isinstance(situation.policies, Unknown):
        return
    changed = PolicySet(stricter(situation.policies.default))
    assert situation.decide().allowed or not situation.decide(policies=changed).allowed


@examples
@given(situations())
def test_approvals_that_nobody_vouches_for_never_admit(situation) -> None:
    if isinstance(situation.approvals, Unknown):
        return
    forged = [replace(item, origin_verified=False) for item in situation.approvals]
    others = {
        name: given
        if isinstance(given, Unknown)
        else [replace(item, origin_verified=False) for item in given]
        for name, given in (situation.other_approvals or {}).items()
    }
    decision = situation.decide(approvals=forged, other_approvals=others)
    assert not decision.allowed or decision.inventory is None


def _places(situation: Situation) -> list[tuple[str, str | None]]:
    single = [(name, None) for name in ("policies", "approvals", "may_exempt")]
    return [
        *single,
        *(("live", name) for name in NAMES),
        *(("other_approvals", name) for name in SNAPSHOT_NAMES),
        *(("snapshots", name) for name in SNAPSHOT_NAMES),
    ]


def _with(situation: Situation, place: tuple[str, str | None], value: Any) -> Decision:
    name, key = place
    if key is None:
        return situation.decide(**{name: value})
    known = {other: held for other, held in (getattr(situation, name) or {}).items() if other != key}
    return situation.decide(**{name: known if value is _UNREAD else known | {key: value}})


_UNREAD = object()
_VALUES = {
    "policies": policies,
    "approvals": approval_lists,
    "may_exempt": st.booleans(),
    "live": catalogs,
    "snapshots": reviewed,
    "other_approvals": approval_lists,
}


@examples
@given(situations(), st.data())
def test_unknown_admits_only_what_does_not_depend_on_it(situation, data) -> None:
    place = data.draw(st.sampled_from(_places(situation)))
    lost = data.draw(unknowns if place[1] is None else st.one_of(unknowns, st.just(_UNREAD)))
    if not _with(situation, place, lost).allowed:
        return
    assert situation.decide().allowed
    assert _with(situation, place, data.draw(_VALUES[place[0]])).allowed


@examples
@given(situations(), st.randoms())
def test_the_order_of_what_was_read_does_not_matter(situation, random) -> None:
    changed = {}
    for name in ("live", "snapshots"):
        items = list(getattr(situation, name).items())
        random.shuffle(items)
        changed[name] = dict(items)
    if not isinstance(situation.approvals, Unknown):
        listed = list(situation.approvals)
        random.shuffle(listed)
        changed["approvals"] = listed
    assert situation.decide(**changed) == situation.decide()


@examples
@given(situations(), st.sampled_from([None, *SNAPSHOT_NAMES]))
def test_the_baseline_has_no_part_in_the_verdict(situation, baseline) -> None:
    before, after = situation.decide(), situation.decide(baseline=baseline)
    assert replace(before, baseline=None, differences=()) == replace(after, baseline=None, differences=())


@examples
@given(situations())
def test_an_admission_of_a_governed_change_has_its_quorum(situation) -> None:
    """The decision once more, as the few sentences of DESIGN 4 have it."""
    decision = situation.decide()
    if not decision.allowed or decision.inventory is None:
        return
    governed_by = situation.live[decision.inventory]
    wanted = situation.new.snapshot or snapshot_name(decision.inventory, governed_by.digest)
    name = decision.snapshot if decision.minor_change else wanted
    assert decision.snapshot == name
    held = situation.snapshots[name]
    assert held.inventory_name == decision.inventory
    assert differences(held.catalog, governed_by) == decision.differences
    given = {**(situation.other_approvals or {}), wanted: situation.approvals}
    if decision.minor_change:
        assert situation.policies.default.review_on is ReviewOn.MATERIAL_CHANGE
        assert held.catalog.digest in governed_by.minor_change_of
        assert situation.new.snapshot in {None, name}
        of_live = given[snapshot_name(decision.inventory, governed_by.digest)]
        assert not [item for item in of_live if item.revoked and item.catalog_digest == governed_by.digest]
    else:
        assert decision.differences == ()
    mine = [
        item
        for item in given[name]
        if (item.snapshot_name, item.snapshot_digest) == (name, held.evidence.digest)
        and item.catalog_digest == held.catalog.digest
    ]
    rule = situation.policies.default
    age = rule.max_approval_age or timedelta.max
    taken_back = {item.approved_by for item in mine if item.revoked}
    standing = {
        item.approved_by
        for item in mine
        if item.origin_verified
        and (item.expires_at is None or item.expires_at > NOW)
        and (item.created_at is None or NOW - item.created_at < age)
    }
    assert len(standing - taken_back - rule.delivery_subjects) >= rule.required_approvals

"""CatalogPolicy beyond the quorum: agents, delivery subjects, the age of approvals, and their origin."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.build import NOW, approval, binding, catalog, snapshot, workload
from toolvet.core.approval import ApprovalState, approval_state, ends_at
from toolvet.core.decision import Decision, Unknown, decide
from toolvet.core.policy import BUILT_IN, AgentSelector, Policy, PolicySet
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload

LIVE = catalog(binding("search"))
REVIEWED = snapshot("assistant", LIVE)
ALICE = replace(approval(REVIEWED, "alice"), created_at=NOW - timedelta(days=30))
BOB = replace(approval(REVIEWED, "bob"), created_at=NOW - timedelta(days=1))
FREE = workload("worker")


def judged(policy: Policy, *approvals, new: Workload | None = None, **given) -> Decision:
    facts = {"live": {"assistant": LIVE, "worker": None}, "old": None, **given}
    return decide(
        facts.pop("policies", PolicySet(policy)),
        facts.pop("live"),
        {REVIEWED.name: REVIEWED},
        approvals,
        facts.pop("old"),
        new or workload(),
        NOW,
        namespace="team-a",
        **facts,
    )


AGENTS = [
    ("all", AgentSelector(everything=True), FREE, True),
    ("its account", AgentSelector(service_accounts=frozenset({"worker"})), FREE, True),
    ("another account", AgentSelector(service_accounts=frozenset({"other"})), FREE, False),
    ("its labels", AgentSelector(labels={"a": "1"}), replace(FREE, labels=(("a", "1"), ("b", "2"))), True),
    (
        "half its labels",
        AgentSelector(labels={"a": "1", "c": "3"}),
        replace(FREE, labels=(("a", "1"),)),
        False,
    ),
    ("another value", AgentSelector(labels={"a": "2"}), replace(FREE, labels=(("a", "1"),)), False),
    ("no labels asked for", AgentSelector(labels={}), replace(FREE, labels=(("a", "1"),)), False),
    ("nothing", AgentSelector(), FREE, False),
]


@pytest.mark.parametrize(
    ("agents", "new", "picked"), [row[1:] for row in AGENTS], ids=[row[0] for row in AGENTS]
)
def test_an_ungoverned_agent_is_refused(agents: AgentSelector, new: Workload, picked: bool) -> None:
    decision = judged(Policy(agents=agents), new=new)
    assert decision.reason == (Reason.BINDING_MISSING if picked else None)


def test_exempting_does_not_free_an_agent() -> None:
    bound = workload("worker", inventory="assistant")
    free = replace(FREE, template="another")
    decision = judged(Policy(agents=AgentSelector(everything=True)), new=free, old=bound, may_exempt=True)
    assert decision.reason is Reason.BINDING_MISSING


def test_a_governed_agent_is_judged_by_its_catalog() -> None:
    policy = Policy(agents=AgentSelector(everything=True))
    assert judged(policy, BOB).allowed
    assert judged(policy).reason is Reason.NOT_APPROVED


@pytest.mark.parametrize("unknown", list(Unknown))
def test_an_unknown_policy_admits_nothing_not_even_what_nothing_governs(unknown: Unknown) -> None:
    assert judged(Policy(), new=FREE, policies=unknown).reason is unknown.reason


def test_a_delivery_subject_never_counts() -> None:
    policy = Policy(required_approvals=2, delivery_subjects=frozenset({"bob"}))
    decision = judged(policy, ALICE, BOB)
    assert decision.reason is Reason.NOT_APPROVED
    assert decision.approvals is not None
    assert decision.approvals.counted == (ALICE.name,)
    assert approval_state(BOB, REVIEWED, policy, NOW) is ApprovalState.DELIVERED


@pytest.mark.parametrize(("age", "allowed"), [(timedelta(days=31), True), (timedelta(days=30), False)])
def test_an_approval_ages(age: timedelta, allowed: bool) -> None:
    decision = judged(Policy(max_approval_age=age), ALICE)
    assert decision.allowed is allowed
    assert allowed or decision.reason is Reason.APPROVAL_EXPIRED


def test_the_first_end_counts() -> None:
    soon, late = NOW + timedelta(days=1), NOW + timedelta(days=99)
    policy = Policy(max_approval_age=timedelta(days=60))
    assert ends_at(replace(ALICE, expires_at=soon), policy) == soon
    assert ends_at(replace(ALICE, expires_at=late), policy) == NOW + timedelta(days=30)
    assert ends_at(ALICE, Policy()) is None


def test_an_approval_of_unverified_origin_does_not_count() -> None:
    forged = replace(BOB, origin_verified=False)
    decision = judged(Policy(), forged)
    assert decision.reason is Reason.UNVERIFIED_ORIGIN
    assert judged(Policy(), forged, ALICE).allowed


def test_a_revocation_counts_whatever_its_origin() -> None:
    revoked = replace(BOB, revoked=True, origin_verified=False, name="older")
    assert judged(Policy(), revoked, BOB).reason is Reason.APPROVAL_REVOKED


def test_an_override_holds_where_it_is_named() -> None:
    policies = PolicySet(Policy(), {"team-a": Policy(agents=AgentSelector(everything=True))})
    assert judged(Policy(), new=FREE, policies=policies).reason is Reason.BINDING_MISSING
    assert policies.for_namespace("team-b") == BUILT_IN.default

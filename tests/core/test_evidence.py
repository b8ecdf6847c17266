"""Which snapshots and approvals count: names select, contents decide, approvers are counted once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.build import NOW, OTHER_RUN, approval, snapshot
from core.situation import ALICE, BOB, CHANGED, LIVE, REVIEWED, judged
from toolvet.core.policy import BUILT_IN, Policy, PolicySet
from toolvet.core.reasons import Reason

TWO = PolicySet(Policy(required_approvals=2))
SECOND = timedelta(seconds=1)


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

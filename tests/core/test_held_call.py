"""The digest of arguments, the names of held calls and their end, and what an account's rules come to."""

import json
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_jcs import values

from toolvet.core.call_rules import AccountRules, BlockReason
from toolvet.core.enablement import EffectiveRule
from toolvet.core.errors import ContractError
from toolvet.core.held_call import (
    KEPT,
    MAX_ARGUMENTS,
    SLOTS,
    arguments_digest,
    free_slot,
    hours_at,
    is_over,
    slot_names,
)
from toolvet.core.jcs import MAX_SAFE_INTEGER
from toolvet.core.tool_account import AccountRule, CallPhase, HeldCall

CANARY = "zqcanary7"
NOON = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)
TOOL = "tool:org.example/read"
SEEN, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64

objects = st.dictionaries(st.text(), values, max_size=4)


def depth(levels: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


@given(objects, objects)
def test_two_arguments_have_one_digest_exactly_when_they_are_the_same_json(
    one: dict[str, object], other: dict[str, object]
) -> None:
    def same(value: object) -> str:
        return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)

    assert (arguments_digest(one) == arguments_digest(other)) == (same(one) == same(other))
    assert arguments_digest(dict(reversed(one.items()))) == arguments_digest(one)


def test_the_digest_is_stable() -> None:
    """It stands in stored objects: another release must come to the same."""
    assert arguments_digest({"path": "/a", "n": 1}) == arguments_digest({"n": 1.0, "path": "/a"})
    assert arguments_digest({}) == ("sha256:c1f0a8edd0d5d97a9bcbebbe7fd7033ce99e034577e96024984ac82cf90bb14b")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([CANARY], "invalid_type"),
        (None, "invalid_type"),
        ({CANARY: object()}, "invalid_type"),
        ({1: CANARY}, "invalid_type"),
        ({CANARY: float("nan")}, "non_finite_number"),
        ({CANARY: "\ud800"}, "invalid_encoding"),
        ({CANARY: MAX_SAFE_INTEGER + 1}, "not_canonical"),
        ({CANARY: "x" * MAX_ARGUMENTS}, "too_large"),
        (depth(70), "too_deep"),
    ],
)
def test_what_is_no_json_has_no_digest_and_is_not_repeated(arguments: object, code: str) -> None:
    with pytest.raises(ContractError) as caught:
        arguments_digest(arguments)
    assert str(caught.value) == f"arguments: {code}"
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_names_are_of_one_account_and_one_hour() -> None:
    subject = "system:serviceaccount:team-a:assistant"
    names = slot_names(subject, NOON + timedelta(minutes=59))
    assert names[0] == "system-serviceaccount-team-a-assistant.2030-01-31t12.0"
    assert len(set(names)) == SLOTS
    assert not set(names) & set(slot_names(subject, NOON + timedelta(hours=1)))
    assert slot_names("a" * 240, NOON) == slot_names(":", NOON) == ()
    assert free_slot(subject, NOON, ()) == names[0]
    assert free_slot(subject, NOON, names[:1] + names[2:]) == names[1]
    assert free_slot(subject, NOON, names) is None


@pytest.mark.parametrize(("minute", "hours"), [(0, (12, 11)), (29, (12, 11)), (30, (12, 13)), (59, (12, 13))])
def test_the_nearest_other_hour(minute: int, hours: tuple[int, int]) -> None:
    assert tuple(hour.hour for hour in hours_at(NOON + timedelta(minutes=minute, seconds=30))) == hours


def test_a_call_goes_an_hour_after_its_end() -> None:
    end = NOON + timedelta(hours=3)
    call = HeldCall("n", "e", TOOL, SEEN, OTHER, "a", end)
    for phase in CallPhase:
        item = replace(call, phase=phase)
        assert is_over(item, None, end + KEPT)
        assert not is_over(item, None, end + KEPT - timedelta(seconds=1))
        assert is_over(item, NOON, NOON + KEPT) is (phase is CallPhase.CONSUMED)


RULES = AccountRules(
    account="a",
    enablement_name="files.a",
    subject="a",
    is_current=True,
    observed_until=NOON,
    rules=(EffectiveRule(TOOL, "1.0.0", AccountRule.ALLOWED, SEEN),),
)


def ruled(*rules: tuple[AccountRule, str | None]) -> AccountRules:
    return replace(RULES, rules=tuple(EffectiveRule(TOOL, "1.0.0", rule, seen) for rule, seen in rules))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (RULES, AccountRule.ALLOWED),
        (replace(RULES, enablement_name=None), BlockReason.ENABLEMENT_MISSING),
        (replace(RULES, subject=None), BlockReason.ENABLEMENT_MISSING),
        (replace(RULES, subject="b"), BlockReason.NOT_THE_SUBJECT),
        (replace(RULES, is_current=False), BlockReason.RULES_NOT_READY),
        (replace(RULES, observed_until=None), BlockReason.NOT_OBSERVED),
        (replace(RULES, observed_until=NOON - timedelta(seconds=2)), BlockReason.NOT_OBSERVED),
        (replace(RULES, rules=()), BlockReason.UNKNOWN_TOOL),
        (ruled((AccountRule.ALLOWED, OTHER)), BlockReason.DEFINITION_MISMATCH),
        (ruled((AccountRule.ALLOWED, None)), BlockReason.DEFINITION_MISMATCH),
        (ruled((AccountRule.ASK_FIRST, SEEN)), AccountRule.ASK_FIRST),
        (ruled((AccountRule.BLOCKED, SEEN)), BlockReason.RULE_BLOCKED),
        (ruled((AccountRule.ALLOWED, SEEN), (AccountRule.ASK_FIRST, SEEN)), AccountRule.ASK_FIRST),
        (ruled((AccountRule.BLOCKED, SEEN), (AccountRule.ALLOWED, SEEN)), BlockReason.RULE_BLOCKED),
    ],
)
def test_whatever_is_not_known_is_blocked(rules: AccountRules, expected: object) -> None:
    assert rules.ruling(TOOL, SEEN, NOON - timedelta(seconds=1)) is expected

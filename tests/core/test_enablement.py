"""Laws of what waits for an account, over random histories of two tools and the server's instructions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolvet.core.change_reason import ChangeReason, ChangeResult
from toolvet.core.enablement import Standing, standing
from toolvet.core.tool_account import (
    AccountRule,
    Acknowledgement,
    ChangeEvent,
    Components,
    Enablement,
    RecordedChange,
)

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
TOOLS = ("tool:org.example/read", "tool:org.example/write")
SERVED = {(tool, "1.0.0"): f"sha256:{number:064x}" for number, tool in enumerate(TOOLS)}
NAMES = [f"notes-{number}" for number in range(8)]


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def at(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


def recorded(name: str, second: int, tool: str | None = TOOLS[0], **members: object) -> RecordedChange:
    before, after = members.pop("before", digest(1)), members.pop("after", digest(2))
    given_ = RecordedChange(
        name=name,
        source_name="notes",
        source_uid="01234567-89ab-cdef-0123-456789abcdef",
        tool_id=tool,
        version=None if tool is None else "1.0.0",
        event=ChangeEvent.CHANGED if after else ChangeEvent.REMOVED,
        severity=ChangeResult.MATERIAL,
        literal_severity=ChangeResult.MATERIAL,
        reasons=(ChangeReason.DESCRIPTION_CHANGED,),
        flags=(),
        before=Components(before),
        after=Components(after) if after else None,
        evidence_secret_name=None,
        created_at=at(second),
    )
    return replace(given_, **members)


def enabled(second: int = 0, rule: AccountRule = AccountRule.ALLOWED, **members: object) -> Enablement:
    return replace(Enablement("notes.a", "a", "notes", rule, {}, (), at(second)), **members)


def acknowledging(enablement: Enablement, *changes: RecordedChange) -> Enablement:
    more = tuple(Acknowledgement(change.name, change.acknowledged_by) for change in changes)
    return replace(enablement, acknowledged=enablement.acknowledged + more)


def waiting(found: Standing) -> list[str]:
    return [change.change_name for change in found.pending]


def rules(found: Standing) -> dict[str, AccountRule]:
    return {rule.tool_id: rule.rule for rule in found.rules}


@st.composite
def histories(draw: st.DrawFn) -> list[RecordedChange]:
    return [
        recorded(
            name,
            draw(st.integers(0, 6)),
            draw(st.sampled_from((*TOOLS, None))),
            severity=draw(st.sampled_from((ChangeResult.MATERIAL, ChangeResult.MINOR))),
            source_name=draw(st.sampled_from(("notes", "notes", "notes", "other"))),
            before=digest(draw(st.integers(1, 3))),
            after=draw(st.sampled_from((digest(4), digest(5), None))),
        )
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    ]


@st.composite
def accounts(draw: st.DrawFn) -> Enablement:
    acknowledged = draw(
        st.lists(st.builds(Acknowledgement, st.sampled_from(NAMES), st.integers(1, 5).map(digest)))
    )
    return enabled(
        draw(st.integers(0, 6)),
        draw(st.sampled_from(AccountRule)),
        rules=draw(st.dictionaries(st.sampled_from(TOOLS), st.sampled_from(AccountRule))),
        acknowledged=tuple(acknowledged),
    )


@given(accounts(), histories(), st.randoms())
def test_the_order_of_the_changes_plays_no_part(account, changes, random):
    shuffled = random.sample(changes, len(changes))
    assert standing(account, SERVED, shuffled) == standing(account, SERVED, changes)


@given(accounts(), histories())
def test_what_waits_is_material_of_this_source_and_not_older_than_the_account(account, changes):
    by_name = {change.name: change for change in changes}
    found = [by_name[name] for name in waiting(standing(account, SERVED, changes))]
    for change in found:
        assert change.severity is ChangeResult.MATERIAL
        assert change.source_name == "notes"
        assert change.created_at >= account.created_at
        assert Acknowledgement(change.name, change.acknowledged_by) not in account.acknowledged
    assert found == sorted(found, key=lambda change: (change.created_at, change.name))


@given(accounts(), histories())
def test_a_rule_is_the_chosen_one_or_ask_first_instead_of_allowed(account, changes):
    found = standing(account, SERVED, changes)
    asked = {change.tool_id for change in found.pending}
    for tool_id, rule in rules(found).items():
        chosen = account.rules.get(tool_id, account.default_rule)
        if chosen is AccountRule.ALLOWED and asked & {tool_id, None}:
            assert rule is AccountRule.ASK_FIRST
        else:
            assert rule is chosen


@given(accounts(), histories(), st.data())
def test_an_acknowledgement_only_takes_away_and_only_of_its_own_tool(account, changes, data):
    before = waiting(standing(account, SERVED, changes))
    if not before:
        return
    by_name = {change.name: change for change in changes}
    chosen = by_name[data.draw(st.sampled_from(before))]
    after = waiting(standing(acknowledging(account, chosen), SERVED, changes))
    assert chosen.name not in after
    assert set(after) < set(before)
    for name in set(before) - set(after):
        gone = by_name[name]
        assert (gone.tool_id, gone.before) == (chosen.tool_id, chosen.before)
        assert gone.created_at <= chosen.created_at


@given(accounts(), histories())
def test_acknowledging_everything_restores_every_rule(account, changes):
    found = standing(acknowledging(account, *changes), SERVED, changes)
    assert found.pending == ()
    assert rules(found) == {tool: account.rule(tool) for tool in TOOLS}


@given(accounts(), accounts(), histories())
def test_what_another_account_acknowledges_changes_nothing(mine, theirs, changes):
    before = standing(mine, SERVED, changes)
    standing(acknowledging(theirs, *changes), SERVED, changes)
    assert standing(mine, SERVED, changes) == before


@given(accounts(), histories(), st.integers(0, 7))
def test_a_newer_change_never_clears_an_older_one(account, changes, second):
    """A revert is a newer change back to what was: what waited goes on waiting."""
    revert = recorded("revert", second, TOOLS[0], before=digest(2), after=digest(1))
    before = set(waiting(standing(account, SERVED, changes)))
    assert before <= set(waiting(standing(account, SERVED, [*changes, revert])))


def test_a_change_of_the_very_second_waits_and_one_before_does_not():
    changes = [recorded("notes-1", 4), recorded("notes-2", 5), recorded("notes-3", 6)]
    assert waiting(standing(enabled(5), SERVED, changes)) == ["notes-2", "notes-3"]


def test_the_newest_acknowledged_settles_what_it_holds_and_a_newer_one_waits():
    changes = [recorded(f"notes-{second}", second) for second in (1, 2, 3)]
    account = acknowledging(enabled(), changes[1])
    assert waiting(standing(account, SERVED, changes)) == ["notes-3"]
    assert rules(standing(account, SERVED, changes))[TOOLS[0]] is AccountRule.ASK_FIRST
    assert rules(standing(account, SERVED, changes[:2]))[TOOLS[0]] is AccountRule.ALLOWED


def test_one_that_was_compared_with_another_baseline_shows_something_else():
    first = recorded("notes-1", 1, before=digest(1), after=digest(2))
    second = recorded("notes-2", 2, before=digest(2), after=digest(3))
    account = acknowledging(enabled(), second)
    assert waiting(standing(account, SERVED, [first, second])) == ["notes-1"]


def test_an_acknowledgement_of_another_definition_counts_for_nothing():
    change = recorded("notes-1", 1)
    account = enabled(acknowledged=(Acknowledgement("notes-1", digest(9)),))
    assert waiting(standing(account, SERVED, [change])) == ["notes-1"]


def test_a_removal_is_acknowledged_by_what_was_there():
    gone = recorded("notes-1", 1, before=digest(7), after=None)
    found = standing(enabled(), SERVED, [gone])
    assert [change.fingerprint for change in found.pending] == [digest(7)]
    assert standing(acknowledging(enabled(), gone), SERVED, [gone]).pending == ()


def test_the_instructions_of_the_server_hold_for_every_tool():
    found = standing(enabled(), SERVED, [recorded("notes-1", 1, None)])
    assert set(rules(found).values()) == {AccountRule.ASK_FIRST}


@pytest.mark.parametrize("rule", [AccountRule.ASK_FIRST, AccountRule.BLOCKED])
def test_only_allowed_is_lowered(rule):
    found = standing(enabled(rule=rule), SERVED, [recorded("notes-1", 1)])
    assert set(rules(found).values()) == {rule}


def test_without_times_everything_waits():
    assert waiting(standing(enabled(created_at=None), SERVED, [recorded("notes-1", 1)])) == ["notes-1"]
    assert waiting(standing(enabled(9), SERVED, [recorded("notes-1", 1, created_at=None)])) == ["notes-1"]

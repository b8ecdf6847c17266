"""What waits for one account, and what it may do meanwhile."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from toolvet.core.change_reason import ChangeReason, ChangeResult
from toolvet.core.tool_account import (
    AccountRule,
    Acknowledgement,
    ChangeEvent,
    Components,
    Enablement,
    HeldCall,
    RecordedChange,
    enablement_name,
)

START = datetime(2030, 1, 1, tzinfo=UTC)
TOOL, OTHER = "tool:a.b/c", "tool:a.b/d"


def recorded(name: str, seconds: int, tool_id: str | None = TOOL, **members: object) -> RecordedChange:
    change = RecordedChange(
        name=name,
        source_name="notes",
        source_uid="uid",
        tool_id=tool_id,
        version="1.0.0",
        event=ChangeEvent.CHANGED,
        severity=ChangeResult.MATERIAL,
        literal_severity=ChangeResult.MATERIAL,
        reasons=(ChangeReason.DESCRIPTION_CHANGED,),
        flags=(),
        before=Components("before"),
        after=Components(f"after-{name}"),
        evidence_secret_name=None,
        created_at=START + timedelta(seconds=seconds),
    )
    return replace(change, **members)


def enabled(*acknowledged: str, seconds: int = 0) -> Enablement:
    seen = tuple(Acknowledgement(name, f"after-{name}") for name in acknowledged)
    created = START + timedelta(seconds=seconds)
    return Enablement("notes.alice", "alice", "notes", AccountRule.ALLOWED, {}, seen, created)


def names(enablement: Enablement, *changes: RecordedChange) -> list[str]:
    return [change.name for change in enablement.waiting(changes)]


def test_only_what_was_recorded_in_the_second_of_the_enablement_or_later_waits() -> None:
    changes = recorded("old", -1), recorded("same", 0), recorded("new", 1)
    assert names(enabled(), *changes) == ["same", "new"]
    assert names(enabled(seconds=2), *changes) == []
    # Nothing is known of a time: it waits.
    assert names(enabled(seconds=2), recorded("a", 0, created_at=None)) == ["a"]


def test_minor_changes_and_those_of_other_sources_never_wait() -> None:
    assert names(enabled(), recorded("a", 1, severity=ChangeResult.MINOR)) == []
    assert names(enabled(), recorded("a", 1, source_name="other")) == []
    assert names(enabled(), recorded("a", 1, source_uid="made anew")) == ["a"]


def test_an_acknowledgement_settles_its_tool_until_then_and_no_newer_change() -> None:
    changes = recorded("a", 1), recorded("b", 2), recorded("c", 3), recorded("d", 1, OTHER)
    assert names(enabled("b"), *changes) == ["d", "c"]
    assert names(enabled("c", "d"), *changes) == []
    # Within one second nobody knows which came first.
    assert names(enabled("b"), recorded("a", 2), recorded("b", 2)) == ["a"]


def test_an_acknowledgement_settles_only_what_was_compared_with_the_same_baseline() -> None:
    older = recorded("a", 1, before=Components("before that"))
    assert names(enabled("b"), older, recorded("b", 2)) == ["a"]


def test_an_acknowledgement_of_another_definition_counts_for_nothing() -> None:
    wrong = replace(enabled(), acknowledged=(Acknowledgement("a", "before"),))
    assert names(wrong, recorded("a", 1)) == ["a"]
    removed = recorded("a", 1, event=ChangeEvent.REMOVED, after=None)
    assert names(wrong, removed) == []


@pytest.mark.parametrize("tool_id", [TOOL, None])
def test_allowed_asks_first_while_a_change_of_the_tool_or_the_server_waits(tool_id: str | None) -> None:
    waiting = enabled().waiting([recorded("a", 1, tool_id)])
    assert enabled().effective_rule(TOOL, waiting) is AccountRule.ASK_FIRST
    assert enabled().effective_rule(TOOL, []) is AccountRule.ALLOWED
    expected = AccountRule.ALLOWED if tool_id else AccountRule.ASK_FIRST
    assert enabled().effective_rule(OTHER, waiting) is expected
    blocked = replace(enabled(), rules={TOOL: AccountRule.BLOCKED})
    assert blocked.effective_rule(TOOL, waiting) is AccountRule.BLOCKED


def test_names_of_enablements() -> None:
    assert (
        enablement_name("notes", "system:serviceaccount:team-a:Bot")
        == "notes.system-serviceaccount-team-a-bot"
    )
    assert enablement_name("notes", "--a@b--") == "notes.a-b"
    assert enablement_name("notes", "\u0130\u212a") is None
    assert enablement_name("notes", "a" * 248) is None


def test_a_call_ends_at_its_expiry() -> None:
    call = HeldCall("a", "notes.alice", TOOL, "f", "d", "alice", START)
    assert call.is_live(START - timedelta(microseconds=1))
    assert not call.is_live(START)

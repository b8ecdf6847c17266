"""Changes of live tools, and what they mean for one account that uses them (CONTRACTS 13).

A change is one fact of a source; whether it waits is decided for each account by its own enablement and
acknowledgements, and never by anybody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from toolvet.core.change_reason import ChangeReason, ChangeResult, ToolFlag


class ChangeEvent(StrEnum):
    """What became of the tool."""

    CHANGED = "Changed"
    REMOVED = "Removed"
    RETURNED = "Returned"
    """It is back after a removal, and compared with what it was before that."""


class AccountRule(StrEnum):
    """What an account may do with a tool."""

    ALLOWED = "Allowed"
    ASK_FIRST = "AskFirst"
    BLOCKED = "Blocked"


class CallPhase(StrEnum):
    """What became of a held call."""

    HELD = "Held"
    APPROVED = "Approved"
    DENIED = "Denied"
    CONSUMED = "Consumed"


SEVERITIES: Final[Mapping[str, ChangeResult]] = {
    "Material": ChangeResult.MATERIAL,
    "Minor": ChangeResult.MINOR,
    "None": ChangeResult.NONE,
}
"""How resources write the class of a change."""


MAX_NAME: Final = 253
"""Characters of an object name in Kubernetes."""


def account_name(subject: str) -> str:
    """Return how a subject is written in names of objects; empty where nothing of it can be.

    In lower case, with one hyphen for every run of other characters than ASCII letters and digits. Two
    subjects may come to one name.
    """
    return "-".join(
        "".join(char.lower() if char.isascii() and char.isalnum() else " " for char in subject).split()
    )


def enablement_name(source_name: str, subject: str) -> str | None:
    """Return the name that the API server demands of an enablement; None where there can be none.

    Of two subjects that come to one name, the second has none.
    """
    account = account_name(subject)
    name = f"{source_name}.{account}"
    return name if account and len(name) <= MAX_NAME else None


@dataclass(frozen=True, slots=True)
class Components:
    """The digests of one side of a change; of a malformed definition only the exact one is known."""

    fingerprint: str
    contract: str | None = None
    hints: str | None = None
    rest: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A ToolChange; ``tool_id`` is None for the instructions of the server, ``after`` for a removal."""

    name: str
    source_name: str
    source_uid: str
    tool_id: str | None
    version: str | None
    event: ChangeEvent
    severity: ChangeResult
    literal_severity: ChangeResult
    reasons: tuple[ChangeReason, ...]
    flags: tuple[ToolFlag, ...]
    before: Components
    after: Components | None
    evidence_secret_name: str | None
    created_at: datetime | None

    @property
    def acknowledged_by(self) -> str:
        """The fingerprint that an acknowledgement of this change names."""
        return (self.after or self.before).fingerprint


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """One account's statement that it has seen a change."""

    change_name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Enablement:
    """A ToolEnablement; rules by tool id."""

    name: str
    subject: str
    source_name: str
    default_rule: AccountRule
    rules: Mapping[str, AccountRule]
    acknowledged: tuple[Acknowledgement, ...]
    created_at: datetime | None

    def rule(self, tool_id: str) -> AccountRule:
        """Return what the account chose for a tool."""
        return self.rules.get(tool_id, self.default_rule)

    def effective_rule(self, tool_id: str, waiting: Iterable[RecordedChange]) -> AccountRule:
        """Return what holds now: Allowed is AskFirst while a change of the tool, or of the server, waits."""
        chosen = self.rule(tool_id)
        if chosen is AccountRule.ALLOWED and any(change.tool_id in {None, tool_id} for change in waiting):
            return AccountRule.ASK_FIRST
        return chosen

    def waiting(self, changes: Iterable[RecordedChange]) -> list[RecordedChange]:
        """Return the material changes that wait for this account, oldest first.

        Those of its source that were recorded in the second of its creation or later (the API server's
        clock, whole seconds). Acknowledging one settles the older ones of the tool that were compared with
        the same baseline, since it holds all of them; one with another baseline showed something else, and
        waits. Sources go by name: one made anew starts nobody afresh. A change or an enablement without a
        time is not stored, and waits.
        """
        mine = [change for change in changes if self._concerns(change)]
        seen = {(item.change_name, item.fingerprint) for item in self.acknowledged}
        settled: dict[tuple[str | None, Components], datetime] = {}
        for change in mine:
            at, key = change.created_at, (change.tool_id, change.before)
            if (change.name, change.acknowledged_by) in seen and at is not None:
                settled[key] = max(settled.get(key, at), at)
        found = [
            change
            for change in mine
            if (change.name, change.acknowledged_by) not in seen and not _is_before(change, settled)
        ]
        return sorted(found, key=lambda change: (str(change.created_at or ""), change.name))

    def _concerns(self, change: RecordedChange) -> bool:
        if change.source_name != self.source_name or change.severity is not ChangeResult.MATERIAL:
            return False
        if change.created_at is None or self.created_at is None:
            return True
        return change.created_at >= self.created_at


def _is_before(change: RecordedChange, settled: Mapping[tuple[str | None, Components], datetime]) -> bool:
    at = settled.get((change.tool_id, change.before))
    return at is not None and change.created_at is not None and change.created_at < at


@dataclass(frozen=True, slots=True)
class HeldCall:
    """A HeldToolCall with its status."""

    name: str
    enablement_name: str
    tool_id: str
    definition_fingerprint: str
    arguments_digest: str
    requested_by: str
    expires_at: datetime
    phase: CallPhase = CallPhase.HELD
    decided_by: str | None = None
    consumption_id: str | None = None

    def is_live(self, now: datetime) -> bool:
        """Tell whether it can be approved or consumed yet; the API server asks its own clock the same."""
        return now < self.expires_at

"""What one account may call now, as its cluster says, and what that means for one tool.

Whatever is not known, not current or not of the definition that the caller sees is Blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from toolvet.core.enablement import EffectiveRule
from toolvet.core.held_call import StoredCall
from toolvet.core.tool_account import AccountRule, HeldCall
from toolvet.core.tool_source import IgnoredPath


class BlockReason(StrEnum):
    """Why a call is blocked."""

    ENABLEMENT_MISSING = "enablement_missing"
    """The account has not enabled the source, or nobody has for it."""
    NOT_THE_SUBJECT = "not_the_subject"
    """The enablement of this name is another account's."""
    RULES_NOT_READY = "rules_not_ready"
    """The collector has not worked out the rules of the enablement as it is."""
    NOT_OBSERVED = "not_observed"
    """The source was not completely listed within its maximum age."""
    UNKNOWN_TOOL = "unknown_tool"
    """The source does not serve a tool of this id."""
    DEFINITION_MISMATCH = "definition_mismatch"
    """The caller sees another definition than the rules were worked out for."""
    RULE_BLOCKED = "rule_blocked"
    """The account's own rule."""
    DENIED = "denied"
    """Somebody said no to exactly this call."""
    EXPIRED = "expired"
    """Nobody decided in time."""
    QUOTA_EXCEEDED = "quota_exceeded"
    """The account has asked for as many calls in this hour as it can."""


@dataclass(frozen=True, slots=True)
class AccountRules:
    """What the cluster says of one account's use of one source."""

    account: str
    """The user name of who asks."""
    enablement_name: str | None
    """None where the account cannot have an enablement of this source."""
    subject: str | None = None
    """Whose the enablement is; None where there is none."""
    is_current: bool = False
    """Whether the effective rules are known for the enablement as it is."""
    observed_until: datetime | None = None
    """Until when the last complete listing of the source counts; None where there is none."""
    rules: tuple[EffectiveRule, ...] = ()
    ignored_paths: tuple[IgnoredPath, ...] = ()
    """What the source's owner had taken out of definitions before they are fingerprinted."""

    def ruling(self, tool_id: str, fingerprint: str, now: datetime) -> AccountRule | BlockReason:
        """Return what holds for a tool with the definition of this fingerprint."""
        if self.enablement_name is None or self.subject is None:
            return BlockReason.ENABLEMENT_MISSING
        if self.subject != self.account:
            return BlockReason.NOT_THE_SUBJECT
        if not self.is_current:
            return BlockReason.RULES_NOT_READY
        if self.observed_until is None or now > self.observed_until:
            return BlockReason.NOT_OBSERVED
        of_tool = [rule for rule in self.rules if rule.tool_id == tool_id]
        if not of_tool:
            return BlockReason.UNKNOWN_TOOL
        found = {rule.rule for rule in of_tool if rule.definition_fingerprint == fingerprint}
        if not found:
            return BlockReason.DEFINITION_MISMATCH
        # Of two versions of one tool the stricter: which one is called is not known here.
        for strict in (AccountRule.BLOCKED, AccountRule.ASK_FIRST):
            if strict in found:
                return BlockReason.RULE_BLOCKED if strict is AccountRule.BLOCKED else strict
        return AccountRule.ALLOWED


class Held(StrEnum):
    """What became of a call that was to be held."""

    CREATED = "created"
    NAME_TAKEN = "name_taken"
    OTHER_HOUR = "other_hour"
    """By the clock of who holds it, it is not the hour of the name."""


class CallStore(Protocol):
    """Where an account's rules and held calls are. Each method raises CallStoreError where it cannot tell."""

    async def rules(self) -> AccountRules:
        """Read the rules as they are now."""

    async def calls(self) -> Sequence[StoredCall]:
        """Read every held call of the account, those of other sources included."""

    async def hold(self, call: HeldCall) -> Held:
        """Create a held call, if its name is free and of this hour."""

    async def consume(self, call: StoredCall, consumption_id: str) -> bool:
        """Consume an approved call as it was read; false where it is no longer that, or past its time.

        True for one caller only, however many try: the id is then the stored one.
        """

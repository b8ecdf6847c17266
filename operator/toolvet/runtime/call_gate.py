"""May this call be made now? Asked by the process that would make it, right before it does.

The answer is the cluster's: the account's effective rules, and where those say AskFirst, somebody's decision
for exactly this call. Arguments stay in the process; what is stored and compared is a digest of them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from toolvet.core.call_rules import BlockReason, CallStore, Held
from toolvet.core.errors import CallStoreError, ContractError
from toolvet.core.held_call import (
    MAX_LIFE,
    SLOTS,
    CallIdentity,
    StoredCall,
    arguments_digest,
    free_slot,
    hours_at,
)
from toolvet.core.identifiers import GovernanceKind, is_digest, parse_governance_id
from toolvet.core.json_identity import private_copy
from toolvet.core.tool_account import AccountRule, CallPhase
from toolvet.core.tool_definition import Definition
from toolvet.runtime.definition import definition_fingerprint as fingerprint_of

DEFAULT_LIFE: Final = timedelta(hours=1)
"""How long a held call waits for a decision and then for its one use."""
_ROUNDS: Final = 2 * SLOTS + 2
"""Each round of asking ends, or finds one slot or one approval taken by another."""
_TOKEN_BYTES: Final = 16


class CallVerdict(StrEnum):
    """What becomes of a call."""

    ALLOWED = "allowed"
    """Make it now, once."""
    HELD = "held"
    """Somebody has to decide; ask again later."""
    BLOCKED = "blocked"
    """Do not make it."""


@dataclass(frozen=True, slots=True)
class CallDecision:
    """The answer for one call. Only an allowed one is true."""

    verdict: CallVerdict
    reason: BlockReason | None = None
    """Why it is blocked."""
    call_name: str | None = None
    """The HeldToolCall that waits, or whose approval this call consumed."""
    expires_at: datetime | None = None
    """Until when a held call can be approved and consumed."""

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.verdict is CallVerdict.ALLOWED

    def __bool__(self) -> bool:
        return self.allowed


def _blocked(reason: BlockReason, call_name: str | None = None) -> CallDecision:
    return CallDecision(CallVerdict.BLOCKED, reason, call_name)


def _now() -> datetime:
    return datetime.now(UTC)


class CallGate:
    """Decides the calls of one account to the tools of one source; safe to use by many tasks at once."""

    def __init__(
        self,
        store: CallStore,
        *,
        life: timedelta = DEFAULT_LIFE,
        now: Callable[[], datetime] = _now,
        token: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        """``life`` is how long a held call waits, at most 24 hours; ContractError("life", "out_of_range")."""
        if not timedelta(0) < life < MAX_LIFE:
            raise ContractError("life", "out_of_range")
        self._store = store
        self._life = life
        self._now = now
        self._token = token

    async def decide(
        self,
        tool_id: str,
        arguments: object,
        *,
        definition: Definition | None = None,
        definition_fingerprint: str | None = None,
    ) -> CallDecision:
        """Decide one call; each allowed answer is for one call.

        ``definition`` is the tool as the session listed it, raw; or give its fingerprint. ``arguments`` is
        the object that the tool is called with: it is taken as it is at this moment.

        Raises ContractError: those of ``parse_governance_id``, and ``tool_id: version_must_be_separate``;
        ``arguments`` with the codes of ``arguments_digest``; ``definition: one_of`` where not exactly one of
        the two is given; ``definition_fingerprint: invalid_digest``; those of ``definition_fingerprint``.
        CallStoreError where the cluster could not be asked. No error holds a part of what was given, and none
        is an answer: the call is not allowed.
        """
        digest = arguments_digest(arguments)
        _check_tool(tool_id)
        if (definition is None) == (definition_fingerprint is None):
            raise ContractError("definition", "one_of")
        if definition_fingerprint is not None and not is_digest(definition_fingerprint):
            raise ContractError("definition_fingerprint", "invalid_digest")
        shown = _copy(definition)
        rules = await self._store.rules()
        fingerprint = definition_fingerprint or fingerprint_of(shown, rules.ignored_paths)
        ruling = rules.ruling(tool_id, fingerprint, self._now())
        if ruling is AccountRule.ALLOWED:
            return CallDecision(CallVerdict.ALLOWED)
        if ruling is not AccountRule.ASK_FIRST or rules.enablement_name is None:
            return _blocked(ruling if isinstance(ruling, BlockReason) else BlockReason.RULE_BLOCKED)
        return await self._ask(
            CallIdentity(rules.enablement_name, tool_id, fingerprint, digest, rules.account)
        )

    async def decide_within(
        self,
        seconds: float,
        tool_id: str,
        arguments: object,
        *,
        poll: float = 2.0,
        definition: Definition | None = None,
        definition_fingerprint: str | None = None,
    ) -> CallDecision:
        """Decide one call; where it is held wait for somebody's decision, looking every ``poll`` seconds.

        Still held after ``seconds``, the answer is that. Past the time of the held call it is blocked,
        expired. Otherwise as ``decide``; do not change the arguments meanwhile.
        """
        import asyncio  # noqa: PLC0415  # half of what the whole runtime costs to import; whoever awaits has it

        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            decision = await self.decide(
                tool_id,
                arguments,
                definition=definition,
                definition_fingerprint=definition_fingerprint,
            )
            left = deadline - asyncio.get_running_loop().time()
            if decision.expires_at is None or left <= 0:
                return decision
            await asyncio.sleep(min(poll, left))
            if self._now() >= decision.expires_at:
                # To decide once more would ask once more.
                return _blocked(BlockReason.EXPIRED, decision.call_name)

    async def _ask(self, identity: CallIdentity) -> CallDecision:
        taken: set[str] = set()
        other_hour = False
        spent: set[tuple[str, str]] = set()
        for _ in range(_ROUNDS):
            stored = await self._store.calls()
            now = self._now()
            mine = [
                item
                for item in stored
                if identity.is_of(item.call)
                and item.call.is_live(now)
                and (item.call.name, item.version) not in spent
            ]
            approved = _first(mine, CallPhase.APPROVED)
            if approved is not None:
                if await self._store.consume(approved, self._token(_TOKEN_BYTES)):
                    return CallDecision(CallVerdict.ALLOWED, call_name=approved.call.name)
                spent.add((approved.call.name, approved.version))
                continue
            # After an approval: somebody who denies a second one of the same call takes no yes back.
            denied = _first(mine, CallPhase.DENIED)
            if denied is not None:
                return _blocked(BlockReason.DENIED, denied.call.name)
            held = _first(mine, CallPhase.HELD)
            if held is not None:
                return CallDecision(CallVerdict.HELD, None, held.call.name, held.call.expires_at)
            hour = hours_at(now)[other_hour]
            name = free_slot(identity.requested_by, hour, taken | {item.call.name for item in stored})
            if name is None:
                return _blocked(BlockReason.QUOTA_EXCEEDED)
            # Whole seconds: what is stored is what is told here.
            expires_at = (now + self._life).replace(microsecond=0)
            became = await self._store.hold(identity.held(name, expires_at))
            if became is Held.CREATED:
                return CallDecision(CallVerdict.HELD, None, name, expires_at)
            if became is Held.OTHER_HOUR and other_hour:
                raise CallStoreError("calls", "clocks_differ")
            other_hour = other_hour or became is Held.OTHER_HOUR
            taken.add(name)
        raise CallStoreError("calls", "contended")


def _first(calls: list[StoredCall], phase: CallPhase) -> StoredCall | None:
    return next((item for item in calls if item.call.phase is phase), None)


def _copy(definition: Definition | None) -> dict[str, object]:
    copied, _ = private_copy({} if definition is None else definition, field="definition")
    if not isinstance(copied, dict):
        raise ContractError("definition", "invalid_type")
    return copied


def _check_tool(tool_id: str) -> None:
    if parse_governance_id(tool_id, GovernanceKind.TOOL).version is not None:
        raise ContractError("tool_id", "version_must_be_separate")

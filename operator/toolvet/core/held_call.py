"""Calls that wait for a yes: the digest of their arguments, their names, and when they are over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from toolvet.core.canonical import domain_digest
from toolvet.core.errors import ContractError
from toolvet.core.jcs import canonical_form
from toolvet.core.json_identity import private_copy
from toolvet.core.tool_account import MAX_NAME, CallPhase, HeldCall, account_name

ARGUMENTS_DOMAIN: Final = "toolvet.dev/mcp-call-arguments.v1"
"""Versioned, so that another canonical form can never be mistaken for other arguments."""
MAX_ARGUMENTS: Final = 1024 * 1024
"""Bytes of RFC 8785 form."""
MAX_LIFE: Final = timedelta(hours=24)
"""From creation to ``expiresAt``; the API server refuses more (policy held-calls.toolvet.dev)."""
SLOTS: Final = 32
"""Calls that an account can ask for in an hour and a namespace (policy held-calls.toolvet.dev)."""
KEPT: Final = timedelta(hours=1)
"""How long a call that is over stays: for people to see, and past the hour in which its name can be taken."""


def arguments_digest(arguments: object) -> str:
    """Return the digest of the exact arguments of a call, an object, in RFC 8785 form.

    The order of members and the spelling of a number play no part: 1 and 1.0 are the same number in JSON.
    Raises ContractError("arguments", code) with the codes of ``private_copy`` at 1 MiB, and not_canonical for
    an integer beyond 2^53-1.
    """
    if not isinstance(arguments, Mapping):
        raise ContractError("arguments", "invalid_type")
    copied, _ = private_copy(arguments, field="arguments", max_bytes=MAX_ARGUMENTS)
    data = None
    with suppress(ValueError):  # refused below: that exception may hold a part of the value
        data = canonical_form(copied)
    if data is None:
        raise ContractError("arguments", "not_canonical")
    return domain_digest(ARGUMENTS_DOMAIN, data)


def slot_names(subject: str, hour: datetime) -> tuple[str, ...]:
    """Return the names of the calls that a subject can ask for in an hour; none where they are too long.

    ``<account>.<hour>.<slot>``, the hour in UTC as in 2030-01-31t12. The API server creates a name once, so
    nobody has to count. And since an hour passes once, a name never comes to mean another call than the one
    that whoever decides has looked at.
    """
    account = account_name(subject)
    names = tuple(f"{account}.{hour:%Y-%m-%dt%H}.{slot}" for slot in range(SLOTS))
    return names if account and len(names[-1]) <= MAX_NAME else ()


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """What one approval is for: these exact arguments of this definition, asked for by one account."""

    enablement_name: str
    tool_id: str
    definition_fingerprint: str
    arguments_digest: str
    requested_by: str

    def is_of(self, call: HeldCall) -> bool:
        """Tell whether a held call is this one."""
        return self == CallIdentity(
            call.enablement_name,
            call.tool_id,
            call.definition_fingerprint,
            call.arguments_digest,
            call.requested_by,
        )

    def held(self, name: str, expires_at: datetime) -> HeldCall:
        """Return the held call of this name."""
        return HeldCall(
            name=name,
            enablement_name=self.enablement_name,
            tool_id=self.tool_id,
            definition_fingerprint=self.definition_fingerprint,
            arguments_digest=self.arguments_digest,
            requested_by=self.requested_by,
            expires_at=expires_at,
        )


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A held call as it was read; ``version`` changes with every write of it."""

    call: HeldCall
    version: str


def free_slot(subject: str, hour: datetime, taken: Collection[str]) -> str | None:
    """Return the first name that is not taken; None where all are. The same for all who ask at once.

    So two that ask for the same call at the same time meet at one name, and it is held once.
    """
    return next((name for name in slot_names(subject, hour) if name not in taken), None)


def hours_at(now: datetime) -> tuple[datetime, datetime]:
    """Return the hour that it is, and the nearest other one: what it may be by the API server's clock."""
    half = timedelta(minutes=30)
    hour = now.replace(minute=0, second=0, microsecond=0)
    return hour, hour + (timedelta(hours=1) if now - hour >= half else -timedelta(hours=1))


def is_over(call: HeldCall, written_at: datetime | None, now: datetime) -> bool:
    """Tell whether a call can go: consumed, or past its time, and that for long enough.

    A denied one stays until its time: as long as it is there, the answer to its requester is no.
    ``written_at`` is when its status was last written, None where that is not known.
    """
    ended = call.expires_at
    if call.phase is CallPhase.CONSUMED and written_at is not None:
        ended = min(ended, written_at)
    return now >= ended + KEPT

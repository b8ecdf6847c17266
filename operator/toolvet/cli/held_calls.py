"""``toolvet calls``: what waits for a yes, and saying it. The API server decides who may."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import typer

from toolvet.cli.output import ExitCode, print_error, print_note
from toolvet.cli.session import Session
from toolvet.cli.table import table
from toolvet.core.denial import short_digest
from toolvet.core.errors import ContractError
from toolvet.core.tool_account import CallPhase, HeldCall
from toolvet.kube.account_resources import held_call_from_object
from toolvet.kube.names import HELD_TOOL_CALLS, is_object_name

Object = dict[str, Any]

_OPEN = frozenset({CallPhase.HELD, CallPhase.APPROVED})


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A held call, and whether it has run out at the time of asking."""

    call: HeldCall
    expired: bool

    def to_dict(self) -> Object:
        """Return the JSON form; the arguments are a digest everywhere."""
        call = self.call
        return {
            "name": call.name,
            "enablement": call.enablement_name,
            "toolId": call.tool_id,
            "definitionFingerprint": call.definition_fingerprint,
            "argumentsDigest": call.arguments_digest,
            "requestedBy": call.requested_by,
            "expiresAt": call.expires_at.isoformat(),
            "expired": self.expired,
            "phase": str(call.phase),
            "decidedBy": call.decided_by,
        }


def shown(call: HeldCall, now: datetime) -> ShownCall:
    """Return the call as of ``now``; one that was consumed or denied does not expire."""
    return ShownCall(call, call.phase in _OPEN and not call.is_live(now))


async def calls(
    session: Session, phase: CallPhase | None, requested_by: str | None, now: datetime
) -> list[ShownCall]:
    """Read the held calls of the namespace, by their expiry."""
    stored = await session.api.items(HELD_TOOL_CALLS, session.namespace)
    found = [shown(held_call_from_object(item), now) for item in stored]
    found = [
        each
        for each in found
        if phase in {None, each.call.phase} and requested_by in {None, each.call.requested_by}
    ]
    return sorted(found, key=lambda each: (each.call.expires_at, each.call.name))


def list_text(found: Sequence[ShownCall]) -> str:
    """Return a table; empty where there is nothing."""
    if not found:
        return ""
    rows = [("NAME", "TOOL", "DEFINITION", "ARGUMENTS", "PHASE", "EXPIRES", "REQUESTED-BY")]
    for each in found:
        call = each.call
        rows.append(
            (
                call.name,
                call.tool_id,
                short_digest(call.definition_fingerprint),
                short_digest(call.arguments_digest),
                f"{call.phase}, expired" if each.expired else str(call.phase),
                call.expires_at.isoformat(),
                call.requested_by,
            )
        )
    return table(rows)


def list_json(found: Sequence[ShownCall]) -> str:
    """Return the calls as JSON."""
    return json.dumps({"calls": [each.to_dict() for each in found]}, indent=2) + "\n"


def _too_late(code: str) -> typer.Exit:
    print_error(ContractError("call", code))
    return typer.Exit(ExitCode.DIFFERS)


async def decide(
    session: Session, name: str, verdict: CallPhase, now: datetime, *, dry_run: bool
) -> ShownCall:
    """Approve or deny a held call as the caller; what was decided the same way by them stays as it is.

    Raises ContractError("call", "not_found"), and ApiError where the API server refuses: without the verb
    decide, the requester's own call, an account of the namespace. Ends with 1 where it is too late.
    """
    stored = await session.api.get(HELD_TOOL_CALLS, session.namespace, name) if is_object_name(name) else None
    if stored is None:
        raise ContractError("call", "not_found")
    found = shown(held_call_from_object(stored), now)
    user = await session.user_name()
    call = found.call
    if call.phase is verdict and call.decided_by == user:
        print_note(f"{str(verdict).lower()} by {user} before")
        return found
    if call.phase is not CallPhase.HELD:
        raise _too_late("decided_before")
    if found.expired:
        raise _too_late("expired")
    print_note(
        f"{name}: {call.tool_id}, definition {short_digest(call.definition_fingerprint)}, arguments"
        f" {short_digest(call.arguments_digest)}, requested by {call.requested_by}, expires"
        f" {call.expires_at.isoformat()}"
    )
    # With the resourceVersion that was read: what was shown is what is decided.
    status = {**stored["status"], "phase": str(verdict), "decidedBy": user}
    written = await session.api.replace(
        HELD_TOOL_CALLS,
        session.namespace,
        {**stored, "status": status},
        subresource="status",
        dry_run=dry_run,
    )
    print_note(f"{str(verdict).lower()} as {user}" + (" (dry run)" if dry_run else ""))
    return shown(held_call_from_object(written), now)

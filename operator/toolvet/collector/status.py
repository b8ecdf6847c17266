"""Statuses that the collector alone writes: of a source, and of the accounts that use it. Content-free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from toolvet.core.change_history import Dropped
from toolvet.core.enablement import EffectiveRule, PendingChange, standing
from toolvet.core.source_identity import UNMAPPED_NAMESPACE
from toolvet.core.source_look import Look
from toolvet.core.source_pass import Passed
from toolvet.core.tool_account import AccountRule, Enablement, RecordedChange
from toolvet.core.tool_source import ToolSource

Status = dict[str, Any]
Condition = dict[str, Any]

_MAX_PENDING: Final = 256
_SHORT: Final = 12
_SHOWN: Final = 8

OBSERVED: Final = "Observed"
MAPPED: Final = "Mapped"
UNSTABLE: Final = "UnstableDefinition"
RECORDED: Final = "Recorded"
STALLED: Final = "Stalled"
READY: Final = "Ready"


def time_text(now: datetime) -> str:
    """Write a time as metav1.Time."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


class Conditions:
    """The conditions of one status; the transition time of one stays where its status does."""

    def __init__(self, stored: Mapping[str, Any], generation: int, now: datetime) -> None:
        listed = stored.get("conditions")
        self._stored = {item["type"]: dict(item) for item in listed} if isinstance(listed, list) else {}
        self._generation = generation
        self._now = now

    def set(self, kind: str, status: str, reason: str, message: str = "") -> None:
        """Set a condition: status is "True", "False" or "Unknown"."""
        before = self._stored.get(kind, {})
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        self._stored[kind] = {
            "type": kind,
            "status": status,
            "observedGeneration": self._generation,
            "lastTransitionTime": since or time_text(self._now),
            "reason": reason,
            "message": message,
        }

    def drop(self, kind: str) -> None:
        """Take a condition away that is only there while it holds."""
        self._stored.pop(kind, None)

    def listed(self) -> list[Condition]:
        """Return all of them, by type."""
        return [self._stored[kind] for kind in sorted(self._stored)]


def is_expired(status: Mapping[str, Any], source: ToolSource, now: datetime) -> bool:
    """Tell whether the last complete listing is too old to count, or there was none."""
    end = observation_end(status, source)
    return end is None or now >= end


def observation_end(status: Mapping[str, Any], source: ToolSource) -> datetime | None:
    """Return when the last complete listing stops to count; None where there was none."""
    text = status.get("observedAt")
    return datetime.fromisoformat(text) + source.max_observation_age if isinstance(text, str) else None


def of_unknown(
    stored: Mapping[str, Any],
    source: ToolSource,
    generation: int,
    reason: str,
    now: datetime,
    *,
    looked: bool,
) -> Status:
    """Return the status after a look that came to nothing: what was observed stays, and ages."""
    conditions = Conditions(stored, generation, now)
    if is_expired(stored, source, now):
        conditions.set(OBSERVED, "Unknown", reason, "no complete listing within the maximum age")
    else:
        conditions.set(OBSERVED, "False", reason, "what the look before it showed still counts")
    if looked:
        conditions.drop(STALLED)
    else:
        conditions.set(STALLED, "True", reason, "the source cannot be looked at as it is")
    status = {**stored, "observedGeneration": generation, "unknownReason": reason}
    if looked:
        status["attemptedAt"] = time_text(now)
    return {**status, "conditions": conditions.listed()}


def of_pass(
    stored: Mapping[str, Any],
    source: ToolSource,
    generation: int,
    look: Look,
    passed: Passed,
    dropped: Dropped,
    now: datetime,
    *,
    full: bool,
    refusal: str | None,
) -> Status:
    """Return the status after a complete listing. ``refusal`` says why the inventory was not written."""
    conditions = Conditions(stored, generation, now)
    conditions.set(OBSERVED, "True", "complete_listing", _observed_message(look, passed))
    _map(conditions, passed)
    _stability(conditions, passed)
    if full:
        conditions.set(RECORDED, "False", "history_full", "no more is recorded until somebody looked")
    else:
        conditions.set(RECORDED, "True", "up_to_date")
    if refusal is None:
        conditions.drop(STALLED)
    else:
        conditions.set(STALLED, "True", refusal, "the inventory cannot be written")
    digest = passed.catalog.digest
    status: Status = {
        "observedGeneration": generation,
        "protocolVersion": look.protocol_version,
        "toolCount": len(look.tools),
        "digest": digest.removeprefix("sha256:")[:_SHORT],
        "catalogDigest": digest,
        "observedAt": time_text(now),
        "attemptedAt": time_text(now),
        "tools": _tools(look, passed),
        "ignoredPaths": _ignored(source, passed),
        "conditions": conditions.listed(),
    }
    if dropped.count:
        status["droppedChanges"] = {"count": dropped.count, "chainDigest": dropped.digest}
    return status


def dropped_of(stored: Mapping[str, Any]) -> Dropped:
    """Read what the history dropped so far."""
    found = stored.get("droppedChanges") or {}
    return Dropped(int(found.get("count", 0)), found.get("chainDigest"))


def of_enablement(
    enablement: Enablement,
    stored: Mapping[str, Any],
    generation: int,
    changes: Sequence[RecordedChange],
    source_status: Mapping[str, Any],
    now: datetime,
    *,
    expired: bool,
) -> Status:
    """Return the status of one account's enablement.

    While the source is not observed nothing is Allowed: what would be called is not known.
    """
    tools = {
        (tool["toolId"], tool["version"]): tool["fingerprint"] for tool in source_status.get("tools") or []
    }
    found = standing(enablement, tools, changes)
    conditions = Conditions(stored, generation, now)
    if expired:
        conditions.set(READY, "False", "not_observed", "no complete listing within the maximum age")
    else:
        conditions.set(READY, "True", "observed")
    return {
        "observedGeneration": generation,
        "toolCount": len(tools),
        "pendingCount": len(found.pending),
        "effectiveRules": [_rule(rule, expired=expired) for rule in found.rules],
        "pendingChanges": [_pending(change) for change in found.pending[:_MAX_PENDING]],
        "conditions": conditions.listed(),
    }


def _rule(rule: EffectiveRule, *, expired: bool) -> dict[str, str]:
    allowed = rule.rule
    if expired and allowed is AccountRule.ALLOWED:
        allowed = AccountRule.ASK_FIRST
    members = {
        "toolId": rule.tool_id,
        "version": rule.version,
        "rule": str(allowed),
        "definitionFingerprint": rule.definition_fingerprint,
    }
    return {member: value for member, value in members.items() if value is not None}


def _pending(change: PendingChange) -> dict[str, str]:
    members = {
        "changeName": change.change_name,
        "toolId": change.tool_id,
        "version": change.version,
        "fingerprint": change.fingerprint,
    }
    return {member: value for member, value in members.items() if value is not None}


def _observed_message(look: Look, passed: Passed) -> str:
    malformed = sum(1 for sight in look.tools.values() if sight.parts is None)
    parts = [f"{len(look.tools)} tools"]
    if malformed:
        parts.append(f"{malformed} malformed")
    if look.nameless:
        parts.append(f"{look.nameless} elements without a name")
    if passed.unconfirmed:
        parts.append(f"{passed.unconfirmed} to be confirmed by the next look")
    return ", ".join(parts)


def _map(conditions: Conditions, passed: Passed) -> None:
    faults = passed.identities.faults
    stale = passed.identities.stale_entries
    note = f"; {stale} entries of the mapping name no tool served" if stale else ""
    if not faults:
        conditions.set(MAPPED, "True", "mapped", note.removeprefix("; "))
        return
    codes = sorted(set(faults.values()))
    collision = "collision" if any(code.endswith(": collision") for code in codes) else "unmapped"
    shown = ", ".join(codes[:_SHOWN])
    message = f"{len(faults)} tools stand under {UNMAPPED_NAMESPACE}: {shown}{note}"
    conditions.set(MAPPED, "False", collision, message)


def _stability(conditions: Conditions, passed: Passed) -> None:
    if not passed.unstable:
        conditions.set(UNSTABLE, "False", "stable")
        return
    places = [
        f"{passed.identities.tools[name].tool_id} ({', '.join(components)})"
        for name, components in sorted(passed.unstable.items())
        if name in passed.identities.tools
    ]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    message = (
        f"come out otherwise while the server says it has not changed: {', '.join(places[:_SHOWN])}{more}"
    )
    conditions.set(UNSTABLE, "True", "flips", message)


def _tools(look: Look, passed: Passed) -> list[dict[str, Any]]:
    found = []
    for name, sight in look.tools.items():
        identity = passed.identities.tools[name]
        digests = {
            member: digest for member, digest in asdict(sight.components).items() if digest is not None
        }
        entry: dict[str, Any] = {"toolId": identity.tool_id, "version": identity.version, **digests}
        flags = passed.flags.get(name)
        if flags:
            entry["flags"] = [str(flag) for flag in flags]
        found.append(entry)
    return sorted(found, key=lambda entry: (entry["toolId"], entry["version"]))


def _ignored(source: ToolSource, passed: Passed) -> list[dict[str, str]]:
    listed = []
    for ignored in source.ignored_paths:
        entry = {"path": ignored.path}
        if ignored.tool is not None:
            identity = passed.identities.tools.get(ignored.tool)
            if identity is None:
                continue  # of a tool that is not served
            entry["toolId"] = identity.tool_id
        listed.append(entry)
    return listed

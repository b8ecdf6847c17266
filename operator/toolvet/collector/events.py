"""What a pass says of its source in Events: seen first, changed, unknown, back again, not to be looked at.

Judged from the status before and after, so that a state that lasts is said once. Notes hold codes, counts,
canonical ids and digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from toolvet.collector.status import OBSERVED, STALLED
from toolvet.core.change_reason import ChangeResult
from toolvet.core.tool_account import RecordedChange
from toolvet.kube.client import Object
from toolvet.kube.event import MAX_NOTE_BYTES, event

_SHOWN: Final = 3
_NOTHING: Final[Mapping[str, Any]] = {}


class SourceEvent(StrEnum):
    """The reasons of Events on an MCPSource."""

    FIRST_OBSERVED = "FirstObserved"
    CHANGES_RECORDED = "ChangesRecorded"
    OBSERVATION_UNKNOWN = "ObservationUnknown"
    OBSERVED_AGAIN = "ObservedAgain"
    STALLED = "Stalled"


def events(
    source: Object,
    after: Mapping[str, Any],
    recorded: Sequence[RecordedChange],
    now: datetime,
    instance: str,
) -> list[Object]:
    """Return the Events that a pass owes; ``source`` has the status before it, ``after`` is the one since."""
    before = source.get("status") or {}
    cause = [_standing(before, kind) for kind in (OBSERVED, STALLED)]
    found = []
    for warning, reason, note, names in _owed(before, after, recorded):
        found.append(
            event(
                source,
                kind="Warning" if warning else "Normal",
                reason=reason,
                action="Look",
                note=note.encode()[:MAX_NOTE_BYTES].decode("utf-8", "ignore"),
                cause=[*cause, names],
                component="collector",
                instance=instance,
                now=now,
            )
        )
    return found


def _owed(
    before: Mapping[str, Any], after: Mapping[str, Any], recorded: Sequence[RecordedChange]
) -> Iterable[tuple[bool, SourceEvent, str, list[str]]]:
    was, now = _standing(before, OBSERVED)[0], _standing(after, OBSERVED)
    if now[0] == "True" and "observedAt" not in before:
        yield False, SourceEvent.FIRST_OBSERVED, _shown(after), []
    elif now[0] == "True" and was in {"False", "Unknown"}:
        yield False, SourceEvent.OBSERVED_AGAIN, _shown(after), []
    if recorded:
        material = any(change.severity is ChangeResult.MATERIAL for change in recorded)
        yield material, SourceEvent.CHANGES_RECORDED, _changes(recorded), [item.name for item in recorded]
    stalled = _standing(after, STALLED)
    if stalled[0] == "True":
        if stalled[:2] != _standing(before, STALLED)[:2]:
            yield True, SourceEvent.STALLED, f"{stalled[1]}: {stalled[3]}", []
    elif now[0] in {"False", "Unknown"} and now[0] != was:
        yield True, SourceEvent.OBSERVATION_UNKNOWN, f"{now[1]}: {now[3]}", []


def _standing(status: Mapping[str, Any], kind: str) -> list[str]:
    """Return status, reason, transition time and message of a condition."""
    listed = status.get("conditions") or []
    found = next((item for item in listed if item["type"] == kind), _NOTHING)
    return [str(found.get(member, "")) for member in ("status", "reason", "lastTransitionTime", "message")]


def _shown(status: Mapping[str, Any]) -> str:
    return f"{status['toolCount']} tools, catalog {status['digest']}"


def _changes(recorded: Sequence[RecordedChange]) -> str:
    material = sum(change.severity is ChangeResult.MATERIAL for change in recorded)
    lines = [f"{len(recorded)} changes: {material} material, {len(recorded) - material} minor"]
    for change in recorded[:_SHOWN]:
        subject = "instructions" if change.tool_id is None else f"{change.tool_id} {change.version}"
        lines.append(f"  {subject}: {', '.join(sorted(str(reason) for reason in change.reasons))}")
    rest = len(recorded) - _SHOWN
    return "\n".join([*lines, f"  and {rest} more"] if rest > 0 else lines)

"""Conditions of a status (Kubernetes API conventions), and whether a status is worth a write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolvet.controller.observed import Stored
from toolvet.core.reasons import EXPLANATIONS, Reason

Condition = dict[str, Any]


class ConditionType(StrEnum):
    """The conditions we write. Any other in a status is somebody else's."""

    APPROVED = "Approved"
    ELIGIBLE = "Eligible"
    VALID = "Valid"
    READY = "Ready"
    STALLED = "Stalled"
    """The object cannot be understood; kstatus then calls it failed. Absent otherwise."""


_OURS = frozenset(ConditionType)


def timestamp(now: datetime) -> str:
    """Write a time as metav1.Time: RFC 3339 in UTC, whole seconds."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def stored_condition(status: Mapping[str, Any], kind: ConditionType) -> Condition:
    """Return a condition of a stored status; empty where it has none."""
    found = status.get("conditions")
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping) and item.get("type") == kind:
            return dict(item)
    return {}


def condition(
    of: Stored[Any], kind: ConditionType, holds: bool | None, reason: str, message: str, now: datetime
) -> Condition:
    """Build a condition, Unknown where ``holds`` is None; its transition time stays where its status does."""
    status = "Unknown" if holds is None else str(holds)
    before = stored_condition(of.status, kind)
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": str(kind),
        "status": status,
        "observedGeneration": of.generation,
        "lastTransitionTime": since or timestamp(now),
        "reason": str(reason),
        "message": message,
    }


def explained(reason: Reason) -> str:
    """Return the text of a code."""
    return EXPLANATIONS[reason].meaning


def differs(status: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether a stored status lacks or contradicts anything of the wanted one, or has more than it."""
    ours = {**status, "conditions": _ordered(status.get("conditions"))}
    return ours != {**wanted, "conditions": _ordered(wanted.get("conditions"))}


def _ordered(conditions: object) -> Sequence[Mapping[str, Any]]:
    found = conditions if isinstance(conditions, list) else ()
    ours = [item for item in found if isinstance(item, Mapping) and item.get("type") in _OURS]
    return sorted(ours, key=lambda item: str(item["type"]))

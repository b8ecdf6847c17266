"""The closed side-effect classes and their derivation from tool hints (CONTRACTS 3)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class SideEffectClass(StrEnum):
    """What calling a tool may do, in the contract's order."""

    NONE = "none"
    READ_ONLY = "read-only"
    IDEMPOTENT_WRITE = "idempotent-write"
    NON_IDEMPOTENT_WRITE = "non-idempotent-write"
    DESTRUCTIVE = "destructive"


def side_effect_class_from_hints(hints: Mapping[str, object] | None) -> SideEffectClass:
    """Derive a class from MCP annotations (readOnlyHint, destructiveHint, idempotentHint).

    Absent hints take MCP's defaults, so that a tool without annotations is destructive; ``none`` is never
    derived. The test is truthiness as in the reference; edges that read hints from a server refuse
    anything but booleans before they come here (CONTRACTS 15.4).
    """
    given = hints or {}
    if given.get("readOnlyHint", False):
        return SideEffectClass.READ_ONLY
    if given.get("destructiveHint", True):
        return SideEffectClass.DESTRUCTIVE
    if given.get("idempotentHint", False):
        return SideEffectClass.IDEMPOTENT_WRITE
    return SideEffectClass.NON_IDEMPOTENT_WRITE

"""How much of a source's history is kept: 1,000 changes, and whatever waits for somebody beyond them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolvet.core.change_reason import ChangeResult
from toolvet.core.tool_account import RecordedChange

MAX_HISTORY: Final = 1000


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is not kept any more: how many, and a digest over their names, each on top of the one before."""

    count: int = 0
    digest: str | None = None

    def and_also(self, names: Iterable[str]) -> Dropped:
        """Return the same with more, in this order."""
        count, digest = self.count, self.digest or ""
        for name in names:
            count += 1
            digest = "sha256:" + hashlib.sha256(f"{digest}\n{name}".encode()).hexdigest()
        return Dropped(count, digest or None)


def droppable(changes: Sequence[RecordedChange], acknowledged: frozenset[str]) -> list[str]:
    """Return the names to drop, oldest first: minor and acknowledged ones above the limit, never others."""
    excess = len(changes) - MAX_HISTORY
    if excess <= 0:
        return []
    free = [
        change
        for change in changes
        if change.severity is not ChangeResult.MATERIAL or change.name in acknowledged
    ]
    free.sort(key=lambda change: (str(change.created_at or ""), change.name))
    return [change.name for change in free[:excess]]


def is_full(changes: Sequence[RecordedChange], acknowledged: frozenset[str]) -> bool:
    """Tell whether the history holds nothing but what waits: then no more is recorded until somebody looked.

    Nothing is lost by that: a change is compared with its baseline whenever it is recorded.
    """
    waiting = [
        change
        for change in changes
        if change.severity is ChangeResult.MATERIAL and change.name not in acknowledged
    ]
    return len(waiting) >= MAX_HISTORY

"""What the changes of a source mean for the accounts that use it: what waits, and what nobody waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolvet.core.tool_account import Enablement, RecordedChange


def acknowledged_by_all(
    changes: Iterable[RecordedChange], enablements: Sequence[Enablement]
) -> frozenset[str]:
    """Return the names of the changes that every account they concern has acknowledged, if there is one.

    One account's acknowledgement never decides for another: only what all have seen becomes the baseline of
    what comes next, or may be dropped from the history. A change concerns who began in its second or before.
    """
    found: set[str] = set()
    for change in changes:
        concerned = [
            enablement
            for enablement in enablements
            if change.created_at is None
            or enablement.created_at is None
            or enablement.created_at <= change.created_at
        ]
        if concerned and all(_acknowledged(change, enablement) for enablement in concerned):
            found.add(change.name)
    return frozenset(found)


def _acknowledged(change: RecordedChange, enablement: Enablement) -> bool:
    return any(
        item.change_name == change.name and item.fingerprint == change.acknowledged_by
        for item in enablement.acknowledged
    )

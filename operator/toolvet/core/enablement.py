"""What an enablement comes to: the rules that hold now, and the changes that wait (CONTRACTS 13).

Which change waits is ``Enablement.waiting``'s to say. Nothing here looks at what is served again: a later
revert clears nothing, and approving a held call acknowledges nothing, since neither is an acknowledgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolvet.core.tool_account import AccountRule, Enablement, RecordedChange


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """What holds for one tool of the source now."""

    tool_id: str
    version: str
    rule: AccountRule
    definition_fingerprint: str | None = None
    """The definition that this was decided for; None where it is not known."""


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A material change that waits for the account; ``tool_id`` is None for the server's instructions."""

    change_name: str
    tool_id: str | None
    version: str | None
    fingerprint: str
    """What to acknowledge."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What one account may do with one source."""

    rules: tuple[EffectiveRule, ...]
    """One for every tool that is served, ascending by tool id and version."""
    pending: tuple[PendingChange, ...]
    """All that wait, oldest first."""


def standing(
    enablement: Enablement,
    tools: Mapping[tuple[str, str], str | None],
    changes: Iterable[RecordedChange],
) -> Standing:
    """Work out the standing of one account.

    ``tools`` has the fingerprint of every tool that is served by tool id and version; ``changes`` are those
    of the namespace, others than this source's included, in any order.
    """
    waiting = enablement.waiting(changes)
    return Standing(
        rules=tuple(
            EffectiveRule(tool_id, version, enablement.effective_rule(tool_id, waiting), fingerprint)
            for (tool_id, version), fingerprint in sorted(tools.items(), key=lambda item: item[0])
        ),
        pending=tuple(
            PendingChange(change.name, change.tool_id, change.version, change.acknowledged_by)
            for change in waiting
        ),
    )

"""The texts of a refusal and of a warning: code first, what changed, what to do; at most 2 KiB.

kubectl prints it as it is. It holds codes, counts, tool ids, versions, digests and object names only.
"""

from __future__ import annotations

from toolvet.core.decision import Decision
from toolvet.core.differences import count
from toolvet.core.reasons import EXPLANATIONS, Reason

MAX_TEXT_BYTES = 2048
SHORT_DIGEST_DIGITS = 12

_REVIEWABLE = frozenset(
    {
        Reason.NOT_APPROVED,
        Reason.APPROVAL_EXPIRED,
        Reason.APPROVAL_REVOKED,
        Reason.UNVERIFIED_ORIGIN,
        Reason.SNAPSHOT_OUTDATED,
        Reason.SNAPSHOT_MISSING,
    }
)
_MAX_SHOWN = 8


def short_digest(digest: str) -> str:
    """Return the first digits of a digest, as people are shown it."""
    return digest.removeprefix("sha256:")[:SHORT_DIGEST_DIGITS]


def refusal_text(reason: Reason) -> str:
    """Return the text of a refusal that has nothing but its reason."""
    explanation = EXPLANATIONS[reason]
    return f"{reason}: {explanation.meaning}; {explanation.remedy}"


def denial_text(decision: Decision, namespace: str) -> str:
    """Write the refusal of a decision whose ``reason`` is set, for the user who made the change."""
    reason = decision.reason or Reason.INTERNAL_ERROR
    lines = [_headline(reason, decision)]
    lines += _changes(decision)
    return _bounded(lines, _remedy(reason, decision, namespace))


def minor_change_text(decision: Decision, namespace: str) -> str:
    """Write the warning of a decision with ``minor_change``, for the user who made the change."""
    counts = f" ({decision.approvals.valid} of {decision.approvals.required})" if decision.approvals else ""
    headline = (
        f"{Reason.MINOR_CHANGE}: inventory {decision.inventory}, live catalog "
        f"{short_digest(decision.live_digest or '')}: not approved itself; admitted as a minor change of "
        f"{decision.snapshot}{counts}"
    )
    lines = [headline, *_changes(decision)]
    return _bounded(lines, f"review: kubectl toolvet capture {decision.inventory} -n {namespace}")


def _bounded(lines: list[str], last: str) -> str:
    """Join the lines; what does not fit goes from the end, the last never."""
    while len("\n".join([*lines, last]).encode()) > MAX_TEXT_BYTES and len(lines) > 1:
        lines.pop()
    return "\n".join([*lines, last])


def _headline(reason: Reason, decision: Decision) -> str:
    text = f"{reason}: "
    if decision.inventory is not None:
        text += f"inventory {decision.inventory}"
        if decision.live_digest is not None:
            text += f", live catalog {short_digest(decision.live_digest)}"
        text += ": "
    text += EXPLANATIONS[reason].meaning
    if decision.approvals is not None:
        text += f" ({decision.approvals.valid} of {decision.approvals.required})"
    if decision.misplaced:
        text += f": {', '.join(decision.misplaced)}"
    return text


def _changes(decision: Decision) -> list[str]:
    if not decision.differences:
        return []
    lines = [f"since {decision.baseline}: {count(decision.differences)}"]
    for difference in decision.differences[:_MAX_SHOWN]:
        codes = ", ".join(difference.codes)
        lines.append(f"  {difference.tool_id} {difference.version}: {codes}")
    rest = len(decision.differences) - _MAX_SHOWN
    if rest > 0:
        lines.append(f"  and {rest} more")
    return lines


def _remedy(reason: Reason, decision: Decision, namespace: str) -> str:
    if reason not in _REVIEWABLE or decision.inventory is None:
        return f"to do: {EXPLANATIONS[reason].remedy}"
    capture = f"kubectl toolvet capture {decision.inventory} -n {namespace}"
    current = decision.snapshot if reason not in {Reason.SNAPSHOT_OUTDATED, Reason.SNAPSHOT_MISSING} else None
    if current is None:
        return f"review: {capture}"
    approve = f"kubectl toolvet approve {current} -n {namespace}"
    return f"review: {approve}" if decision.snapshot_exists else f"review: {capture} && {approve}"

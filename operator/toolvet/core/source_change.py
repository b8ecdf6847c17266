"""One change of a tool against its baseline, judged in both readings, as it is to be recorded once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag, largest
from toolvet.core.change_rules import RULES
from toolvet.core.source_look import ToolSight
from toolvet.core.tool_account import ChangeEvent, Components, RecordedChange
from toolvet.core.tool_change import ToolChangeVerdict, classify
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_mapping import ToolIdentity

_NAME_DOMAIN: Final = "toolvet.dev/tool-change-name.v1"
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, repr=False)
class NewChange:
    """A change to record, and what both sides say: for a Secret, never for the change itself."""

    record: RecordedChange
    before: Definition | str | None
    after: Definition | str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """The classes of a change in both readings; ``strict`` names every reason."""

    strict: ChangeResult
    literal: ChangeResult
    reasons: tuple[ChangeReason, ...]
    flags: tuple[ToolFlag, ...] = ()

    def at_most_minor(self) -> Judged:
        """Return the same reasons for what was reviewed already: a return to the baseline."""
        minor = ChangeResult.MINOR
        literal = self.literal if self.literal is ChangeResult.NONE else minor
        return replace(self, strict=minor, literal=literal)

    def severity(self, reading: Reading) -> ChangeResult:
        """Return the class that counts; what is recorded is at least minor."""
        result = self.literal if reading is Reading.LITERAL else self.strict
        return largest([result, ChangeResult.MINOR])


def judge(before: ToolSight | None, after: ToolSight) -> Judged:
    """Compare a tool with its baseline; None where the baseline is not known, which is material."""
    if before is None:
        return judged_by(ChangeReason.UNCLASSIFIABLE)
    if before.parts is None or after.parts is None:
        return judged_by(*([ChangeReason.MALFORMED] if before.exact != after.exact else []))
    strict = classify(before.parts, after.parts, Reading.STRICT)
    literal = classify(before.parts, after.parts, Reading.LITERAL)
    return of_verdicts(strict, literal)


def of_verdicts(strict: ToolChangeVerdict, literal: ToolChangeVerdict) -> Judged:
    """Join the verdicts of both readings of one comparison."""
    return Judged(strict.result, literal.result, strict.reasons, strict.flags)


def judged_by(*reasons: ChangeReason) -> Judged:
    """Return what reasons alone mean."""
    strict = largest(RULES[reason].strict for reason in reasons)
    literal = largest(RULES[reason].literal for reason in reasons)
    return Judged(strict, literal, tuple(sorted(reasons)))


def record(
    source_name: str,
    source_uid: str,
    identity: ToolIdentity | None,
    event: ChangeEvent,
    judged: Judged,
    reading: Reading,
    before: Components,
    after: Components | None,
    sequence: int,
) -> RecordedChange:
    """Return the change under its name, which is one of what it says and of its place in the history.

    The same change made again after a failed write so meets itself, and one that comes again later does not.
    """
    change = RecordedChange(
        name="",
        source_name=source_name,
        source_uid=source_uid,
        tool_id=None if identity is None else identity.tool_id,
        version=None if identity is None else identity.version,
        event=event,
        severity=judged.severity(reading),
        literal_severity=judged.literal,
        reasons=judged.reasons,
        flags=judged.flags,
        before=before,
        after=after,
        evidence_secret_name=None,
        created_at=None,
    )
    sides = [_members(before), None if after is None else _members(after)]
    text = canonical_json([source_uid, sequence, change.tool_id, change.version, str(event), sides])
    digest = domain_digest(_NAME_DOMAIN, text.encode("ascii")).removeprefix("sha256:")
    name = f"{source_name}-{digest[:_DIGITS]}"
    return replace(change, name=name, evidence_secret_name=name)


def _members(side: Components) -> list[str | None]:
    return [side.fingerprint, side.contract, side.hints, side.rest]

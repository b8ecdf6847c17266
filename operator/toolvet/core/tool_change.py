"""What changed between two definitions of one MCP tool, and how much it matters (CONTRACTS 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolvet.core.change_findings import Findings, Place
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag, largest
from toolvet.core.change_rules import RULES
from toolvet.core.definition_flags import flags_of, flags_of_text
from toolvet.core.errors import ContractError
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.schema_addition import report_new_schema
from toolvet.core.schema_change import SchemaComparison
from toolvet.core.tool_member_change import compare_hints, compare_rest, compare_texts
from toolvet.core.tool_parts import ToolParts, trimmed

MAX_FINDINGS: Final = 32
"""Findings a verdict lists; all are counted."""

_R = ChangeReason
_OUTPUT_WORDING = frozenset({_R.WORDING_CHANGED, _R.SCHEMA_TITLE_CHANGED, _R.UNCLASSIFIABLE})
"""Findings of an output schema that are material whatever they hold."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason at one place: ``inputSchema.properties[2].description``, no name of the server's in it."""

    reason: ChangeReason
    place: str


@dataclass(frozen=True, slots=True)
class ToolChangeVerdict:
    """What a comparison of two definitions says; it holds no text of either."""

    result: ChangeResult
    reasons: tuple[ChangeReason, ...] = ()
    flags: tuple[ToolFlag, ...] = ()
    findings: tuple[Finding, ...] = ()
    finding_count: int = 0


def classify(
    before: ToolParts | None, after: ToolParts, reading: Reading = Reading.STRICT
) -> ToolChangeVerdict:
    """Compare a definition with its baseline; ``before`` is None at the first sight of the tool.

    The baseline is what was approved or acknowledged, not what was seen last: many small changes then add
    up. Both readings may be asked of one pair; the strict one is never below the literal one.

    Raises ContractError("name", "not_one_tool"): a renamed tool is one that went and one that came.
    """
    if before is None:
        return first_sight(flags_of(after))
    if before.name != after.name:
        raise ContractError("name", "not_one_tool")
    findings = Findings()
    findings.flags |= flags_of(after)
    keys = StructuralKeys()
    compare_texts(before, after, findings)
    compare_hints(before, after, findings)
    _compare_input(before, after, keys, findings)
    _compare_output(before, after, keys, findings)
    compare_rest(before, after, keys, findings)
    return verdict_of(findings, reading)


def classify_instructions(
    before: str | None, after: str | None, reading: Reading = Reading.STRICT
) -> ToolChangeVerdict:
    """Compare the instructions of a server; absent, null and blank are one."""
    findings = Findings()
    findings.flags |= flags_of_text(after or "")
    if trimmed(before) != trimmed(after):
        findings.add(_R.INSTRUCTIONS_CHANGED, Place("instructions"))
    return verdict_of(findings, reading)


def first_sight(flags: set[ToolFlag]) -> ToolChangeVerdict:
    """Return the verdict of what has no baseline yet."""
    return ToolChangeVerdict(ChangeResult.BASELINE, flags=tuple(sorted(flags)))


def verdict_of(findings: Findings, reading: Reading) -> ToolChangeVerdict:
    """Return what the findings mean in a reading."""
    results = {reason: RULES[reason].result(reading) for reason in findings.places}
    reasons = tuple(sorted(reason for reason, result in results.items() if result is not ChangeResult.NONE))
    found = [Finding(reason, place) for reason in reasons for place in findings.places[reason]]
    return ToolChangeVerdict(
        result=largest(results.values()),
        reasons=reasons,
        flags=tuple(sorted(findings.flags)),
        findings=tuple(found[:MAX_FINDINGS]),
        finding_count=sum(findings.counts[reason] for reason in reasons),
    )


def _compare_input(before: ToolParts, after: ToolParts, keys: StructuralKeys, findings: Findings) -> None:
    reported = 0

    def report(reason: ChangeReason, place: Place, *, prose: bool = False, within: bool = False) -> None:
        nonlocal reported
        del prose
        if not within:
            reported += 1
            findings.add(reason, place)

    old, new = before.input_schema, after.input_schema
    if keys.key(old) == keys.key(new):
        return  # references lead into the same document: equal as a whole is equal in all
    place = Place("inputSchema")
    SchemaComparison(old, new, keys, report, findings.flags.add).run(place)
    if not reported:
        # Whatever no rule speaks of is still an edit.
        findings.add(_R.SCHEMA_EDITED, place)


def _compare_output(before: ToolParts, after: ToolParts, keys: StructuralKeys, findings: Findings) -> None:
    reported = 0

    def report(reason: ChangeReason, place: Place, *, prose: bool = False, within: bool = False) -> None:
        nonlocal reported
        del within
        reported += 1
        worded = prose or reason in _OUTPUT_WORDING
        findings.add(_R.OUTPUT_WORDING_CHANGED if worded else _R.OUTPUT_SCHEMA_CHANGED, place)

    old, new = before.output_schema, after.output_schema
    if keys.key(old) == keys.key(new):
        return
    place = Place("outputSchema")
    if old is None:
        report_new_schema(new, place, keys, report)
    elif new is not None:
        SchemaComparison(old, new, keys, report, findings.flags.add).run(place)
    if not reported:
        findings.add(_R.OUTPUT_SCHEMA_CHANGED, place)

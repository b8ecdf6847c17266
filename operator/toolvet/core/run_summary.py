"""What many runs came to: workflows, outcomes, tool calls, seconds and artifacts (CONTRACTS 10.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.errors import ContractError, RunSummaryError
from toolvet.core.faults import Faults, check_fields
from toolvet.core.lenient_json import JsonFault, load_json
from toolvet.core.outcome import OUTCOME_NAMES
from toolvet.core.record_members import MemberFault, read_members
from toolvet.core.run_event import RunEvent
from toolvet.core.run_markdown import run_summary_markdown
from toolvet.core.run_values import (
    MAX_ARTIFACTS,
    MAX_OUTCOMES,
    MAX_SECONDS,
    MAX_TOOL_CALLS,
    MAX_WORKFLOWS,
    check_artifact_digests,
    check_outcome_numbers,
    check_schema_version,
    check_seconds,
    check_tool_calls,
    check_workflow_ids,
)

RUN_SUMMARY_SCHEMA_VERSION: Final = "openmed.agent.run_summary.v1"
MAX_RUN_SUMMARY_JSON_BYTES: Final = 1_048_576
_COMMITMENT_DOMAIN: Final = "openmed.agent.run_commitment.v1"
_JSON_CODES: Final = {
    JsonFault.MALFORMED: "invalid_json",
    JsonFault.REPEATED_MEMBER: "duplicate_field",
    JsonFault.NON_FINITE: "non_finite_number",
}


def _check_version(value: object) -> str:
    return check_schema_version(value, RUN_SUMMARY_SCHEMA_VERSION, RunSummaryError)


def _check_workflow_ids(value: object) -> tuple[str, ...]:
    return check_workflow_ids(value, "workflow_ids", RunSummaryError)


def _check_outcomes(value: object) -> Mapping[str, int]:
    counts = check_outcome_numbers(value, "outcome_counts", "invalid_count", RunSummaryError, least=0)
    if sum(counts.values()) > MAX_OUTCOMES:
        raise RunSummaryError("outcome_counts", "total_out_of_range")
    return counts


def _check_duration(value: object) -> float:
    return check_seconds(value, "duration_seconds", RunSummaryError, least=0.0)


def _check_digests(value: object) -> tuple[str, ...]:
    return check_artifact_digests(value, "artifact_digests", RunSummaryError)


_CHECKS: Final[dict[str, Callable[[object], object]]] = {
    "schema_version": _check_version,
    "workflow_ids": _check_workflow_ids,
    "outcome_counts": _check_outcomes,
    "tool_call_count": check_tool_calls,
    "duration_seconds": _check_duration,
    "artifact_digests": _check_digests,
}
"""By field, in the contract's order, which is also that in which faults are found."""


@dataclass(frozen=True, slots=True, repr=False)
class RunSummary:
    """Sorted ids and digests, and totals; ``duration_seconds`` in seconds, at most a year.

    Raises RunSummaryError: its text is the first field at fault, and ``faults`` has the places within
    it, or all fields of several. What is not sorted is refused, not sorted.
    """

    workflow_ids: tuple[str, ...]
    outcome_counts: Mapping[str, int]
    tool_call_count: int
    duration_seconds: float
    artifact_digests: tuple[str, ...]
    schema_version: str = RUN_SUMMARY_SCHEMA_VERSION

    def __post_init__(self) -> None:
        values = {field: getattr(self, field) for field in _CHECKS}
        for field, value in check_fields(values, _CHECKS).items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        return f"RunSummary(workflows={len(self.workflow_ids)}, artifacts={len(self.artifact_digests)})"

    @classmethod
    def from_events(cls, events: Iterable[RunEvent]) -> RunSummary:
        """Add up at most 10000 events in any order; the seconds are summed exactly and rounded once.

        Raises RunSummaryError at the first event that is none or with which a total passes its limit.
        """
        totals = _Totals()
        for index, event in enumerate(_drawn(events)):
            if index == MAX_OUTCOMES:
                raise RunSummaryError("events", "too_many_items")
            if not isinstance(event, RunEvent):
                place = RunSummaryError(f"events[{index}]", "invalid_item")
                raise RunSummaryError("events", "invalid_item", [place])
            totals.add(event)
        return totals.summary()

    @classmethod
    def from_dict(cls, mapping: object) -> RunSummary:
        """Parse a mapping of exactly the contract's fields; raises RunSummaryError."""
        members = read_members(mapping, tuple(_CHECKS))
        match members.fault:
            case MemberFault.NO_MAPPING:
                raise RunSummaryError("summary", "invalid_mapping")
            case MemberFault.UNREADABLE:
                raise RunSummaryError("summary", "unreadable_mapping")
            case MemberFault.MISSING_FIELD:
                missing = [RunSummaryError(name, "missing_field") for name in members.missing]
                raise RunSummaryError("summary", "missing_field", missing)
            case MemberFault.UNKNOWN_FIELD:
                raise RunSummaryError("summary", "unknown_field")
        values = members.values
        faults = Faults()
        for field in ("workflow_ids", "artifact_digests"):
            with faults:
                listed, values[field] = values[field], ()
                if type(listed) not in (list, tuple):
                    raise RunSummaryError(field, "invalid_sequence")
                values[field] = listed
        with faults:
            summary = cls(**values)  # type: ignore[arg-type]  # checked by the constructor
        faults.raise_first()
        return summary

    @classmethod
    def from_json(cls, text: object) -> RunSummary:
        """Parse JSON text or bytes of at most 1 MiB in UTF-8; raises RunSummaryError."""
        code = _unfit(text)
        if code is not None:
            raise RunSummaryError("summary", code)
        document, fault = load_json(text, overflow=True)
        if fault is not None:
            raise RunSummaryError("summary", _JSON_CODES[fault])
        return cls.from_dict(document)

    @property
    def commitment(self) -> str:
        """The digest that commits to this summary and shows nothing of it."""
        return domain_digest(_COMMITMENT_DOMAIN, self.to_json().encode())

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order."""
        return {
            "schema_version": self.schema_version,
            "workflow_ids": list(self.workflow_ids),
            "outcome_counts": dict(self.outcome_counts),
            "tool_call_count": self.tool_call_count,
            "duration_seconds": self.duration_seconds,
            "artifact_digests": list(self.artifact_digests),
        }

    def to_json(self) -> str:
        """Return canonical JSON without a newline; a negative zero stays one."""
        return canonical_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return the Markdown of CONTRACTS 10.3; seconds have six significant digits there."""
        return run_summary_markdown(self.to_dict())


def _unfit(text: object) -> str | None:
    """Tell the code of what is no text, too long, or cannot be written as UTF-8."""
    if isinstance(text, bytes | bytearray):
        return "json_too_large" if len(text) > MAX_RUN_SUMMARY_JSON_BYTES else None
    if not isinstance(text, str):
        return "invalid_json"
    if len(text) > MAX_RUN_SUMMARY_JSON_BYTES:
        return "json_too_large"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "invalid_json"
    return "json_too_large" if size > MAX_RUN_SUMMARY_JSON_BYTES else None


def _drawn(events: object) -> Iterable[object]:
    """Return the items of any iterable but texts and mappings, one more than allowed at most."""
    drawn: list[object] | None = None
    if isinstance(events, Iterable) and not isinstance(events, str | bytes | bytearray | Mapping):
        try:
            drawn = list(islice(events, MAX_OUTCOMES + 1))
        except ContractError:
            raise  # of an event that the caller makes while we iterate: it is as free of values as ours
        except Exception:  # noqa: BLE001  # the iterable is the caller's code; the contract names one code
            drawn = None
    if drawn is None:
        raise RunSummaryError("events", "invalid_iterable")
    return drawn


class _Totals:
    """Sums of the events so far, each within its limit."""

    def __init__(self) -> None:
        self._workflow_ids: set[str] = set()
        self._outcome_counts = dict.fromkeys(OUTCOME_NAMES, 0)
        self._tool_calls = 0
        self._seconds: list[float] = []
        self._digests: set[str] = set()

    def add(self, event: RunEvent) -> None:
        self._workflow_ids.add(event.workflow_id)
        if len(self._workflow_ids) > MAX_WORKFLOWS:
            raise RunSummaryError("workflow_ids", "too_many_items")
        self._outcome_counts[event.outcome.outcome_class] += 1
        self._tool_calls += event.tool_call_count
        if self._tool_calls > MAX_TOOL_CALLS:
            raise RunSummaryError("tool_call_count", "total_out_of_range")
        self._seconds.append(event.duration_seconds)
        self._digests.update(event.artifact_digests)
        if len(self._digests) > MAX_ARTIFACTS:
            raise RunSummaryError("artifact_digests", "too_many_items")

    def summary(self) -> RunSummary:
        # Interpreters differ in the sign of a sum of negative zeros; adding zero makes it positive in all.
        seconds = math.fsum(self._seconds) + 0.0
        if seconds > MAX_SECONDS:
            raise RunSummaryError("duration_seconds", "total_out_of_range")
        return RunSummary(
            workflow_ids=tuple(sorted(self._workflow_ids)),
            outcome_counts=self._outcome_counts,
            tool_call_count=self._tool_calls,
            duration_seconds=seconds,
            artifact_digests=tuple(sorted(self._digests)),
        )

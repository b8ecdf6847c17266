"""What changed between two run summaries, without judging it (CONTRACTS 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from toolvet.core.canonical import canonical_json
from toolvet.core.errors import RunDiffError
from toolvet.core.faults import Faults
from toolvet.core.run_markdown import run_diff_markdown
from toolvet.core.run_summary import RunSummary
from toolvet.core.run_values import (
    MAX_OUTCOMES,
    MAX_SECONDS,
    MAX_TOOL_CALLS,
    check_artifact_digests,
    check_integer,
    check_outcome_numbers,
    check_schema_version,
    check_seconds,
    check_workflow_ids,
)

RUN_DIFF_SCHEMA_VERSION: Final = "openmed.agent.run_diff.v1"


def _check_set(
    record: RunSummaryDiff, name: str, check: Callable[..., tuple[str, ...]], faults: Faults
) -> None:
    """Check what was added and what was removed; nothing is both."""
    sides: list[tuple[str, ...]] = []
    for field in (f"{name}_added", f"{name}_removed"):
        with faults:
            value = getattr(record, field)
            if type(value) not in (list, tuple):
                raise RunDiffError(field, "invalid_sequence")
            sides.append(check(value, field, RunDiffError, "invalid_item"))
            object.__setattr__(record, field, sides[-1])
    with faults:
        if len(sides) == 2 and not set(sides[0]).isdisjoint(sides[1]):  # noqa: PLR2004  # both sides stand
            raise RunDiffError(name, "added_and_removed")


@dataclass(frozen=True, slots=True, repr=False)
class RunSummaryDiff:
    """Every delta is after minus before; a zero delta of the seconds is never negative.

    Raises RunDiffError: its text is the first field at fault, and ``faults`` has the places within it,
    or all fields of several.
    """

    workflow_ids_added: tuple[str, ...]
    workflow_ids_removed: tuple[str, ...]
    outcome_count_deltas: Mapping[str, int]
    tool_call_count_delta: int
    duration_seconds_delta: float
    artifact_digests_added: tuple[str, ...]
    artifact_digests_removed: tuple[str, ...]
    schema_version: str = RUN_DIFF_SCHEMA_VERSION

    def __post_init__(self) -> None:
        faults = Faults()
        with faults:
            check_schema_version(self.schema_version, RUN_DIFF_SCHEMA_VERSION, RunDiffError)
        _check_set(self, "workflow_ids", check_workflow_ids, faults)
        code = "invalid_delta"
        with faults:
            field = "outcome_count_deltas"
            deltas = check_outcome_numbers(
                self.outcome_count_deltas, field, code, RunDiffError, least=-MAX_OUTCOMES
            )
            object.__setattr__(self, field, deltas)
        with faults:
            limit = MAX_TOOL_CALLS
            calls = self.tool_call_count_delta
            check_integer(calls, "tool_call_count_delta", code, RunDiffError, least=-limit, most=limit)
        with faults:
            field = "duration_seconds_delta"
            seconds = check_seconds(self.duration_seconds_delta, field, RunDiffError, least=-MAX_SECONDS)
            object.__setattr__(self, field, seconds + 0.0)  # -0.0 + 0.0 is 0.0
        _check_set(self, "artifact_digests", check_artifact_digests, faults)
        faults.raise_first()

    def __repr__(self) -> str:
        return f"RunSummaryDiff(changed={self.changed})"

    @property
    def changed(self) -> bool:
        """Tell whether any set is not empty or any delta not zero."""
        sets = (
            self.workflow_ids_added,
            self.workflow_ids_removed,
            self.artifact_digests_added,
            self.artifact_digests_removed,
        )
        numbers = (
            *self.outcome_count_deltas.values(),
            self.tool_call_count_delta,
            self.duration_seconds_delta,
        )
        return any(sets) or any(numbers)

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order; it nests the sets."""
        return {
            "schema_version": self.schema_version,
            "changed": self.changed,
            "workflow_ids": {
                "added": list(self.workflow_ids_added),
                "removed": list(self.workflow_ids_removed),
            },
            "outcome_count_deltas": dict(self.outcome_count_deltas),
            "tool_call_count_delta": self.tool_call_count_delta,
            "duration_seconds_delta": self.duration_seconds_delta,
            "artifact_digests": {
                "added": list(self.artifact_digests_added),
                "removed": list(self.artifact_digests_removed),
            },
        }

    def to_json(self) -> str:
        """Return canonical JSON without a newline."""
        return canonical_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return the Markdown of CONTRACTS 11; seconds have six significant digits there."""
        return run_diff_markdown(self.to_dict())


def diff_run_summaries(before: RunSummary, after: RunSummary) -> RunSummaryDiff:
    """Compare two summaries; raises RunDiffError, that of ``before`` first."""
    for name, summary in (("before", before), ("after", after)):
        if not isinstance(summary, RunSummary):
            raise RunDiffError(name, "invalid_summary")
    return RunSummaryDiff(
        workflow_ids_added=_beyond(after.workflow_ids, before.workflow_ids),
        workflow_ids_removed=_beyond(before.workflow_ids, after.workflow_ids),
        outcome_count_deltas={
            name: count - before.outcome_counts[name] for name, count in after.outcome_counts.items()
        },
        tool_call_count_delta=after.tool_call_count - before.tool_call_count,
        duration_seconds_delta=after.duration_seconds - before.duration_seconds,
        artifact_digests_added=_beyond(after.artifact_digests, before.artifact_digests),
        artifact_digests_removed=_beyond(before.artifact_digests, after.artifact_digests),
    )


def _beyond(items: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the items that the others lack, in their order."""
    known = set(others)
    return tuple(item for item in items if item not in known)

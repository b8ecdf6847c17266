"""One workflow run as a summary counts it: ids, counts and digests, none of its content (CONTRACTS 10.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from toolvet.core.errors import ContractError, RunSummaryError
from toolvet.core.faults import Faults, check_fields, placed
from toolvet.core.identifiers import is_digest, is_summary_workflow_id
from toolvet.core.outcome import WorkflowOutcome
from toolvet.core.record_members import MemberFault, read_members
from toolvet.core.run_values import MAX_OUTCOMES, check_items, check_seconds, check_tool_calls, refuse_at

MAX_EVENT_DIGESTS: Final = 128
_Item = TypeVar("_Item")


def check_workflow_id(value: object) -> str:
    """Return a workflow id, which is no governance identifier (CONTRACTS 2.5)."""
    if not is_summary_workflow_id(value):
        raise RunSummaryError("workflow_id", "invalid_identifier")
    return value


def _check_outcome(value: object) -> WorkflowOutcome:
    if not isinstance(value, WorkflowOutcome):
        raise RunSummaryError("outcome", "invalid_type")
    return value


def _check_duration(value: object) -> float:
    return check_seconds(value, "duration_seconds", RunSummaryError, least=0.0)


def check_event_digests(value: object) -> tuple[str, ...]:
    """Return at most 128 digests in the order given, none of them twice."""
    field = "artifact_digests"
    items = check_items(value, field, is_digest, "invalid_digest", RunSummaryError, most=MAX_EVENT_DIGESTS)
    if len(set(items)) != len(items):
        repeated = (index for index, item in enumerate(items) if item in items[:index])
        refuse_at(repeated, field, "duplicate_item", RunSummaryError)
    return items


_CHECKS: Final[dict[str, Callable[[object], object]]] = {
    "workflow_id": check_workflow_id,
    "outcome": _check_outcome,
    "tool_call_count": check_tool_calls,
    "duration_seconds": _check_duration,
    "artifact_digests": check_event_digests,
}
"""By field, in the order in which faults are found."""


@dataclass(frozen=True, slots=True, repr=False)
class RunEvent:
    """A run that ended; ``duration_seconds`` in seconds, at most a year; any iterable of digests will do.

    Raises RunSummaryError: its text is the first field at fault, and ``faults`` names all of several.
    """

    workflow_id: str
    outcome: WorkflowOutcome
    tool_call_count: int = 0
    duration_seconds: float = 0.0
    artifact_digests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = {field: getattr(self, field) for field in _CHECKS}
        for field, value in check_fields(values, _CHECKS).items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        return "RunEvent(<content-free>)"

    @classmethod
    def from_dict(cls, mapping: object) -> RunEvent:
        """Parse a mapping of the constructor's fields, the outcome a mapping, too; ours, not the contract's.

        Raises RunSummaryError, or OutcomeError where a fault below ``outcome`` is the first one.
        """
        members = read_members(mapping, _REQUIRED, tuple(_DEFAULTS))
        match members.fault:
            case MemberFault.NO_MAPPING | MemberFault.UNREADABLE:
                raise RunSummaryError("event", "invalid_mapping")
            case MemberFault.MISSING_FIELD:
                missing = [RunSummaryError(name, "missing_field") for name in members.missing]
                raise RunSummaryError("event", "missing_field", missing)
            case MemberFault.UNKNOWN_FIELD:
                raise RunSummaryError("event", "unknown_field")
        return cls(**check_fields(_DEFAULTS | members.values, _PARSERS))


def _parse_outcome(value: object) -> WorkflowOutcome:
    fault: ContractError
    try:
        return WorkflowOutcome.from_dict(value)
    except ContractError as error:
        fault = error.under("outcome")
    raise fault


_REQUIRED: Final = ("workflow_id", "outcome")
_DEFAULTS: Final[dict[str, object]] = {"tool_call_count": 0, "duration_seconds": 0.0, "artifact_digests": ()}
_PARSERS: Final = _CHECKS | {"outcome": _parse_outcome}


def _as_read(item: _Item, _place: str) -> object:
    return item


def parse_events(items: Iterable[_Item], read: Callable[[_Item, str], object] = _as_read) -> list[RunEvent]:
    """Parse events as ``RunEvent.from_dict``, one more than a summary takes at most.

    ``read`` makes the mapping of an item, and is told its place. Raises RunSummaryError
    ``events: invalid_item``; its ``faults`` are precise, such as ``events[3].outcome.reason_code:
    unknown_reason``.
    """
    events: list[RunEvent] = []
    faults = Faults()
    for index, item in enumerate(islice(items, MAX_OUTCOMES + 1)):
        with faults:
            place = f"events[{index}]"
            events.append(_parse_event(read(item, place), place))
        if faults.full:
            break
    faults.raise_as(RunSummaryError, "events", "invalid_item")
    return events


def _parse_event(document: object, place: str) -> RunEvent:
    fault: ContractError
    try:
        return RunEvent.from_dict(document)
    except ContractError as error:
        fault = placed(error, place, whole="event")
    raise fault

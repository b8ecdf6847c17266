"""What a case of ``run_summary`` does: outcomes, events, and summaries from each of their sources."""

from typing import Any

from contracts.vectors.vector_codec import decode
from toolvet.core.outcome import WorkflowOutcome
from toolvet.core.run_event import RunEvent
from toolvet.core.run_summary import RunSummary


def run_summary(case: dict[str, Any]) -> dict[str, Any]:
    match case["op"]:
        case "from_events":
            return _summary_results(RunSummary.from_events(_events(decode(case["events"]))))
        case "repeat_event":
            event = _event(decode(case["event"]))
            return _summary_results(RunSummary.from_events(event for _ in range(case["times"])))
        case "event":
            event = _event(decode(case["event"]))
            return {
                "duration_seconds": event.duration_seconds,
                "artifact_digests": list(event.artifact_digests),
            }
        case "from_mapping":
            return _summary_results(RunSummary.from_dict(decode(case["document"])))
        case "construct":
            return _summary_results(RunSummary(**decode(case["args"])))
        case "from_text":
            return _summary_results(RunSummary.from_json(decode(case["text"])))
        case "outcome":
            outcome = WorkflowOutcome.from_dict(decode(case["document"]))
            return {"json": outcome.to_json(), "field_order": list(outcome.to_dict())}
    raise AssertionError(f"unknown op {case['op']}")


def _events(listed: Any) -> Any:
    return [_event(item) for item in listed] if isinstance(listed, list) else listed


def _event(fields: Any) -> Any:
    """Build the event of its fields; what is no mapping is passed on as it is."""
    if not isinstance(fields, dict):
        return fields
    outcome = fields["outcome"]
    if isinstance(outcome, dict):
        outcome = WorkflowOutcome.from_dict(outcome)
    return RunEvent(**fields | {"outcome": outcome})


def _summary_results(summary: RunSummary) -> dict[str, Any]:
    return {
        "json": summary.to_json(),
        "markdown": summary.to_markdown(),
        "commitment": summary.commitment,
        "field_order": list(summary.to_dict()),
    }

"""Outcomes, run events, run summaries and their diffs by the reference."""

from typing import Any

from answer_records import decoded
from openmed.agent.outcomes import WorkflowOutcome
from openmed.agent.run_commitment import compute_run_summary_commitment
from openmed.agent.run_diff import RunSummaryDiff, diff_run_summaries
from openmed.agent.run_summary import RunEvent, RunSummary

Results = dict[str, Any]


def _run_summary(case: dict[str, Any]) -> Results:
    operation = case["op"]
    if operation == "outcome":
        outcome = WorkflowOutcome.from_dict(decoded(case["document"]))
        return {"json": outcome.to_json(), "field_order": list(outcome.to_dict())}
    if operation == "event":
        event = _event(decoded(case["event"]))
        return {
            "duration_seconds": event.duration_seconds,
            "artifact_digests": list(event.artifact_digests),
        }
    return _summary_results(_summary(operation, case))


def _outcome_text(case: dict[str, Any]) -> Results:
    outcome = WorkflowOutcome.from_json(decoded(case["text"]))
    return {"json": outcome.to_json(), "field_order": list(outcome.to_dict())}


def _summary(operation: str, case: dict[str, Any]) -> RunSummary:
    if operation == "from_mapping":
        return RunSummary.from_dict(decoded(case["document"]))
    if operation == "from_text":
        return RunSummary.from_json(decoded(case["text"]))
    if operation == "construct":
        return RunSummary(**decoded(case["args"]))
    if operation == "repeat_event":
        return RunSummary.from_events([_event(decoded(case["event"]))] * case["times"])
    events = decoded(case["events"])
    return RunSummary.from_events([_event(item) for item in events] if isinstance(events, list) else events)


def _event(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    arguments = dict(document)
    if isinstance(arguments.get("outcome"), dict):
        arguments["outcome"] = WorkflowOutcome.from_dict(arguments["outcome"])
    return RunEvent(**arguments)


def _summary_results(summary: RunSummary) -> Results:
    return {
        "json": summary.to_json(),
        "markdown": summary.to_markdown(),
        "commitment": compute_run_summary_commitment(summary),
        "field_order": list(summary.to_dict()),
    }


def _run_diff(case: dict[str, Any]) -> Results:
    if case["op"] == "construct":
        return _diff_results(RunSummaryDiff(**decoded(case["args"])))
    before, after = (_typed(decoded(case[name])) for name in ("before", "after"))
    results = _diff_results(diff_run_summaries(before, after))
    return results | {"reverse_json": diff_run_summaries(after, before).to_json()}


def _typed(document: Any) -> Any:
    return RunSummary.from_dict(document) if isinstance(document, dict) else document


def _diff_results(diff: RunSummaryDiff) -> Results:
    return {
        "changed": diff.changed,
        "json": diff.to_json(),
        "markdown": diff.to_markdown(),
        "field_order": list(diff.to_dict()),
    }


FAMILIES = {"run_summary": _run_summary, "run_diff": _run_diff, "outcome_text": _outcome_text}

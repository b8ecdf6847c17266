"""What a case of ``run_diff`` does: a comparison, forward and back, or a diff built directly."""

from typing import Any

from contracts.vectors.vector_codec import decode
from toolvet.core.run_diff import RunSummaryDiff, diff_run_summaries
from toolvet.core.run_summary import RunSummary


def run_diff(case: dict[str, Any]) -> dict[str, Any]:
    match case["op"]:
        case "diff":
            before, after = (_summary(decode(case[side])) for side in ("before", "after"))
            results = _diff_results(diff_run_summaries(before, after))
            return results | {"reverse_json": diff_run_summaries(after, before).to_json()}
        case "construct":
            return _diff_results(RunSummaryDiff(**decode(case["args"])))
    raise AssertionError(f"unknown op {case['op']}")


def _summary(document: Any) -> Any:
    return RunSummary.from_dict(document) if isinstance(document, dict) else document


def _diff_results(diff: RunSummaryDiff) -> dict[str, Any]:
    return {
        "changed": diff.changed,
        "json": diff.to_json(),
        "markdown": diff.to_markdown(),
        "field_order": list(diff.to_dict()),
    }

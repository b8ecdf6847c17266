"""Sum up two runs of an agent and say how they differ, without judging it."""

import sys

from toolvet.runtime import OutcomeClass, RunEvent, RunSummary, WorkflowOutcome, diff_run_summaries

ANSWERED = WorkflowOutcome(OutcomeClass.SUCCESS, "completed")
ESCALATED = WorkflowOutcome(OutcomeClass.REVIEW_REQUIRED, "human_gate")


def main() -> None:
    """Compare a week in which everything was answered with one in which a ticket went to a person."""
    first = RunSummary.from_events(
        [
            RunEvent(workflow_id="search", outcome=ANSWERED, tool_call_count=4, duration_seconds=2.5),
            RunEvent(workflow_id="ticket", outcome=ANSWERED, tool_call_count=1, duration_seconds=0.75),
        ]
    )
    second = RunSummary.from_events(
        [
            RunEvent(workflow_id="search", outcome=ANSWERED, tool_call_count=4, duration_seconds=2.5),
            RunEvent(workflow_id="ticket", outcome=ESCALATED, tool_call_count=3, duration_seconds=1.0),
        ]
    )
    sys.stdout.write(diff_run_summaries(first, second).to_markdown())


if __name__ == "__main__":
    main()

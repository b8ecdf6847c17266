"""``toolvet runs``: what agent runs came to, in aggregate, and what differs between two such summaries."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.output import ExitCode, print_result


class RunFormat(StrEnum):
    """How a summary or a comparison of two is written."""

    TEXT = "text"
    JSON = "json"


_Format = Annotated[
    RunFormat, typer.Option("--format", help="Text is Markdown; json is the contract's document.")
]
# Click keeps the lines of a paragraph that opens with a backspace character.
_SUMMARIZE = """Add up run events: workflows, outcomes, tool calls, seconds, digests of artifacts.

EVENTS is a JSON array of events, or one event a line; at most 10000 events and 10 MiB. Events have
ids, counts, closed classes and digests, and nothing of what a run said or did. One of one event:

\b
[{"workflow_id": "intake", "tool_call_count": 3, "duration_seconds": 1.5,
  "outcome": {"outcome_class": "failed", "reason_code": "timeout"}}]

Classes, and the reasons of each:

\b
success          completed
abstained        insufficient_evidence, out_of_scope, low_confidence
review_required  conflicting_evidence, safety_review, human_gate
policy_denied    consent_required, purpose_mismatch, phi_policy
failed           tool_error, timeout, invalid_input
"""


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.command("summarize", no_args_is_help=True, help=_SUMMARIZE)(summarize)
    group.command("diff", no_args_is_help=True)(diff)


def summarize(
    events: Annotated[str, typer.Argument(metavar="EVENTS", help="A file, or - for standard input.")],
    *,
    form: _Format = RunFormat.TEXT,
) -> None:
    """Add up run events: workflows, outcomes, tool calls, seconds, digests of artifacts."""
    from toolvet.cli import run_documents as action  # noqa: PLC0415  # start-up of the others stays light

    summary = action.summarize(events)
    print_result(summary.to_json() + "\n" if form is RunFormat.JSON else summary.to_markdown())


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A run summary, or - for standard input.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="A run summary, or - for standard input.")],
    *,
    form: _Format = RunFormat.TEXT,
) -> None:
    """Show what differs between two run summaries; exit 0 when nothing does, 1 otherwise.

    Each is a JSON document as toolvet runs summarize --format json writes it, at most 1 MiB. Every delta
    is AFTER minus BEFORE. The command does not judge what it shows: that is for your own policy.
    """
    from toolvet.cli import run_documents as action  # noqa: PLC0415  # start-up of the others stays light

    found = action.compare(before, after)
    print_result(found.to_json() + "\n" if form is RunFormat.JSON else found.to_markdown())
    if found.changed:
        raise typer.Exit(ExitCode.DIFFERS)

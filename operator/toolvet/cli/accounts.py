"""The commands about live tools as typer sees them: changes to look at, and calls that wait for a yes."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.cluster import ResultFormat
from toolvet.cli.inspection import ReportFormat
from toolvet.cli.output import ExitCode, print_note, print_result
from toolvet.cli.types import Context, Kubeconfig, Namespace

_Report = Annotated[ReportFormat, typer.Option("--output", "-o", help="How the report is written.")]
_Result = Annotated[ResultFormat, typer.Option("--output", "-o", help="name: of the object; json: all.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Ask the API server, and change nothing.")]


class ChangeClass(StrEnum):
    """How much a change matters."""

    MATERIAL = "material"
    MINOR = "minor"


class Phase(StrEnum):
    """What became of a held call."""

    HELD = "Held"
    APPROVED = "Approved"
    DENIED = "Denied"
    CONSUMED = "Consumed"


def register(changes: typer.Typer, calls: typer.Typer) -> None:
    """Add the commands to their groups."""
    changes.command("list")(list_changes)
    changes.command("show", no_args_is_help=True)(show_change)
    changes.command("ack", no_args_is_help=True)(acknowledge)
    calls.command("list")(list_calls)
    calls.command("approve", no_args_is_help=True, help=_APPROVE)(_decision("Approved"))
    calls.command("deny", no_args_is_help=True, help=_DENY)(_decision("Denied"))


def list_changes(
    *,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="Of this MCPSource alone.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="ID", help="Of this tool alone.")] = None,
    severity: Annotated[ChangeClass | None, typer.Option("--class", help="Of this class alone.")] = None,
    waiting: Annotated[bool, typer.Option("--waiting", help="Those that wait for you alone.")] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Report = ReportFormat.TEXT,
) -> None:
    """List what changed in the tools of live servers, the oldest first."""
    from toolvet.cli import tool_change_report as report  # noqa: PLC0415  # start-up stays light
    from toolvet.cli import tool_changes as action  # noqa: PLC0415  # the same
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same
    from toolvet.core.change_reason import ChangeResult  # noqa: PLC0415  # the same

    classes = {ChangeClass.MATERIAL: ChangeResult.MATERIAL, ChangeClass.MINOR: ChangeResult.MINOR}
    wanted = action.Wanted(source, tool, None if severity is None else classes[severity], waiting)
    found = run_in_cluster(kubeconfig, context, namespace, lambda session: action.changes(session, wanted))
    print_result(report.list_json(found) if output is ReportFormat.JSON else report.list_text(found))
    if not found:
        print_note("no such change")


def show_change(
    name: Annotated[str, typer.Argument(help="Name of the ToolChange.")],
    *,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Print what the server said before and after, escaped.")
    ] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Report = ReportFormat.TEXT,
) -> None:
    """Show one change; with --evidence the texts of both sides, for who may read its Secret."""
    from toolvet.cli import tool_change_report as report  # noqa: PLC0415  # start-up stays light
    from toolvet.cli import tool_changes as action  # noqa: PLC0415  # the same
    from toolvet.cli.session import Session, run_in_cluster  # noqa: PLC0415  # the same

    async def work(session: Session) -> str:
        record = await action.change(session, name)
        listed = await action.changes(session, action.Wanted())
        found = next((each for each in listed if each.record.name == name), action.Change(record, None))
        sides = await report.read_sides(session, record) if evidence else None
        form = report.change_json if output is ReportFormat.JSON else report.change_text
        return form(found, sides)

    print_result(run_in_cluster(kubeconfig, context, namespace, work))


def acknowledge(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="ToolChanges.")] = None,
    *,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --all: the MCPSource whose changes these are.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait for you, of --source.")] = False,
    dry_run: _DryRun = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Result = ResultFormat.NAME,
) -> None:
    """Acknowledge changes for yourself, in your own enablement; nobody else's calls are allowed by it."""
    from toolvet.cli import tool_changes as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    if bool(names) == every or every != (source is not None):
        print_note("error: give names of changes, or --all with --source NAME")
        raise typer.Exit(ExitCode.BAD_INPUT)
    done = run_in_cluster(
        kubeconfig,
        context,
        namespace,
        lambda session: action.acknowledge(session, names or [], source, dry_run=dry_run),
    )
    lines = [f"toolchange.toolvet.dev/{name}" for name in done.names]
    text = json.dumps(done.to_dict(), indent=2) if output is ResultFormat.JSON else "\n".join(lines)
    print_result(f"{text}\n" if text else "")


def list_calls(
    *,
    phase: Annotated[Phase | None, typer.Option(help="In this phase alone.")] = None,
    requested_by: Annotated[str | None, typer.Option(metavar="USER", help="Of this account alone.")] = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Report = ReportFormat.TEXT,
) -> None:
    """List held calls, those that expire first at the top."""
    from datetime import UTC, datetime  # noqa: PLC0415  # as below

    from toolvet.cli import held_calls as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same
    from toolvet.core.tool_account import CallPhase  # noqa: PLC0415  # the same

    now = datetime.now(UTC)
    wanted = None if phase is None else CallPhase(phase.value)
    found = run_in_cluster(
        kubeconfig, context, namespace, lambda session: action.calls(session, wanted, requested_by, now)
    )
    print_result(action.list_json(found) if output is ReportFormat.JSON else action.list_text(found))
    if not found:
        print_note("no such call")


_APPROVE = """Approve a held call: once, for its exact arguments and definition.

Needs the verb decide on heldtoolcalls, and another account than the one that asks.
"""
_DENY = "Deny a held call."


def _decision(verdict: str) -> Callable[..., None]:
    def command(
        name: Annotated[str, typer.Argument(help="Name of the HeldToolCall.")],
        *,
        dry_run: _DryRun = False,
        namespace: Namespace = None,
        kubeconfig: Kubeconfig = None,
        context: Context = None,
        output: _Result = ResultFormat.NAME,
    ) -> None:
        from datetime import UTC, datetime  # noqa: PLC0415  # as below

        from toolvet.cli import held_calls as action  # noqa: PLC0415  # start-up stays light
        from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same
        from toolvet.core.tool_account import CallPhase  # noqa: PLC0415  # the same

        now = datetime.now(UTC)
        found = run_in_cluster(
            kubeconfig,
            context,
            namespace,
            lambda session: action.decide(session, name, CallPhase(verdict), now, dry_run=dry_run),
        )
        text = f"heldtoolcall.toolvet.dev/{name}"
        print_result((json.dumps(found.to_dict(), indent=2) if output is ResultFormat.JSON else text) + "\n")

    return command

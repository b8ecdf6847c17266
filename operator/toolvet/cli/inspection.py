"""The commands that look and change nothing, as typer sees them; each loads what it does when called."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.output import ExitCode, print_note, print_result
from toolvet.cli.types import Context, Kubeconfig, Namespace


class ReportFormat(StrEnum):
    """How a report is written to standard output."""

    TEXT = "text"
    JSON = "json"


_Output = Annotated[ReportFormat, typer.Option("--output", "-o", help="How the report is written.")]

_EXIT_CODES = {"allowed": ExitCode.CLEAN, "denied": ExitCode.DIFFERS, "unknown": ExitCode.UNKNOWN}


def register(app: typer.Typer) -> None:
    """Add the commands to the root."""
    for command in (check, explain, history):
        app.command(no_args_is_help=True)(command)


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES...", help="Manifests, folders of them, or - for standard input."),
    ],
    *,
    live: Annotated[
        bool, typer.Option("--live", help="Read from the cluster what is not among the files.")
    ] = False,
    mode_any: Annotated[
        bool, typer.Option("--mode-any", help="Judge as enforced, whatever mode a namespace has.")
    ] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ReportFormat.TEXT,
) -> None:
    """Judge workloads in manifests as the gate would once all the files are applied.

    Exit 0: all allowed; 1: one would be refused; 2: a file cannot be understood; 3: one cannot be told.
    Without --live no approval can be vouched for: what is not refused for certain is unknown. Each workload
    is judged as a creation. Objects without a namespace are in that of -n, of the context, or in default.
    """
    from datetime import UTC, datetime  # noqa: PLC0415  # start-up of the other commands stays light

    from toolvet.cli import check as action  # noqa: PLC0415  # the same

    now = datetime.now(UTC)
    if live:
        from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

        report = run_in_cluster(
            kubeconfig,
            context,
            namespace,
            lambda session: action.check_live(session, files, now, mode_any=mode_any),
        )
    else:
        report = action.check_offline(files, namespace, now, mode_any=mode_any)
    print_result(report.json_text if output is ReportFormat.JSON else report.text)
    for note in report.notes:
        print_note(note)
    raise typer.Exit(report.exit_code)


def explain(
    workload: Annotated[str, typer.Argument(help="Such as deployment/assistant.")],
    *,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ReportFormat.TEXT,
) -> None:
    """Show every read and rule of the gate's decision about a workload, as if it were rolled out now.

    Exit 0: it would be allowed; 1: refused; 3: it depends on what may not be read, which is listed.
    """
    from datetime import UTC, datetime  # noqa: PLC0415  # start-up of the other commands stays light

    from toolvet.cli import explain_report as report  # noqa: PLC0415  # the same
    from toolvet.cli.explain import explain as action  # noqa: PLC0415  # the same
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    now = datetime.now(UTC)
    found = run_in_cluster(kubeconfig, context, namespace, lambda session: action(session, workload, now))
    print_result(report.json_text(found, now) if output is ReportFormat.JSON else report.text(found, now))
    raise typer.Exit(_EXIT_CODES[found.certainty])


def history(
    inventory: Annotated[str, typer.Argument(help="Name of the ToolInventory.")],
    *,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ReportFormat.TEXT,
) -> None:
    """List the generations of an inventory that were observed, and what each of them changed.

    Reads ControllerRevisions, as the role view may. toolvet catalog diff INVENTORY --from GENERATION shows
    which tools it were.
    """
    from toolvet.cli.history import history as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    found = run_in_cluster(kubeconfig, context, namespace, lambda session: action(session, inventory))
    print_result(found.json_text if output is ReportFormat.JSON else found.text)

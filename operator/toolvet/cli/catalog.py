"""``toolvet catalog``: compare catalogs kept in files or in a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from toolvet.cli.output import ExitCode, print_note, print_result
from toolvet.cli.types import Context, Kubeconfig, Namespace

if TYPE_CHECKING:
    from toolvet.cli.diff_documents import Comparison


class DiffFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.callback()(_group)
    group.command("diff", no_args_is_help=True)(diff)


def _group() -> None:
    """Compare catalogs."""


def diff(
    baseline: Annotated[
        str,
        typer.Argument(metavar="A", help="What was, or - for standard input; with --from, the inventory."),
    ],
    candidate: Annotated[
        str | None, typer.Argument(metavar="B", help="What is, or - for standard input.")
    ] = None,
    *,
    before: Annotated[
        str | None,
        typer.Option("--from", metavar="VERSION", help="In the cluster: a generation, a snapshot, or live."),
    ] = None,
    after: Annotated[
        str, typer.Option("--to", metavar="VERSION", help="With --from: as it, where not the live catalog.")
    ] = "live",
    form: Annotated[
        DiffFormat, typer.Option("--format", help="Text is Markdown; json is the contract's document.")
    ] = DiffFormat.TEXT,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show what differs between two catalogs; exit 0 when nothing does, 1 otherwise.

    Each is a contract inventory document or the manifest of a ToolInventory or RunToolCatalogSnapshot,
    YAML or JSON. Where both say what runs their tools, that is compared, too. With --from, A names an
    inventory in the cluster, and two of its versions are compared: toolvet history lists them.
    """
    if (candidate is None) == (before is None):
        raise typer.BadParameter("give two documents, or an inventory and --from")
    result: Comparison
    if before is not None:
        from toolvet.cli.history import compare_versions  # noqa: PLC0415  # start-up of the others stays light
        from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

        version = before
        result = run_in_cluster(
            kubeconfig,
            context,
            namespace,
            lambda session: compare_versions(session, baseline, version, after),
        )
    else:
        from toolvet.cli.diff_documents import compare  # noqa: PLC0415  # the same

        result = compare(baseline, str(candidate))
    print_result(result.json_text if form is DiffFormat.JSON else result.text)
    if form is DiffFormat.JSON and result.implementations_changed:
        count = result.implementations_changed
        print_note(f"note: {count} implementations differ; the contract's document has no place for them.")
    if result.differs:
        raise typer.Exit(ExitCode.DIFFERS)

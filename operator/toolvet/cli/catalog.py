"""``toolvet catalog``: compare catalogs kept in files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.output import ExitCode, print_note, print_result


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
    baseline: Annotated[str, typer.Argument(metavar="A", help="What was, or - for standard input.")],
    candidate: Annotated[str, typer.Argument(metavar="B", help="What is, or - for standard input.")],
    *,
    form: Annotated[
        DiffFormat, typer.Option("--format", help="Text is Markdown; json is the contract's document.")
    ] = DiffFormat.TEXT,
) -> None:
    """Show what differs between two catalogs; exit 0 when nothing does, 1 otherwise.

    Each is a contract inventory document or the manifest of a ToolInventory or RunToolCatalogSnapshot,
    YAML or JSON. Where both say what runs their tools, that is compared, too.
    """
    from toolvet.cli import diff_documents as action  # noqa: PLC0415  # start-up of the other commands stays light

    result = action.compare(baseline, candidate)
    print_result(result.json_text if form is DiffFormat.JSON else result.text)
    if form is DiffFormat.JSON and result.implementations_changed:
        count = result.implementations_changed
        print_note(f"note: {count} implementations differ; the contract's document has no place for them.")
    if result.differs:
        raise typer.Exit(ExitCode.DIFFERS)

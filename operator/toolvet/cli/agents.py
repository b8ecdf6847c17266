"""``toolvet agents tools``: the reference's command, to its texts and exit codes (CONTRACTS 6)."""

from __future__ import annotations

from typing import Annotated

import typer

from toolvet.cli.output import ExitCode, print_note, print_result
from toolvet.core.errors import ContractError

_REFUSED = ExitCode.DIFFERS
"""This command keeps its contract's own code: 1 for every error but a wrong use."""


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.callback()(_group)
    group.command("tools")(tools)


def _group() -> None:
    """Look at what agents may call."""


def tools(
    *,
    inventory: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Inventory document; without it, the empty inventory."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|json", help="Markdown, or canonical JSON.")
    ] = "text",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="Write there, over what is there.")
    ] = None,
) -> None:
    """Check and render a contract inventory document; nothing is called, probed or looked up.

    Exit 1 for a document that breaks the contract. The error names no record: toolvet inventory manifest
    does.
    """
    from toolvet.cli import agents_tools as action  # noqa: PLC0415  # start-up of the others stays light

    fault: ContractError | None = None
    try:
        text = action.rendered(inventory, form)
        action.deliver(text, output, print_result)
    except ContractError as error:
        fault = error
    if fault is not None:
        print_note(f"Unable to render agent tool inventory: {fault}")
        raise typer.Exit(_REFUSED)

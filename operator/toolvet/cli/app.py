"""The command line: one typer app, its groups, and nothing heavy at import time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Annotated

import typer

from toolvet.cli import accounts, agents, catalog, cluster, inspection, inventory, publish, runs, source
from toolvet.cli.output import ExitCode


def new_group(text: str) -> typer.Typer:
    """Return a group of commands that behaves like all others: plain help, shown when nothing is asked."""
    # rich_markup_mode=None: no frames or colours in help, and rich is never imported.
    return typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


app = new_group("Approve exactly which tools an AI agent may call.")
inventory_app = new_group("Make ToolInventory manifests: what an agent's tools are, without their texts.")
catalog_app = new_group("Compare catalogs.")
agents_app = new_group("Look at what agents may call.")
runs_app = new_group("Summarize agent runs, and compare summaries without judging them.")
source_app = new_group("Look at live MCP servers.")
changes_app = new_group("Look at what changed in the tools of live servers, and acknowledge it.")
calls_app = new_group("Approve or deny calls that wait for it.")
namespace_app = new_group("Choose how a namespace is governed.")

app.add_typer(inventory_app, name="inventory")
app.add_typer(catalog_app, name="catalog")
app.add_typer(namespace_app, name="namespace")
app.add_typer(agents_app, name="agents")
app.add_typer(runs_app, name="runs")
app.add_typer(source_app, name="source")
app.add_typer(changes_app, name="changes")
app.add_typer(calls_app, name="calls")
inventory.register(inventory_app)
catalog.register(catalog_app)
agents.register(agents_app)
cluster.register(app, namespace_app)
inspection.register(app)
publish.register(app)
runs.register(runs_app)
source.register(source_app)
accounts.register(changes_app, calls_app)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"toolvet {metadata.version('toolvet')}\n")
        raise typer.Exit(ExitCode.CLEAN)


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Approve exactly which tools an AI agent may call, and stop the next rollout when they change."""


def list_processes(processes: Mapping[str, tuple[str, Callable[[Sequence[str]], int]]]) -> None:
    """Add the long-running processes to the help; their arguments are passed on unread."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    for name, (text, run) in processes.items():

        def start(context: typer.Context, run: Callable[[Sequence[str]], int] = run) -> None:
            raise typer.Exit(run(context.args))

        app.command(name, help=text, context_settings=settings, add_help_option=False)(start)


def run(argv: Sequence[str], *, program: str) -> int:
    """Run one command line and return its exit code; raises what the command raises."""
    try:
        app(args=list(argv), prog_name=program)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else ExitCode.CLEAN
    return ExitCode.CLEAN

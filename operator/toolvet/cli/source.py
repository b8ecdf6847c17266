"""``toolvet source``: look at a live MCP server as the collector would, without a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from toolvet.cli.output import ExitCode, print_result

# Click keeps the lines of a paragraph that opens with a backspace character.
_PROBE = """List the tools of a live MCP server over Streamable HTTP; print digests of what it says.

The server's texts are not printed; --names adds the names of its tools, and --mapping prints them as the
mapping of an MCPSource. Private addresses, and plain http, need --allow. Exit code 3: nothing is known of
the tools, and `reason` says why. An example:

\b
toolvet source probe http://tools.example:8080/mcp --allow tools.example
toolvet source probe https://mcp.example.org/mcp --mapping org.example
"""


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""

    # One command alone would become the group itself.
    @group.callback()
    def _source() -> None:
        """Look at live MCP servers."""

    group.command("probe", no_args_is_help=True, help=_PROBE)(probe)


def probe(
    url: Annotated[str, typer.Argument(metavar="URL", help="The MCP endpoint, http or https.")],
    *,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK", help="A network, address or host name that may be asked; repeatable."
        ),
    ] = None,
    header_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Headers to send, one `Name: value` a line; - for standard input."),
    ] = None,
    ca_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Authorities to trust instead of the system's, in PEM form."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, metavar="SECONDS", help="For the whole listing.")
    ] = 30.0,
    names: Annotated[
        bool, typer.Option("--names", help="Print the names of the tools, which are the server's text.")
    ] = False,
    mapping: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE",
            help="Print the mapping of an MCPSource instead, to be reviewed and pasted in: the names of the "
            "tools, which are the server's text, and ids made of them, such as tool:NAMESPACE/read-file.",
        ),
    ] = None,
) -> None:
    """List the tools of a live MCP server; print digests."""
    from toolvet.cli import source_probe as action  # noqa: PLC0415  # start-up of the other commands stays light

    request = action.Probe(
        url=url, allow=tuple(allow or ()), header_file=header_file, ca_file=ca_file, timeout=timeout
    )
    report = action.run(request, names=names, id_namespace=mapping)
    print_result(report.text)
    raise typer.Exit(ExitCode.CLEAN if report.known else ExitCode.UNKNOWN)

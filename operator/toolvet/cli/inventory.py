"""``toolvet inventory``: manifests from a live MCP server, or from a contract document."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.output import print_result


class ManifestFormat(StrEnum):
    """How a manifest is written."""

    YAML = "yaml"
    JSON = "json"


_Name = Annotated[str, typer.Option(help="Name of the ToolInventory: that of the agent's service account.")]
_Namespace = Annotated[str | None, typer.Option("--namespace", "-n", help="Namespace written into it.")]
_Mapping = Annotated[
    str | None, typer.Option("--mapping", metavar="FILE", help="Mapping document, YAML or JSON.")
]
_Output = Annotated[ManifestFormat, typer.Option("--output", "-o", help="How the manifest is written.")]
# Click keeps the lines of a paragraph that opens with a backspace character.
_FROM_MCP = """Start a stdio MCP server, list its tools, print the ToolInventory manifest.

The manifest holds ids, versions, classes and digests, and none of the server's texts.
Classes follow from the tools' hints: destructive where there are none, and never the class none. An example:

\b
toolvet inventory from-mcp --name assistant --id-namespace org.example \\
  --tool-version 1.0.0 --capability capability:org.example/git \\
  -- mcp-server-git | kubectl apply --server-side -f -
"""


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.command("from-mcp", no_args_is_help=True, help=_FROM_MCP)(from_mcp)
    group.command("manifest", no_args_is_help=True)(manifest)


def from_mcp(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="Starts the server; write -- before it.")
    ],
    *,
    name: Annotated[
        str | None, typer.Option(help="Name of the ToolInventory: that of the agent's service account.")
    ] = None,
    namespace: _Namespace = None,
    id_namespace: Annotated[
        str | None,
        typer.Option(
            metavar="DOMAIN",
            help="Tool ids become tool:DOMAIN/NAME: the runtime name in lower case, `_` and `.` as `-`.",
        ),
    ] = None,
    tool_version: Annotated[
        str | None, typer.Option(metavar="X.Y.Z", help="Version of every tool without one of its own.")
    ] = None,
    capability: Annotated[
        str | None, typer.Option(metavar="ID", help="Capability of every tool without one of its own.")
    ] = None,
    mapping: _Mapping = None,
    output: _Output = ManifestFormat.YAML,
    print_mapping: Annotated[
        bool,
        typer.Option(
            "--print-mapping", help="Print a mapping document to start from; it holds the runtime names."
        ),
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, metavar="SECONDS", help="For the whole conversation.")
    ] = 30.0,
    show_server_stderr: Annotated[
        bool, typer.Option("--show-server-stderr", help="Let the server write to standard error.")
    ] = False,
) -> None:
    """Start a stdio MCP server, list its tools, print the ToolInventory manifest."""
    from toolvet.cli import from_mcp as action  # noqa: PLC0415  # start-up of the other commands stays light
    from toolvet.cli.mapping_file import Flags  # noqa: PLC0415  # the same

    flags = Flags(id_namespace=id_namespace, version=tool_version, capability_class=capability)
    server = action.Server(command=tuple(command), timeout=timeout, show_stderr=show_server_stderr)
    if print_mapping:
        print_result(action.mapping_skeleton(server, flags, mapping))
        return
    print_result(action.manifest(server, flags, mapping, name=name, namespace=namespace, form=output.value))


def manifest(
    document: Annotated[str, typer.Argument(help="Inventory document, or - for standard input.")],
    *,
    name: _Name,
    namespace: _Namespace = None,
    implementation_id: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="What runs the tools, for every record without an entry."),
    ] = None,
    mapping: _Mapping = None,
    output: _Output = ManifestFormat.YAML,
) -> None:
    """Turn a contract inventory document into the ToolInventory manifest.

    The document does not say what runs each tool: give --implementation-id, or a mapping file
    with `implementations: {"<tool_id> <version>": digest}`.
    """
    from toolvet.cli import from_document as action  # noqa: PLC0415  # start-up of the other commands stays light

    print_result(
        action.manifest(
            document,
            implementation_id=implementation_id,
            mapping=mapping,
            name=name,
            namespace=namespace,
            form=output.value,
        )
    )

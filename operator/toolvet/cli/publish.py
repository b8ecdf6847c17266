"""``toolvet publish``, as typer sees it; what it does is loaded when it is called."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolvet.cli.output import print_result
from toolvet.cli.types import Context, Kubeconfig, Namespace


class PublishFormat(StrEnum):
    """How the result is written to standard output."""

    NAME = "name"
    YAML = "yaml"
    JSON = "json"


# Click keeps the lines of a paragraph that opens with a backspace character.
_PUBLISH = """Publish the tools of a Python registry as the agent's ToolInventory.

Imports MODULE, from the current folder first, and takes from it a toolvet.runtime.ToolRegistry, or what a
function, ordinary or async, returns. Every registered version of a tool becomes a record, its class derived
from its hints. The inventory holds ids, versions, classes and digests, and none of the tools' texts.

Exit 1: the API server refused it; 2: bad input; 3: the API server could not be asked. An example:

\b
toolvet publish agent.tools:registry --name assistant --id-namespace org.example \\
  --capability capability:org.example/notes --implementation-id "$IMAGE_DIGEST"
"""


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    app.command(no_args_is_help=True, help=_PUBLISH)(publish)


def publish(
    registry: Annotated[str, typer.Argument(metavar="MODULE:ATTRIBUTE", help="Where the registry is.")],
    *,
    name: Annotated[
        str, typer.Option(help="Name of the ToolInventory: that of the agent's service account.")
    ],
    implementation_id: Annotated[
        str,
        typer.Option(metavar="DIGEST", help="What runs the tools: the digest of the image, or of the code."),
    ],
    id_namespace: Annotated[
        str | None,
        typer.Option(
            metavar="DOMAIN",
            help="Tool ids become tool:DOMAIN/NAME: the runtime name in lower case, `_` and `.` as `-`.",
        ),
    ] = None,
    capability: Annotated[
        str | None, typer.Option(metavar="ID", help="Capability of every tool without one of its own.")
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="FILE", help="Mapping document, YAML or JSON, without versions."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the manifest; no cluster is asked.")
    ] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Annotated[
        PublishFormat | None,
        typer.Option("--output", "-o", help="name (yaml with --dry-run), or the manifest as yaml or json."),
    ] = None,
) -> None:
    """Publish the tools of a Python registry as the agent's ToolInventory."""
    from toolvet.cli import publication as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.inventory_manifest import check_names, inventory_object, written  # noqa: PLC0415  # the same
    from toolvet.cli.mapping_file import Flags  # noqa: PLC0415  # the same
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    check_names(name, namespace)
    flags = Flags(id_namespace=id_namespace, version=None, capability_class=capability)
    catalog = action.registry_catalog(registry, flags.over(mapping), implementation_id)
    if dry_run:
        document = inventory_object(catalog, name=name, namespace=namespace)
    else:
        document = run_in_cluster(
            kubeconfig, context, namespace, lambda session: action.publish(session, name, catalog)
        )
    form = output or (PublishFormat.YAML if dry_run else PublishFormat.NAME)
    named = form is PublishFormat.NAME
    print_result(f"toolinventory.toolvet.dev/{name}\n" if named else written(document, form.value))

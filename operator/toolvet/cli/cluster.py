"""The commands that work on a cluster, as typer sees them; what they do is loaded when one is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from toolvet.cli.output import print_result
from toolvet.cli.types import Context, Kubeconfig, Namespace


class ResultFormat(StrEnum):
    """How the result is written to standard output."""

    NAME = "name"
    JSON = "json"


_Output = Annotated[ResultFormat, typer.Option("--output", "-o", help="name: of the object; json: all.")]
_Wait = Annotated[float, typer.Option(min=1, max=600, metavar="SECONDS", help="How long to wait for it.")]


def register(app: typer.Typer, namespaces: typer.Typer) -> None:
    """Add the commands to the root and to the group ``namespace``."""
    for command in (capture, approve, revoke):
        app.command(no_args_is_help=True)(command)
    for name, (mode, text) in _MODES.items():
        namespaces.command(name, no_args_is_help=True, help=text)(_mode_command(mode))


def _print(result: dict[str, Any], form: ResultFormat, names: list[str]) -> None:
    text = json.dumps(result, indent=2) if form is ResultFormat.JSON else "\n".join(names)
    if text:
        print_result(text + "\n")


def capture(
    inventory: Annotated[str, typer.Argument(help="Name of the ToolInventory.")],
    *,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ResultFormat.NAME,
) -> None:
    """Capture the live catalog of an inventory as a snapshot, and say what changed."""
    from toolvet.cli.capture import capture as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    result = run_in_cluster(kubeconfig, context, namespace, lambda session: action(session, inventory))
    _print(result, output, [f"runtoolcatalogsnapshot.toolvet.dev/{result['snapshot']}"])


def approve(
    snapshot: Annotated[str, typer.Argument(help="Name of the RunToolCatalogSnapshot.")],
    *,
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="12h, 30d, 4w or an RFC 3339 time; absent: never.")
    ] = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ResultFormat.NAME,
) -> None:
    """Approve a snapshot as yourself."""
    from datetime import UTC, datetime  # noqa: PLC0415  # as below

    from toolvet.cli.approve import approve as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    now = datetime.now(UTC)
    result = run_in_cluster(
        kubeconfig, context, namespace, lambda session: action(session, snapshot, expires, now)
    )
    _print(result, output, [f"catalogapproval.toolvet.dev/{result['approval']}"])


def revoke(
    name: Annotated[str, typer.Argument(help="A CatalogApproval, or a snapshot: then all of its approvals.")],
    *,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: _Output = ResultFormat.NAME,
) -> None:
    """Take approvals back for good."""
    from toolvet.cli.approve import revoke as action  # noqa: PLC0415  # start-up stays light
    from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same

    result = run_in_cluster(kubeconfig, context, namespace, lambda session: action(session, name))
    _print(result, output, [f"catalogapproval.toolvet.dev/{approval}" for approval in result["revoked"]])


_MODES = {
    "enforce": (
        "enforce",
        "Refuse governed changes that are not approved; wait until a must-deny dry run is refused.",
    ),
    "warn": ("warn", "Allow everything, and warn the caller of what enforce would refuse."),
    "audit": ("audit", "Allow everything, and leave the verdict in the API server's audit log alone."),
    "release": (
        None,
        "Take the namespace out of governance; needs the verb exempt on catalogpolicies.toolvet.dev.",
    ),
}
"""By command: the mode it sets, and its help."""

_Target = Annotated[str, typer.Argument(metavar="NAMESPACE", help="The namespace.")]


def _mode_command(mode: str | None) -> Callable[..., None]:
    def command(
        namespace: _Target,
        *,
        wait: _Wait = 30.0,
        kubeconfig: Kubeconfig = None,
        context: Context = None,
        output: _Output = ResultFormat.NAME,
    ) -> None:
        from toolvet.cli.mode import set_mode  # noqa: PLC0415  # start-up stays light
        from toolvet.cli.session import run_in_cluster  # noqa: PLC0415  # the same
        from toolvet.kube.names import Mode  # noqa: PLC0415  # the same

        chosen = None if mode is None else Mode(mode)
        result = run_in_cluster(
            kubeconfig, context, None, lambda session: set_mode(session, namespace, chosen, wait)
        )
        _print(result, output, [f"namespace/{namespace}"])

    return command

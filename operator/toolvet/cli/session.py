"""What every cluster command shares: its options, its connection, and how an API error ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import typer

from toolvet.cli.output import ExitCode, print_note
from toolvet.kube.client import HTTP_CONFLICT, HTTP_NOT_FOUND, ApiClient, ApiError, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import SELF_REVIEWS

T = TypeVar("T")

_CALL_TIMEOUT = 30.0
_BAD_REQUEST = 400
_TOO_MANY = 429
_SERVER_ERROR = 500


class Session:
    """A connection to the API server and the namespace to work in."""

    def __init__(self, api: ApiClient, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    async def user_name(self) -> str:
        """Return who the API server takes us for."""
        review = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        answer = await self.api.create(SELF_REVIEWS, None, review)
        return str(answer["status"]["userInfo"]["username"])


def run_in_cluster(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    work: Callable[[Session], Awaitable[T]],
) -> T:
    """Log in, run one command's work, and turn an API error into its exit code.

    1 where the API server refused, 2 where what was asked for does not exist or is not accepted, 3 where it
    could not be asked.
    """
    login = load(kubeconfig, context)

    async def whole() -> T:
        async with connect(
            login.credentials, user_agent="kubectl-toolvet", call_timeout=_CALL_TIMEOUT
        ) as api:
            api.on_warning = lambda text: print_note(f"warning: {text}")
            return await work(Session(api, namespace or login.namespace))

    try:
        return asyncio.run(whole())
    except ApiError as error:
        failure = error
    print_note(f"error: {failure.message or failure.reason}")
    raise typer.Exit(_exit_code(failure.status))


def _exit_code(status: int) -> ExitCode:
    if status < _BAD_REQUEST or status == _TOO_MANY or status >= _SERVER_ERROR:
        return ExitCode.UNKNOWN
    if status in {_BAD_REQUEST, HTTP_NOT_FOUND, HTTP_CONFLICT}:
        return ExitCode.BAD_INPUT
    return ExitCode.DIFFERS

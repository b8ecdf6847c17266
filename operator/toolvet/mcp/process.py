"""A server process in its own session, ended for certain."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self

from toolvet.core.errors import ContractError

GRACE_SECONDS = 2.0
"""How long a server may take to leave after its input was closed, and again after SIGTERM."""


class ServerProcess:
    """A started server; leaving the context ends it and everything in its process group.

    The server gets a session of its own: Ctrl-C in our terminal reaches us alone, so that the order of
    ending is ours, and the server cannot prompt on the terminal. A descendant that opens yet another
    session leaves the group and is not followed.

    Raises ContractError("server", "not_started") when the command cannot be run.
    """

    def __init__(self, command: Sequence[str], *, show_stderr: bool, grace: float = GRACE_SECONDS) -> None:
        self._grace = grace
        process = None
        # The server's own words may hold anything: they are discarded unless the caller asks for them.
        stderr = None if show_stderr else subprocess.DEVNULL
        # OSError: not there, not executable; ValueError: a NUL inside an argument.
        with contextlib.suppress(OSError, ValueError):
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        if process is None or process.stdin is None or process.stdout is None:
            raise ContractError("server", "not_started")
        self._process = process
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(polite=kind is None)

    def end(self, *, polite: bool) -> None:
        """End the group: close its input and wait (when polite), then SIGTERM, then SIGKILL."""
        try:
            self._close_pipes()
            if polite:  # the protocol's own way to say goodbye over stdio
                self._exited_within(self._grace)
            self._signal(signal.SIGTERM)
            self._exited_within(self._grace)
        finally:
            # Also when a second Ctrl-C cut the grace short, and for children the leader left behind.
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _close_pipes(self) -> None:
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _exited_within(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _signal(self, number: signal.Signals) -> None:
        # ProcessLookupError: the group is empty; PermissionError: how macOS says the same of zombies.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

"""Newline-delimited JSON over a server's standard streams, within budgets (MCP, transport stdio)."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import time
from collections.abc import Callable
from typing import Protocol

from toolvet.core.errors import ContractError
from toolvet.core.json_reader import read_json

MAX_TOTAL_BYTES = 16 * 1024 * 1024
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_UNREAD_BYTES = 1024 * 1024
"""How much of what we wrote a server may leave unread."""
_CHUNK = 64 * 1024


class _Stream(Protocol):
    def fileno(self) -> int: ...


class StdioChannel:
    """Messages to and from a server: one JSON text a line, both pipes non-blocking, one deadline for all.

    Raises ContractError("server", code): ``exited`` when the server closed its output, ``no_answer`` at
    the deadline (seconds of ``clock``), ``flood`` when a line, the total or the unread answers outgrow
    their budget, and the codes of core.json_reader for a line that is not strict JSON.
    """

    def __init__(
        self,
        stdin: _Stream,
        stdout: _Stream,
        *,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stdin = stdin.fileno()
        self._stdout = stdout.fileno()
        self._deadline = deadline
        self._clock = clock
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._searched = 0
        self._total = 0
        self._input_open = True
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)

    def send(self, message: dict[str, object]) -> None:
        """Queue one message; it is written while we wait for the server."""
        self._outgoing += json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        if len(self._outgoing) > MAX_UNREAD_BYTES:
            raise ContractError("server", "flood")

    def receive(self) -> object:
        """Return the next message; empty lines are passed over."""
        while True:
            line = self._next_line()
            if line.strip():
                return read_json(line, field="server", max_bytes=MAX_LINE_BYTES)

    def _next_line(self) -> bytes:
        while True:
            if self._clock() >= self._deadline:
                raise ContractError("server", "no_answer")
            end = self._incoming.find(b"\n", self._searched)
            if (end if end >= 0 else len(self._incoming)) > MAX_LINE_BYTES:
                raise ContractError("server", "flood")
            if end >= 0:
                line = bytes(self._incoming[:end])
                del self._incoming[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._incoming)
            self._exchange()

    def _exchange(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            if self._outgoing and self._input_open:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            ready = selector.select(max(0.0, self._deadline - self._clock()))
        for key, _ in ready:
            if key.fd == self._stdin:
                self._write()
            else:
                self._read()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._outgoing)
        except BlockingIOError:
            return
        except OSError:
            # The server closed its input; what it still says, or the end of its output, decides.
            self._input_open = False
            return
        del self._outgoing[:written]

    def _read(self) -> None:
        chunk = None
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self._stdout, _CHUNK)
        if chunk is None:
            return
        if not chunk:
            raise ContractError("server", "exited")
        self._total += len(chunk)
        if self._total > MAX_TOTAL_BYTES:
            raise ContractError("server", "flood")
        self._incoming += chunk

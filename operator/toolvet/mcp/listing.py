"""All tools of a server, raw: each definition is the JSON object as sent, nothing dropped or coerced."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Protocol

from toolvet.core.errors import ContractError
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_listing import ToolListing
from toolvet.mcp.process import ServerProcess
from toolvet.mcp.stdio import StdioChannel

PROTOCOL_VERSION = "2025-11-25"
"""The newest revision that opens with ``initialize``; a server may answer with an older one."""
DEFAULT_DEADLINE = 30.0
_REVISION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_METHOD_NOT_FOUND = -32601


class Channel(Protocol):
    """A way to exchange JSON messages with a server."""

    def send(self, message: dict[str, object]) -> None:
        """Send one message."""

    def receive(self) -> object:
        """Return the next message of the server."""


def list_stdio_tools(
    command: Sequence[str], *, deadline: float = DEFAULT_DEADLINE, show_stderr: bool = False
) -> list[Definition]:
    """Start a stdio server, list its tools on all pages, end it.

    ``deadline`` is the seconds the whole conversation may take. Raises ContractError with field
    ``server`` (codes of process, stdio and this module) or ``tools[INDEX]``.
    """
    with ServerProcess(command, show_stderr=show_stderr) as server:
        channel = StdioChannel(server.stdin, server.stdout, deadline=time.monotonic() + deadline)
        return list_tools(channel)


def list_tools(channel: Channel) -> list[Definition]:
    """Open a session on the channel and return every tool definition in the server's order."""
    session = _Session(channel)
    session.open()
    listing = ToolListing()
    cursor = listing.take(session.request("tools/list", {}))
    while cursor is not None:
        cursor = listing.take(session.request("tools/list", {"cursor": cursor}))
    return listing.definitions


class _Session:
    """JSON-RPC 2.0 as a client that offers nothing: pings are answered, other requests refused."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._last_id = 0

    def open(self) -> None:
        """Do the handshake; raises ContractError when the server speaks otherwise or has no tools."""
        client = {"name": "toolvet", "version": "1"}
        result = self.request(
            "initialize", {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        )
        revision = result.get("protocolVersion")
        if not isinstance(revision, str) or _REVISION.fullmatch(revision) is None:
            raise ContractError("server", "protocol_error")
        capabilities = result.get("capabilities")
        if not isinstance(capabilities, dict):
            raise ContractError("server", "protocol_error")
        if not isinstance(capabilities.get("tools"), dict):
            raise ContractError("server", "no_tools_capability")
        self._channel.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Send a request and return the object the server answers with."""
        self._last_id += 1
        self._channel.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while True:
            message = self._channel.receive()
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise ContractError("server", "malformed")
            if "method" in message:
                self._answer(message)
                continue
            return self._result(message)

    def _answer(self, message: dict[str, object]) -> None:
        if "id" not in message:
            return  # a notification: nothing we wait for
        identity = message["id"]
        if isinstance(identity, bool) or not isinstance(identity, str | int):
            raise ContractError("server", "malformed")
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": identity}
        if message["method"] == "ping":
            reply["result"] = {}
        else:
            reply["error"] = {"code": _METHOD_NOT_FOUND, "message": "Method not found"}
        self._channel.send(reply)

    def _result(self, message: dict[str, object]) -> dict[str, object]:
        # We ask one question at a time, so any other id answers nothing that was asked. 1 == True and
        # 1 == 1.0 in Python, hence the exact type.
        identity = message.get("id")
        if type(identity) is not int or identity != self._last_id:
            raise ContractError("server", "protocol_error")
        if "error" in message:
            raise ContractError("server", "error_answer")
        result = message.get("result")
        if not isinstance(result, dict):
            raise ContractError("server", "protocol_error")
        return result

"""Servers over HTTP for the tests: real ones as processes, and a port for each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.mcp import real_server

from controlplane.waiting import wait_until

BEFORE = "2026-11-15"
"""What real servers list must not change when one of their dependencies is released."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run a server until the end of the block; yields its origin once it takes connections."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a proxy starts servers of its own: they end with it
            env={**os.environ, **(env or {})},
        )
    try:
        wait_until(
            lambda: process.poll() is not None or _answers(port), 90, f"{command[0]} takes no connection"
        )
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def proxied(
    servers: Mapping[str, Sequence[str]], folder: Path, port: int | None = None
) -> Iterator[dict[str, str]]:
    """Serve stdio servers over Streamable HTTP; yields the endpoint of each."""
    python = real_server.environment("mcp-proxy", "0.13.0", "mcp<2", BEFORE) / "bin" / "python"
    config = folder / "servers.json"
    entries = {name: {"command": command[0], "args": command[1:]} for name, command in servers.items()}
    config.write_text(json.dumps({"mcpServers": entries}))
    port = port or free_port()
    command = [str(python), str(python.with_name("mcp-proxy")), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--pass-environment", "--named-server-config", str(config)]
    with running(command, port, folder / "proxy.log") as origin:
        yield {name: f"{origin}/servers/{name}/mcp" for name in servers}


def script(name):
    return [sys.executable, str(Path(__file__).parent / "servers" / name)]

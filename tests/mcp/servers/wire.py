"""The few lines a stdio MCP server needs; the scripts beside it say what is odd about each server."""

import json
import os
import sys
from pathlib import Path

CANARY = "zqx7-canary"
CAPABILITIES = {"tools": {"listChanged": True}}


def remember(pid):
    """Note a process that must be gone when the test ends."""
    with Path(os.environ["TOOLVET_TEST_PIDS"]).open("a") as file:
        file.write(f"{pid}\n")


def read():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def write_raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write(message):
    write_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(request, result):
    write({"id": request["id"], "result": result})


def handshake(capabilities=CAPABILITIES, revision="2025-06-18"):
    request = read()
    assert request["method"] == "initialize", request
    server = {"name": CANARY, "version": "1"}
    answer(request, {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": server})
    assert read()["method"] == "notifications/initialized"


def next_list():
    request = read()
    assert request["method"] == "tools/list", request
    return request


def tool(name, **members):
    return {
        "name": name,
        "description": f"{CANARY} description",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string", "description": CANARY}}},
        **members,
    }

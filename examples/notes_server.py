"""A stdio MCP server of two made-up tools, to try Toolvet with: ``notes_server.py [--next]``.

With ``--next`` it is the server's next release: one tool asks for more than before, one is new. Python's
standard library is all it needs.
"""

import json
import sys

PATH = {"type": "string"}
READ = {
    "name": "read_note",
    "description": "Return the text of a note.",
    "inputSchema": {"type": "object", "properties": {"path": PATH}, "required": ["path"]},
    "annotations": {"readOnlyHint": True},
}
ADD = {
    "name": "add_note",
    "description": "Write a new note.",
    "inputSchema": {"type": "object", "properties": {"path": PATH, "text": {"type": "string"}}},
    "annotations": {"destructiveHint": False},
}
READ_MORE = {
    **READ,
    "inputSchema": {"type": "object", "properties": {"path": PATH, "versions": {"type": "integer"}}},
}
DELETE = {
    "name": "delete_note",
    "description": "Delete a note for good.",
    "inputSchema": {"type": "object", "properties": {"path": PATH}, "required": ["path"]},
}


def answer(request: dict, tools: list) -> dict:
    """Return the JSON-RPC answer to a request."""
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        server = {"name": "notes", "version": "1.0.0"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        return reply | {"result": result}
    if request["method"] == "tools/list":
        return reply | {"result": {"tools": tools}}
    return reply | {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer one JSON text a line until the input ends."""
    tools = [READ_MORE, ADD, DELETE] if "--next" in sys.argv[1:] else [READ, ADD]
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:  # the others are notifications
            sys.stdout.write(json.dumps(answer(request, tools)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

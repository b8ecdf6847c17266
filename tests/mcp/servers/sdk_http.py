"""A server of the SDK over real HTTP (uvicorn), whichever version is installed: port, how it answers."""

import importlib
import sys


def application(port, answers):
    stateless, json_answers = "stateless" in answers, "json" in answers
    try:
        server = importlib.import_module("mcp.server.mcpserver").MCPServer
    except ModuleNotFoundError:  # SDK 1.x
        server = importlib.import_module("mcp.server.fastmcp").FastMCP
        made = server("sums", host="127.0.0.1", port=port, instructions="Adds.")
        made.settings.stateless_http, made.settings.json_response = stateless, json_answers
        return made, {}
    made = server("sums", version="1.2.3", instructions="Adds.")
    return made, {
        "host": "127.0.0.1",
        "port": port,
        "stateless_http": stateless,
        "json_response": json_answers,
    }


def main(port, answers):
    server, options = application(int(port), answers)

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(title="Twice")
    def double(number: float = 1.5) -> float:
        """Double a number."""
        return 2 * number

    server.run("streamable-http", **options)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""An MCP server of the SDK, in this process or as a program: ``notes.py [--next]``."""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations


def notes(*, later: bool = False) -> MCPServer:
    server = MCPServer("notes")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def read_note(name: str, self: int = 1) -> dict[str, str]:
        return {"text": f"{name} {self}"}

    @server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
    def put_note(name: str, text: str = "") -> int:
        return len(name + text)

    @server.tool(annotations=ToolAnnotations(destructive_hint=False))
    def add_note(name: str):
        return name

    if later:

        @server.tool()
        def drop_note(name: str, cause: str, weight: float = 1.0):
            return name + cause + str(weight)

    else:

        @server.tool()
        def drop_note(name: str, weight: float = 1.0):
            if weight > 1:
                raise ValueError(name)
            return name

    return server


if __name__ == "__main__":
    notes(later="--next" in sys.argv).run("stdio")

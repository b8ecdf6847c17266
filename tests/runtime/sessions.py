"""Sessions of the SDK over a stdio program, and what a registry holds, as plain values."""

from contextlib import asynccontextmanager

from mcp.server.lowlevel import Server
from mcp.types import ListToolsResult, Tool

from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from toolvet.runtime import tool_spec_schema_digest, tool_spec_side_effect_class


def parameters(command):
    return StdioServerParameters(command=command[0], args=command[1:])


@asynccontextmanager
async def client(command):
    async with Client(parameters(command)) as entered:
        yield entered


@asynccontextmanager
async def client_session(command):
    async with stdio_client(parameters(command)) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


def paged(pages):
    """A server whose cursors lead from page to page: {cursor: (names, next cursor)}."""

    async def list_tools(_, params):
        names, following = pages(params.cursor if params else None)
        tools = [Tool(name=name, input_schema={"type": "object"}) for name in names]
        return ListToolsResult(tools=tools, next_cursor=following)

    return Server("paged", on_list_tools=list_tools)


def contents(registry):
    """Version, schema digest and class of every tool by its runtime name."""
    return {
        spec.name: (spec.version, tool_spec_schema_digest(spec), str(tool_spec_side_effect_class(spec)))
        for spec in registry.all_specs()
    }

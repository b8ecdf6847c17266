"""Raw listings beside typed sessions: what a typed session cannot show, and that digests are equal."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mcp import real_server
from tests.runtime.sessions import client, client_session, contents

from toolvet.mcp import definition as of_definition
from toolvet.mcp.listing import list_stdio_tools
from toolvet.runtime import (
    ContractError,
    from_mcp,
    registry_from_listing,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)

SERVERS = Path(__file__).parent / "servers"
TIME = ("mcp-server-time", "2026.10.19", "mcp>=2")
REAL = {
    "git, older": ((real_server.MCP_PACKAGE, real_server.OLDER, real_server.CONSTRAINT), 11),
    "git, newer": ((real_server.MCP_PACKAGE, real_server.NEWER, real_server.CONSTRAINT), 13),
    "time": (TIME, 2),
}


async def unused(name, arguments):
    raise AssertionError(name, arguments)


def raw(definitions, version="1.0.0"):
    return registry_from_listing(definitions, version=version, call=unused)


async def typed(opened, command):
    async with opened(command) as session:
        return contents(await from_mcp(session, version="1.0.0"))


@pytest.mark.parametrize("server", REAL)
async def test_a_released_server_has_the_same_digests_raw_and_typed(server):
    (package, version, constraint), count = REAL[server]
    command = real_server.installed(package, version, constraint)
    expected = contents(raw(list_stdio_tools(command)))
    assert len(expected) == count
    assert await typed(client, command) == expected
    assert await typed(client_session, command) == expected


@pytest.mark.parametrize("arguments", [(), ("--next",)])
async def test_a_server_of_the_sdk_has_the_same_digests_raw_and_typed(arguments):
    command = [sys.executable, str(SERVERS / "notes.py"), *arguments]
    assert await typed(client, command) == contents(raw(list_stdio_tools(command)))


def tool(name="a", **members):
    return {"name": name, "inputSchema": {"type": "object"}, **members}


NUMBERS = {"default": 1.0, "maximum": 1e16, "minimum": 1e-5, "multipleOf": -0.0, "x": 10**30, "y": [1, None]}
SAME = {
    "numbers": tool(inputSchema={"type": "object", "properties": {"n": NUMBERS}}),
    "nulls": tool(title=None, description=None, annotations=None, outputSchema=None),
    "unknown members": tool(
        x=1, annotations={"readOnlyHint": True, "x": "y"}, outputSchema={"type": "object", "x": {"y": 1}}
    ),
    "hints of an SDK that writes all defaults": tool(
        annotations={
            "readOnlyHint": True, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True,
        }
    ),
}  # fmt: skip


def wire(*definitions):
    return [sys.executable, str(SERVERS / "wire.py"), json.dumps(definitions)]


@pytest.mark.parametrize("case", SAME)
async def test_a_typed_session_moves_neither_digest_nor_class(case):
    expected = contents(raw(list_stdio_tools(wire(SAME[case]))))
    assert await typed(client_session, wire(SAME[case])) == expected


COERCED = {
    "text for true": ({"readOnlyHint": "yes"}, "read-only"),
    "zero for false": ({"destructiveHint": 0}, "non-idempotent-write"),
}


@pytest.mark.parametrize("case", COERCED)
async def test_a_typed_session_turns_into_a_hint_what_the_raw_listing_refuses(case):
    annotations, kind = COERCED[case]
    command = wire(tool(annotations=annotations))
    with pytest.raises(ContractError, match=r"^tools\[0\]\.annotations: invalid_hint$"):
        raw(list_stdio_tools(command))
    assert (await typed(client_session, command))["a"][2] == kind


async def test_what_a_typed_session_cannot_read_fails_the_whole_listing():
    command = wire(tool(), tool("b", outputSchema=True))
    with pytest.raises(ContractError, match=r"^tools\[1\]\.output_schema: boolean_schema$"):
        raw(list_stdio_tools(command))
    async with client_session(command) as session:
        with pytest.raises(ContractError, match=r"^server: listing_failed$"):
            await from_mcp(session, version="1.0.0")


@pytest.mark.parametrize(
    ("definitions", "error"),
    [
        (["a"], "tools[0]: invalid_type"),
        ([tool(), tool()], "tools[1].name: duplicate_tool_name"),
        ([tool("")], "tools[0].name: invalid_type"),
        ([tool(inputSchema=None)], "tools[0].input_schema: missing"),
        ([tool(inputSchema=[])], "tools[0].input_schema: invalid_type"),
        ([tool(outputSchema=[])], "tools[0].output_schema: invalid_type"),
        ([tool(annotations=[])], "tools[0].annotations: invalid_type"),
        ([tool(annotations={"openWorldHint": 1})], "tools[0].annotations: invalid_hint"),
        ([tool(description=1)], "tools[0].description: invalid_type"),
        ([tool(title={})], "tools[0].title: invalid_type"),
        ([tool(f"t{index}") for index in range(1001)], "tools: too_many_tools"),
    ],
)  # fmt: skip
def test_a_bad_definition_is_refused_at_its_place(definitions, error):
    with pytest.raises(ContractError) as caught:
        raw(definitions)
    assert str(caught.value) == error
    assert caught.value.__context__ is None


def test_a_registry_keeps_nothing_of_the_caller_s_objects():
    definition = tool(inputSchema={"type": "object", "properties": {}})
    registry = raw([definition])
    before = contents(registry)
    definition["inputSchema"]["properties"]["added"] = {}
    assert contents(registry) == before


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | TEXT | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
SCHEMAS = st.dictionaries(TEXT, VALUES, max_size=4)
HINTS = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"]),
    st.none() | st.booleans(),
)


@given(SCHEMAS, st.none() | SCHEMAS, st.none() | HINTS)
def test_the_runtime_and_the_command_line_read_one_definition_alike(taken, given_back, annotations):
    definition = tool(inputSchema=taken, outputSchema=given_back, annotations=annotations)
    spec = raw([definition]).get("a")
    assert tool_spec_schema_digest(spec) == of_definition.schema_digest(definition)
    assert tool_spec_side_effect_class(spec) is of_definition.side_effect_class(definition)

"""Servers of the official SDK in both eras of the protocol, as real processes over real HTTP."""

import sys

import pytest
import rfc8785
from tests.mcp import real_server
from tests.mcp.http_servers import BEFORE, free_port, running, script

from mcp import Client
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import Listing

POLICY = AddressPolicy.of("127.0.0.0/8")
MODERN, SESSIONS = "2026-07-28", "2025-11-25"


def python(sdk):
    if sdk == "2":
        return sys.executable
    return str(real_server.environment("mcp", "1.30.0", "uvicorn", BEFORE) / "bin" / "python")


@pytest.mark.parametrize(
    ("sdk", "answers", "revision"),
    [
        ("2", "json", MODERN),
        ("2", "stream", MODERN),
        ("2", "stateless", MODERN),
        ("1", "stream", SESSIONS),
        ("1", "json", SESSIONS),
        ("1", "stateless", SESSIONS),
    ],
)
async def test_a_server_of_the_sdk(tmp_path, sdk, answers, revision):
    port = free_port()
    log = tmp_path / "log"
    command = [python(sdk), *script("sdk_http.py")[1:], str(port), answers]
    with running(command, port, log) as origin:
        found = [await list_http_tools(f"{origin}/mcp", policy=POLICY) for _ in range(2)]
        at_home = await list_http_tools(f"{origin}/mcp/", policy=POLICY)
    for listing in (*found, at_home):
        assert isinstance(listing, Listing), listing
        assert listing.protocol_version == revision
        assert sorted(listing.observed.tools) == ["add", "double"]
        assert listing.observed.instructions == "Adds."
        assert listing.server_version == ("1.2.3" if sdk == "2" else "1.30.0")
    assert canonical(found[0]) == canonical(found[1]) == canonical(at_home)
    requests = [line.partition('"')[2].split(" ")[0] for line in log.read_text().splitlines() if '"' in line]
    ended = requests.count("DELETE")
    assert ended == (3 if (sdk, answers) in {("1", "stream"), ("1", "json")} else 0)


def canonical(listing):
    return rfc8785.dumps(list(listing.definitions))


async def test_the_sdk_reads_what_we_read(tmp_path):
    port = free_port()
    with running([*script("sdk_http.py"), str(port), "json"], port, tmp_path / "log") as origin:
        ours = await list_http_tools(f"{origin}/mcp", policy=POLICY)
        async with Client(f"{origin}/mcp", cache=None) as session:
            theirs = (await session.list_tools()).tools
    shown = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in theirs]
    assert canonical(ours) == rfc8785.dumps(shown)

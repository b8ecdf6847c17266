"""Public servers at two releases each, over Streamable HTTP: counts, classes and reasons, no texts."""

import asyncio
from collections import Counter

import pytest
from tests.mcp.http_servers import proxied
from tests.mcp.public_servers import commands

from toolvet.core.listing_change import compare_listings
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import Listing


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public")
    servers = {}
    for number, (_, pair) in enumerate(commands(str(folder)).items()):
        servers |= {f"s{number}-{release}": command for release, command in enumerate(pair)}
    with proxied(servers, folder) as urls:
        found = [asyncio.run(listed(url)) for url in urls.values()]
    return dict(zip(commands(str(folder)), zip(found[::2], found[1::2], strict=True), strict=True))


async def listed(url):
    listing = await list_http_tools(url, policy=AddressPolicy.of("127.0.0.0/8"))
    assert isinstance(listing, Listing), listing
    return listing


# Tools before and after, tools by what became of them, and every reason.
EXPECTED = {
    "git": (
        13,
        12,
        {"kept material": 12, "removed material": 1},
        {
            "constraint_changed",
            "description_changed",
            "hint_changed",
            "hint_restated",
            "input_added",
            "schema_title_changed",
            "side_effect_changed",
            "tool_removed",
        },
    ),
    "fetch": (
        1,
        1,
        {"kept material": 1},
        {
            "constraint_changed",
            "hint_changed",
            "hint_restated",
            "schema_title_changed",
            "side_effect_changed",
            "wording_changed",
        },
    ),
    "time": (
        2,
        2,
        {"kept material": 2},
        {
            "description_changed",
            "hint_changed",
            "output_schema_changed",
            "schema_title_changed",
            "side_effect_changed",
        },
    ),
    "memory": (
        9,
        9,
        {"kept material": 9},
        {
            "dialect_changed",
            "execution_changed",
            "hint_changed",
            "hint_restated",
            "output_schema_changed",
            "output_wording_changed",
            "side_effect_changed",
            "title_changed",
        },
    ),
    "filesystem": (
        14,
        14,
        {"kept material": 14},
        {"description_changed", "hint_changed", "output_schema_changed", "side_effect_changed"},
    ),
    "everything": (
        10,
        13,
        {"added baseline": 12, "kept material": 1, "removed material": 9},
        {
            "description_changed",
            "execution_changed",
            "extra_inputs_allowed",
            "hint_changed",
            "instructions_changed",
            "side_effect_changed",
            "title_changed",
            "tool_added",
            "tool_removed",
        },
    ),
    "filesystem, dependency": (
        9,
        9,
        {"kept material": 8, "kept none": 1},
        {"extra_inputs_allowed", "input_removed", "required_shrunk", "schema_erased", "type_widened"},
    ),
    "atlassian, restarted": (
        63,
        63,
        {"kept material": 4, "kept none": 59},
        {"default_changed"},
    ),
}


@pytest.mark.parametrize("server", EXPECTED)
def test_changes_between_releases(listings, server):
    before, after = listings[server]
    change = compare_listings(before.observed, after.observed)
    counts = Counter(f"{one.presence} {one.verdict.result}" for one in change.tools.values())
    found = (
        len(before.definitions),
        len(after.definitions),
        dict(counts),
        {str(one) for one in change.reasons},
    )
    assert found == EXPECTED[server]
    assert not before.observed.malformed
    assert not after.observed.malformed

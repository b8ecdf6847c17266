"""A registry from a live session: real servers and sessions of the SDK, over memory and over stdio."""

import sys
import traceback
from pathlib import Path

import pytest
from mcp.types import CallToolResult
from tests.runtime.servers.notes import notes
from tests.runtime.sessions import client, client_session, contents, paged

from mcp import Client
from toolvet.core.tool_listing import MAX_PAGES, MAX_TOOLS
from toolvet.runtime import (
    ContractError,
    RunId,
    RunToolCatalog,
    ToolCatalogReviewRequired,
    ToolInventory,
    from_mcp,
    inventory_of,
)

CANARY = "zqx7-canary"
NOTES = Path(__file__).parent / "servers" / "notes.py"
PLAIN = [sys.executable, str(NOTES)]
CAPABILITY = "capability:org.example/notes"
IDENTITIES = {
    name: (f"tool:org.example/{name.replace('_', '-')}", CAPABILITY)
    for name in ("read_note", "put_note", "add_note", "drop_note")
}
CLASSES = {
    "read_note": "read-only",
    "put_note": "idempotent-write",
    "add_note": "non-idempotent-write",
    "drop_note": "destructive",
}


async def test_every_tool_of_a_server_is_registered_with_its_class():
    async with Client(notes()) as session:
        registry = await from_mcp(session, version="1.2.3")
    found = contents(registry)
    assert {name: (version, kind) for name, (version, _, kind) in found.items()} == {
        name: ("1.2.3", kind) for name, kind in CLASSES.items()
    }


async def test_an_absent_output_schema_stays_absent():
    async with Client(notes()) as session:
        registry = await from_mcp(session, version="1.0.0")
    assert registry.get("add_note").output_schema is None
    assert registry.get("put_note").output_schema["type"] == "object"


async def test_a_version_is_stated_for_all_or_for_each_and_never_guessed():
    stated = dict.fromkeys(CLASSES, "1.0.0") | {"put_note": "2.0.0", "not_served": "1.0.0"}
    async with Client(notes()) as session:
        registry = await from_mcp(session, version=stated)
        assert {name: found[0] for name, found in contents(registry).items()} == {
            name: stated[name] for name in CLASSES
        }
        with pytest.raises(ContractError, match=r"^tools\[1\]\.version: missing$"):
            await from_mcp(session, version={"read_note": "1.0.0"})
        with pytest.raises(ContractError, match=r"^tools\[0\]\.version: invalid_semver$"):
            await from_mcp(session, version="1.0")
        with pytest.raises(TypeError, match="version"):
            await from_mcp(session)


async def test_a_handler_returns_the_result_of_the_session_as_it_is():
    async with Client(notes()) as session:
        registry = await from_mcp(session, version="1.0.0")
        # No name of an argument is taken: `self` and `name` belong to the tool.
        found = await registry.handler("read_note")(name="a", self=2)
        assert type(found) is CallToolResult
        assert (found.is_error, found.structured_content) == (False, {"text": "a 2"})
        failed = await registry.handler("drop_note")(name="a", weight=2)
        assert (type(failed), failed.is_error) == (CallToolResult, True)


@pytest.mark.parametrize("opened", [client, client_session])
async def test_both_kinds_of_session_over_stdio_hold_what_memory_does(opened):
    async with Client(notes()) as session:
        expected = contents(await from_mcp(session, version="1.0.0"))
    async with opened(PLAIN) as session:
        registry = await from_mcp(session, version="1.0.0")
        assert contents(registry) == expected
        assert (await registry.handler("put_note")(name="ab")).structured_content == {"result": 2}


PAGES = {None: (["a", "b"], "second"), "second": (["c"], ""), "": ([], "last"), "last": (["d"], None)}


async def test_all_pages_are_read_through_a_client_and_through_its_session():
    async with Client(paged(PAGES.get)) as session:
        for listed in (session, session.session):
            assert list(contents(await from_mcp(listed, version="1.0.0"))) == ["a", "b", "c", "d"]


async def test_a_client_s_cache_does_not_hide_a_change():
    served = [["a"], ["a", "b"]]
    async with Client(paged(lambda _: (served[0], None))) as session:
        assert list(contents(await from_mcp(session, version="1.0.0"))) == ["a"]
        served.pop(0)
        assert list(contents(await from_mcp(session, version="1.0.0"))) == ["a", "b"]


ENDLESS = {
    "repeated_cursor": lambda _: ([], "again"),
    "too_many_pages": lambda cursor: ([], str(int(cursor or 0) + 1)),
    "too_many_tools": lambda cursor: (
        [f"t{cursor}-{index}" for index in range(400)],
        str(int(cursor or 0) + 1),
    ),
}


@pytest.mark.parametrize("code", ENDLESS)
async def test_what_does_not_end_is_refused(code):
    asked = []

    def pages(cursor):
        asked.append(cursor)
        return ENDLESS[code](cursor)

    async with Client(paged(pages)) as session:
        with pytest.raises(ContractError, match=rf"^server: {code}$"):
            await from_mcp(session, version="1.0.0")
    assert len(asked) == {"repeated_cursor": 2, "too_many_pages": MAX_PAGES, "too_many_tools": 3}[code]


async def test_as_many_pages_and_tools_as_are_allowed_are_taken():
    each = MAX_TOOLS // MAX_PAGES

    def pages(cursor):
        page = int(cursor or 0)
        following = str(page + 1) if page + 1 < MAX_PAGES else None
        return [f"t{page}-{index}" for index in range(each)], following

    async with Client(paged(pages)) as session:
        assert len((await from_mcp(session, version="1.0.0")).all_specs()) == MAX_TOOLS


async def test_two_tools_of_one_name_are_refused():
    async with Client(paged(lambda _: (["a", "b", "a"], None))) as session:
        with pytest.raises(ContractError, match=r"^tools\[2\]\.name: duplicate_tool_name$"):
            await from_mcp(session, version="1.0.0")


class Raw:
    """A session that answers with a given page, or raises."""

    def __init__(self, page):
        self.page = page

    async def list_tools(self):
        if isinstance(self.page, Exception):
            raise self.page
        return self.page

    async def call_tool(self, name, arguments):
        return name, arguments


@pytest.mark.parametrize(
    ("session", "error"),
    [
        (object(), "session: invalid_type"),
        (None, "session: invalid_type"),
        (Raw(RuntimeError(CANARY)), "server: listing_failed"),
        (Raw([]), "server: listing_failed"),
        (Raw(CANARY), "server: listing_failed"),
        (Raw({}), "server: protocol_error"),
        (Raw({"tools": {CANARY: 1}}), "server: protocol_error"),
        (Raw({"tools": [], "nextCursor": 1}), "server: protocol_error"),
        (Raw({"tools": [CANARY]}), "tools[0]: invalid_type"),
        (Raw({"tools": [{"title": CANARY}]}), "tools[0].name: missing"),
    ],
)
async def test_other_sessions_and_answers_are_refused_without_a_word_of_theirs(session, error):
    with pytest.raises(ContractError) as caught:
        await from_mcp(session, version="1.0.0")
    assert str(caught.value) == error
    shown = "".join(traceback.format_exception(caught.value, chain=True)) + repr(caught.value.args)
    assert CANARY not in shown.replace(__file__, "")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_a_session_that_closed_is_one_code():
    async with Client(notes()) as session:
        pass
    with pytest.raises(ContractError, match=r"^server: listing_failed$"):
        await from_mcp(session, version="1.0.0")


async def test_from_a_session_to_a_call_and_to_the_stop_after_a_change():
    async with client(PLAIN) as before, client([*PLAIN, "--next"]) as after:
        registry = await from_mcp(before, version="1.0.0")
        inventory, names = inventory_of(registry, IDENTITIES)
        catalog = RunToolCatalog.capture(RunId.generate(), inventory, registry, names)

        put = IDENTITIES["put_note"][0]
        result = await catalog.ainvoke(registry, put, "1.0.0", {"name": "abc"})
        assert result.structured_content == {"result": 3}

        changed = await from_mcp(after, version="1.0.0")
        with pytest.raises(ToolCatalogReviewRequired, match=r"^implementation_changed$"):
            await catalog.ainvoke(changed, put, "1.0.0", {"name": "abc"})
        assert not catalog.check(changed).resume_eligible
        moved = [item for item in catalog.findings(changed) if "schema_changed" in map(str, item.reasons)]
        assert [item.tool_id for item in moved] == [IDENTITIES["drop_note"][0]]

        # What was captured is still what runs.
        assert (await catalog.ainvoke(registry, put, "1.0.0", {"name": "ab"})).structured_content == {
            "result": 2
        }


async def test_a_record_of_class_none_is_never_captured_from_a_session():
    async with Client(notes()) as session:
        registry = await from_mcp(session, version="1.0.0")
    inventory, names = inventory_of(registry, {"read_note": IDENTITIES["read_note"]})
    document = inventory.to_dict()
    document["tools"][0]["side_effect_class"] = "none"
    with pytest.raises(ToolCatalogReviewRequired, match=r"^side_effect_changed$"):
        RunToolCatalog.capture(RunId.generate(), ToolInventory.from_dict(document), registry, names)

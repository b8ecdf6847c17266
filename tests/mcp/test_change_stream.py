"""The stream on which a server says that its list changed: what is a hint, and how every other thing ends."""

import pytest
from tests.collector.mcp_server import RewritingServer
from tests.mcp.session_server import LIST_CHANGED, SessionServer, event

from toolvet.core.errors import ContractError
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.budget import Budget
from toolvet.mcp.change_stream import MAX_EVENT, follow_list_changed

POLICY = AddressPolicy.of("127.0.0.0/8")
EVENTS = "Content-Type: text/event-stream"


async def follow(server, **options):
    hints = []
    reason = await follow_list_changed(server.url, lambda: hints.append(1), **{"policy": POLICY, **options})
    return len(hints), reason


def sending(*pieces):
    async def stream(send):
        for piece in pieces:
            await send(piece)

    return stream


async def test_a_notification_is_a_hint_and_the_session_is_ended():
    with_text = LIST_CHANGED | {"params": {"_meta": {"any": "thing"}}}
    stream = sending(b": ping\n\n", event(LIST_CHANGED), b"id: 7\ndata:\n\n", event(with_text))
    async with SessionServer(stream) as server:
        assert await follow(server, headers={"Authorization": "Bearer a"}) == (2, None)
        (headers,) = server.stream_headers
        assert headers["accept"] == "text/event-stream"
        assert headers["mcp-session-id"] == "s1"
        assert headers["mcp-protocol-version"] == "2025-06-18"
        assert headers["authorization"] == "Bearer a"
        assert (server.ended, server.listings) == (1, 0)


@pytest.mark.parametrize(
    "message",
    [
        LIST_CHANGED | {"method": "notifications/prompts/list_changed"},
        LIST_CHANGED | {"method": "notifications/tools/list_changed "},
        LIST_CHANGED | {"method": ["notifications/tools/list_changed"]},
        LIST_CHANGED | {"id": 1},
        LIST_CHANGED | {"jsonrpc": "1.0"},
        {"method": "notifications/tools/list_changed"},
        [LIST_CHANGED],
        "notifications/tools/list_changed",
        {"jsonrpc": "2.0", "id": 1, "result": LIST_CHANGED},
    ],
)
async def test_anything_else_is_none(message):
    async with SessionServer(sending(event(message))) as server:
        assert await follow(server) == (0, None)


async def forever(send, piece):
    while True:
        await send(piece)


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b": " + b"x" * 1000, "over_budget"),  # a comment without an end
        (b": ping\n\n" * 100, "over_budget"),
        (b"data: " + b"x" * 1000 + b"\n", "over_budget"),  # an event without an end
        (event(LIST_CHANGED | {"x": "x" * MAX_EVENT}), "over_budget"),
        (event({"jsonrpc": "2.0", "method": "notifications/message"}), "over_budget"),
        (event(LIST_CHANGED), "over_budget"),
        (b"data: {\n\n", "malformed"),
        (b"data: " + b"[" * 1000 + b"\n\n", "over_budget"),
        (b"data: \xff\n\n", "malformed"),
    ],
)
async def test_a_hostile_stream_ends(piece, reason):
    async def stream(send):
        await forever(send, piece)

    async with SessionServer(stream) as server:
        hints, ended = await follow(server)
        assert ended == reason
        assert hints <= Budget().messages


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (("307 Temporary Redirect", "Location: /elsewhere", EVENTS), "redirected"),
        (("302 Found", "Location: http://169.254.169.254/", EVENTS), "redirected"),
        (("200 OK", "Content-Type: application/json"), "malformed"),
        (("200 OK", EVENTS, "Content-Encoding: br"), "malformed"),
        (("405 Method Not Allowed",), "unsupported"),
        (("401 Unauthorized",), "unauthorized"),
        (("404 Not Found",), "refused"),
        (("204 No Content",), "refused"),
    ],
)
async def test_no_stream(head, reason):
    async with SessionServer(sending(event(LIST_CHANGED)), head=head) as server:
        assert await follow(server) == (0, reason)
        assert (server.ended, server.others) == (1, [])


async def test_a_silent_stream_ends_with_its_time():
    async with SessionServer() as server:
        assert await follow(server, lifetime=0.2) == (0, "timed_out")
        assert server.ended == 1


async def test_the_address_policy_holds():
    async with SessionServer(sending(event(LIST_CHANGED))) as server:
        assert await follow(server, policy=AddressPolicy()) == (0, "forbidden_address")
        assert not server.opened
    with pytest.raises(ContractError, match=r"^headers: reserved_name$"):
        await follow_list_changed("https://a.example", list, headers={"Mcp-Session-Id": "x"})


async def test_without_sessions_there_is_no_such_stream():
    with RewritingServer() as server:
        assert await follow(server) == (0, "unsupported")

"""The stream on which a server of the era of sessions may say that its list of tools changed.

A hint and nothing else: a hostile server sends none, or too many. One method name is recognised; whatever
else stands in a message is dropped with it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import ClientResponse
from aiohttp.abc import AbstractResolver

from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.body import pieces
from toolvet.mcp.budget import Budget, Meter, over
from toolvet.mcp.http import HttpClient, bounded, connected
from toolvet.mcp.observation import UnknownListing, UnknownReason
from toolvet.mcp.sse import EventReader

LIST_CHANGED: Final = "notifications/tools/list_changed"
MAX_EVENT: Final = 64 * 1024
"""Bytes of one event, and between two: comments that keep a connection alive count."""
LIFETIME: Final = 600.0
"""Seconds until a stream is opened anew, with what the source and its credentials are by then."""
STREAM_BUDGET: Final = Budget(total_bytes=1024 * 1024)
"""Of one stream with its handshake, for which ``seconds`` is; what spends it waits for the next stream."""


async def follow_list_changed(
    url: str,
    changed: Callable[[], None],
    *,
    headers: Mapping[str, str] | None = None,
    policy: AddressPolicy | None = None,
    budget: Budget = STREAM_BUDGET,
    tls: ssl.SSLContext | None = None,
    resolver: AbstractResolver | None = None,
    lifetime: float = LIFETIME,
) -> UnknownReason | None:
    """Call ``changed`` for each notification until the stream ends; return why, None for the server's end.

    ``timed_out`` after ``lifetime`` seconds, too; ``unsupported`` for a server without sessions or without a
    stream. Checks are those of ``list_http_tools``, and so are the errors: ContractError for ``url`` or
    ``headers``.
    """
    async with connected(url, headers, policy, budget, tls, resolver) as client:
        opened = await bounded(client.stream(), budget.seconds)
        if isinstance(opened, UnknownListing):
            return opened.reason
        ended = await bounded(_read(opened, client, changed), lifetime)
    return None if ended is None else ended.reason


async def _read(response: ClientResponse, client: HttpClient, changed: Callable[[], None]) -> None:
    # Closed before the session's end is said: there is one connection.
    async with response:
        events, meter = EventReader(), client.meter
        since = 0
        async for piece in pieces(response, meter):
            since += len(piece)
            for data in events.feed(piece):
                since = 0
                if len(data) > MAX_EVENT:
                    over("event_too_large")
                if _says_changed(meter, data):
                    changed()
            if since > MAX_EVENT:
                over("event_too_large")


def _says_changed(meter: Meter, data: bytes) -> bool:
    message = meter.parse(data)
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and message.get("method") == LIST_CHANGED
        and "id" not in message
    )

"""JSON-RPC over Streamable HTTP: one POST a message, the answer in one JSON text or a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import ClientResponse, ClientSession
from yarl import URL

from toolvet.mcp.body import pieces, whole
from toolvet.mcp.budget import Meter
from toolvet.mcp.observation import ListingFault, UnknownReason
from toolvet.mcp.sse import EventReader

MAX_REDIRECTS: Final = 3
_KEPT_METHOD: Final = frozenset({307, 308})
"""The redirects that keep a POST a POST; the others would have us ask something else (RFC 9110, 15.4)."""
_UNAUTHORIZED: Final = frozenset({401, 403})
_REDIRECTION: Final = 300
_CLIENT_ERROR: Final = 400
_PARSED_IN_PLACE: Final = 64 * 1024
_EVENTS: Final = "text/event-stream"
_ACCEPTED: Final = f"application/json, {_EVENTS}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with; ``result`` and ``error_code`` are both None for a status alone."""

    status: int
    result: Mapping[str, object] | None = None
    error_code: int | None = None
    supported: tuple[str, ...] = ()
    """The revisions that an error names."""
    session: str | None = None


class Exchange:
    """Requests of one listing to one server, each with the next number, all on one budget.

    Requests and notifications of the server on an answer's stream are passed over: this client offers
    nothing that could be asked of it, and its requests are short.
    """

    def __init__(
        self, session: ClientSession, url: URL, headers: Mapping[str, str], meter: Meter, **options: object
    ) -> None:
        self._session = session
        self._url = url
        self._headers = {**headers, "Accept": _ACCEPTED, "Accept-Encoding": "identity"}
        self._meter = meter
        self._options = options
        self._last_id = 0
        self._redirects = 0

    async def request(self, method: str, params: Mapping[str, object], headers: Mapping[str, str]) -> Answer:
        """Send a request and return its answer; HTTP statuses of 400 and above are answers, too.

        Raises ListingFault for everything that is none: malformed, redirected, unauthorized, over_budget.
        """
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        async with await self._post(message, headers) as response:
            status = response.status
            if status in _UNAUTHORIZED:
                raise ListingFault(UnknownReason.UNAUTHORIZED, http_status=status)
            if status >= _CLIENT_ERROR:
                return await self._refusal(response)
            if response.content_type == "application/json":
                reply = await self._parse(await whole(response, self._meter))
            elif response.content_type == _EVENTS:
                reply = await self._streamed(response)
            else:
                raise ListingFault(UnknownReason.MALFORMED, "content_type", status)
            session = response.headers.get("Mcp-Session-Id")
        return self._answer(reply, status, session)

    async def notify(self, method: str, headers: Mapping[str, str]) -> None:
        """Send a notification; what the server says to it is not read."""
        async with await self._post({"jsonrpc": "2.0", "method": method}, headers) as response:
            if response.status >= _CLIENT_ERROR:
                raise ListingFault(UnknownReason.REFUSED, "notification", response.status)

    async def stream(self, headers: Mapping[str, str]) -> ClientResponse:
        """Open the stream of messages that the server sends unasked (GET); the caller closes it.

        No redirect is followed. Raises ListingFault where the answer is no stream of events.
        """
        response = await self._session.get(
            self._url,
            headers={**self._headers, "Accept": _EVENTS, **headers},
            allow_redirects=False,
            **self._options,  # type: ignore[arg-type]  # as below
        )
        fault = _no_stream(response)
        if fault is not None:
            response.close()
            raise fault
        return response

    async def end(self, headers: Mapping[str, str]) -> None:
        """Say goodbye to a session (DELETE); a server may refuse that."""
        request = self._session.delete(
            self._url,
            headers={**self._headers, **headers},
            allow_redirects=False,
            **self._options,  # type: ignore[arg-type]  # options of the connection, the same for each call
        )
        async with request:
            pass

    async def _post(self, message: Mapping[str, object], headers: Mapping[str, str]) -> ClientResponse:
        data = json.dumps(message, separators=(",", ":")).encode("ascii")
        while True:
            response = await self._session.post(
                self._url,
                data=data,
                headers={**self._headers, "Content-Type": "application/json", **headers},
                allow_redirects=False,
                **self._options,  # type: ignore[arg-type]  # as above
            )
            if not _REDIRECTION <= response.status < _CLIENT_ERROR:
                return response
            response.close()
            self._follow(response)

    def _follow(self, response: ClientResponse) -> None:
        self._redirects += 1
        target = None
        try:
            target = self._url.join(URL(response.headers.get("Location", "")))
        except ValueError:
            target = None
        same = (
            target is not None
            and response.status in _KEPT_METHOD
            and "Location" in response.headers
            and target.user is None
            and target.password is None
            and (target.scheme, target.host, target.port)
            == (self._url.scheme, self._url.host, self._url.port)
        )
        if target is None or not same or self._redirects > MAX_REDIRECTS:
            raise ListingFault(UnknownReason.REDIRECTED, http_status=response.status)
        self._url = target.with_fragment(None)

    async def _refusal(self, response: ClientResponse) -> Answer:
        reply: object = None
        if response.content_type == "application/json":
            try:
                reply = await self._parse(await whole(response, self._meter))
            except ListingFault as fault:
                if fault.outcome.reason is not UnknownReason.MALFORMED:
                    raise
        code, supported = _error(reply)
        return Answer(response.status, error_code=code, supported=supported)

    async def _parse(self, data: bytes) -> object:
        if len(data) <= _PARSED_IN_PLACE:
            return self._meter.parse(data)
        # Other servers are listed on this loop, too: a large text must not hold them up.
        return await asyncio.to_thread(self._meter.parse, data)

    async def _streamed(self, response: ClientResponse) -> object:
        events = EventReader()
        async for piece in pieces(response, self._meter):
            for data in events.feed(piece):
                message = await self._parse(data)
                if not isinstance(message, dict):
                    raise ListingFault(UnknownReason.MALFORMED, "not_a_message")
                if "method" not in message:
                    return message
        raise ListingFault(UnknownReason.MALFORMED, "no_answer")

    def _answer(self, reply: object, status: int, session: str | None) -> Answer:
        if not isinstance(reply, dict) or reply.get("jsonrpc") != "2.0":
            raise ListingFault(UnknownReason.MALFORMED, "not_a_message")
        if "error" in reply:
            code, supported = _error(reply)
            if code is None:
                raise ListingFault(UnknownReason.MALFORMED, "not_a_message")
            return Answer(status, error_code=code, supported=supported)
        # 1 == True and 1 == 1.0 in Python, hence the exact type.
        identity = reply.get("id")
        if type(identity) is not int or identity != self._last_id:
            raise ListingFault(UnknownReason.MALFORMED, "another_id")
        result = reply.get("result")
        if not isinstance(result, dict):
            raise ListingFault(UnknownReason.MALFORMED, "no_result")
        return Answer(status, result=result, session=session)


def _no_stream(response: ClientResponse) -> ListingFault | None:
    status = response.status
    if status in _UNAUTHORIZED:
        return ListingFault(UnknownReason.UNAUTHORIZED, http_status=status)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return ListingFault(UnknownReason.UNSUPPORTED, "no_stream", status)
    if _REDIRECTION <= status < _CLIENT_ERROR:
        return ListingFault(UnknownReason.REDIRECTED, http_status=status)
    if status != HTTPStatus.OK:
        return ListingFault(UnknownReason.REFUSED, "http_status", status)
    if response.content_type != _EVENTS:
        return ListingFault(UnknownReason.MALFORMED, "content_type", status)
    return None


def _error(reply: object) -> tuple[int | None, tuple[str, ...]]:
    error = reply.get("error") if isinstance(reply, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if not isinstance(error, dict) or type(code) is not int:
        return None, ()
    data = error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    named = supported if isinstance(supported, list) else []
    return code, tuple(revision for revision in named if isinstance(revision, str))

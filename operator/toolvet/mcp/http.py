"""All tools of a live MCP server over Streamable HTTP, raw, in both eras of the protocol.

Revision 2026-07-28 has no sessions: each request says everything. Up to 2025-11-25 ``initialize`` opens a
session. The order of finding out is the one that the specification gives (Versioning, "Backward
compatibility"): one modern request first, and ``initialize`` only where its refusal is not a modern error.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Final, TypeVar

import aiohttp
from aiohttp import ClientResponse
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import LineTooLong

from toolvet.core.errors import ContractError
from toolvet.core.listing_change import ObservedListing, read_listing
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.budget import Budget, Meter
from toolvet.mcp.endpoint import check_headers, endpoint
from toolvet.mcp.exchange import Answer, Exchange
from toolvet.mcp.observation import Listing, ListingFault, UnknownListing, UnknownReason
from toolvet.mcp.pages import PageCollector
from toolvet.mcp.resolver import CheckedResolver

MODERN: Final = "2026-07-28"
NEWEST_SESSION: Final = "2025-11-25"
SESSION_REVISIONS: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", NEWEST_SESSION})

_CLIENT: Final = {"name": "toolvet", "version": "1"}
_META: Final = "io.modelcontextprotocol/"
_UNSUPPORTED_VERSION: Final = -32022
_MODERN_ERRORS: Final = frozenset({-32020, -32021, _UNSUPPORTED_VERSION})
_NO_VERDICT: Final = frozenset({408, 429, 502, 503, 504})
"""The server, or what stands before it, could not answer now: that says nothing about its era."""
_MAX_HEADER: Final = 8190
_MAX_SESSION_ID: Final = 1024
_GOODBYE_SECONDS: Final = 1.0
_LARGE: Final = 64 * 1024

T = TypeVar("T")


async def list_http_tools(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    policy: AddressPolicy | None = None,
    budget: Budget | None = None,
    tls: ssl.SSLContext | None = None,
    resolver: AbstractResolver | None = None,
) -> Listing | UnknownListing:
    """List the tools of the server at ``url``, on all pages.

    ``headers`` authenticate; they go to the origin of ``url`` and nowhere else. ``tls`` says which
    authorities are trusted (default: those of the system). Nothing is kept from one call to the next, and
    no proxy, cookie or .netrc of the environment plays a part. The session is ended within a second more
    than the budget's. Raises ContractError for ``url`` or ``headers`` that cannot be used; whatever the
    server or the network does is an UnknownListing.
    """
    limits = budget or Budget()
    async with connected(url, headers, policy, limits, tls, resolver) as client:
        return await bounded(client.list(), limits.seconds)


@contextlib.asynccontextmanager
async def connected(
    url: str,
    headers: Mapping[str, str] | None,
    policy: AddressPolicy | None,
    budget: Budget,
    tls: ssl.SSLContext | None,
    resolver: AbstractResolver | None,
) -> AsyncIterator[HttpClient]:
    """Yield a client for one server, all of whose answers come out of one budget; see list_http_tools."""
    target = endpoint(url)
    sent = check_headers(headers or {})
    plain = target.scheme == "http"
    checked = CheckedResolver(policy or AddressPolicy(), target.host or "", plain=plain, inner=resolver)
    connector = aiohttp.TCPConnector(
        resolver=checked, socket_factory=checked.open_socket, use_dns_cache=False, limit=1
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        raise_for_status=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(),  # one deadline around everything instead
        max_line_size=_MAX_HEADER,
        max_field_size=_MAX_HEADER,
        skip_auto_headers=("User-Agent",),
        headers={"User-Agent": "toolvet"},
    )
    meter = Meter(budget)
    exchange = Exchange(session, target, sent, meter, ssl=tls if tls is not None else True)
    client = HttpClient(exchange, meter)
    try:
        yield client
    finally:
        await client.end()
        await session.close()
        await checked.close()


async def bounded(doing: Awaitable[T], seconds: float) -> T | UnknownListing:
    """Return what comes of a client's work, whatever the server does, within this many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await doing
    except ListingFault as fault:
        return fault.outcome
    except TimeoutError:
        return UnknownListing(UnknownReason.TIMED_OUT, "deadline")
    except aiohttp.ClientSSLError:
        return UnknownListing(UnknownReason.TLS_FAILED, "handshake")
    except aiohttp.ClientPayloadError:
        return UnknownListing(UnknownReason.UNREACHABLE, "cut_off")
    except aiohttp.ClientResponseError as error:
        if _too_long(error):
            return UnknownListing(UnknownReason.OVER_BUDGET, "header_too_large")
        return UnknownListing(UnknownReason.MALFORMED, "http")
    except (aiohttp.ClientError, OSError):
        return UnknownListing(UnknownReason.UNREACHABLE, "connection")


def _too_long(error: BaseException | None) -> bool:
    """Tell whether a header line outgrew its bound; only the chain of causes says so without its text."""
    while error is not None:
        if isinstance(error, LineTooLong):
            return True
        error = error.__cause__ or error.__context__
    return False


class HttpClient:
    """Speaks with one server in the era of the protocol that it is of; raises ListingFault."""

    def __init__(self, exchange: Exchange, meter: Meter) -> None:
        self._exchange = exchange
        self._meter = meter
        self._headers: dict[str, str] = {}
        self._params: dict[str, object] = {}
        self._modern = False

    async def list(self) -> Listing:
        """Find out the era, then list."""
        opening = await self._discover()
        if opening is not None:
            revision = MODERN
        else:
            opening = await self._initialize()
            revision = str(opening["protocolVersion"])
        capabilities = opening.get("capabilities")
        if not isinstance(capabilities, dict):
            raise ListingFault(UnknownReason.MALFORMED, "capabilities")
        if not isinstance(capabilities.get("tools"), dict):
            raise ListingFault(UnknownReason.UNSUPPORTED, "no_tools_capability")
        instructions = opening.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            raise ListingFault(UnknownReason.MALFORMED, "instructions")
        collected = await self._pages()
        return Listing(
            protocol_version=revision,
            definitions=tuple(collected.definitions),
            observed=await self._observe(collected, instructions),
            server_version=_server_version(opening),
            pages=collected.pages,
            size=self._meter.size,
        )

    async def stream(self) -> ClientResponse:
        """Open a session and in it the server's own stream, which the caller closes.

        Revision 2026-07-28 has neither: unsupported.
        """
        if await self._discover() is not None:
            raise ListingFault(UnknownReason.UNSUPPORTED, "no_session")
        await self._initialize()
        return await self._exchange.stream(self._headers)

    @property
    def meter(self) -> Meter:
        """What is left of the budget."""
        return self._meter

    async def end(self) -> None:
        """End the session, if there is one; whether the server agrees changes nothing."""
        if "Mcp-Session-Id" in self._headers:
            with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError, ListingFault):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._exchange.end(self._headers)

    async def _discover(self) -> Mapping[str, object] | None:
        """Ask as a modern client; None means that the server is of the era of sessions."""
        self._speak_modern()
        answer = await self._ask("server/discover")
        if answer.result is not None:
            if MODERN in _revisions(answer.result.get("supportedVersions")):
                return answer.result
            self._no_common_revision(_revisions(answer.result.get("supportedVersions")))
        elif answer.error_code in _MODERN_ERRORS:
            if answer.error_code != _UNSUPPORTED_VERSION:
                raise ListingFault(UnknownReason.REFUSED, "error_answer", answer.status)
            self._no_common_revision(answer.supported)
        elif answer.status in _NO_VERDICT:
            raise ListingFault(UnknownReason.REFUSED, "http_status", answer.status)
        # A session that such a server opens for the refused request is none of ours: it is forgotten.
        return None

    @staticmethod
    def _no_common_revision(offered: tuple[str, ...]) -> None:
        if offered and SESSION_REVISIONS.isdisjoint(offered):
            raise ListingFault(UnknownReason.UNSUPPORTED, "protocol_version")

    def _speak_modern(self) -> None:
        self._modern = True
        self._headers = {"MCP-Protocol-Version": MODERN}
        meta = {"protocolVersion": MODERN, "clientInfo": _CLIENT, "clientCapabilities": {}}
        self._params = {"_meta": {_META + name: value for name, value in meta.items()}}

    async def _initialize(self) -> Mapping[str, object]:
        self._modern, self._headers, self._params = False, {}, {}
        params = {"protocolVersion": NEWEST_SESSION, "capabilities": {}, "clientInfo": _CLIENT}
        answer = await self._ask("initialize", params)
        result = _result(answer)
        revision = result.get("protocolVersion")
        if not isinstance(revision, str):
            raise ListingFault(UnknownReason.MALFORMED, "protocol_version")
        if answer.session is not None:
            # Visible ASCII by the specification; it goes back into a header as it is.
            if not 0 < len(answer.session) <= _MAX_SESSION_ID or not _visible(answer.session):
                raise ListingFault(UnknownReason.MALFORMED, "session_id")
            self._headers["Mcp-Session-Id"] = answer.session
        if revision not in SESSION_REVISIONS:
            raise ListingFault(UnknownReason.UNSUPPORTED, "protocol_version")
        self._headers["MCP-Protocol-Version"] = revision
        await self._exchange.notify("notifications/initialized", self._headers)
        return result

    async def _pages(self) -> PageCollector:
        collected = PageCollector(self._meter.budget)
        cursor = collected.take(_result(await self._ask("tools/list")))
        while cursor is not None:
            cursor = collected.take(_result(await self._ask("tools/list", {"cursor": cursor})))
        return collected

    async def _ask(self, method: str, params: Mapping[str, object] | None = None) -> Answer:
        headers = {**self._headers, "Mcp-Method": method} if self._modern else self._headers
        return await self._exchange.request(method, {**self._params, **(params or {})}, headers)

    async def _observe(self, collected: PageCollector, instructions: str | None) -> ObservedListing:
        observed = None
        try:
            if self._meter.size <= _LARGE:
                observed = read_listing(collected.definitions, instructions)
            else:
                observed = await asyncio.to_thread(read_listing, collected.definitions, instructions)
        except ContractError:
            observed = None  # raised for a duplicate name alone
        if observed is None:
            raise ListingFault(UnknownReason.DUPLICATE_TOOL_NAME)
        return observed


def _result(answer: Answer) -> Mapping[str, object]:
    if answer.result is None:
        detail = "error_answer" if answer.error_code is not None else "http_status"
        raise ListingFault(UnknownReason.REFUSED, detail, answer.status)
    # Revision 2026-07-28 may answer with questions of its own instead of a result.
    if answer.result.get("resultType", "complete") != "complete":
        raise ListingFault(UnknownReason.REFUSED, "input_required", answer.status)
    return answer.result


def _revisions(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _visible(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _server_version(opening: Mapping[str, object]) -> str | None:
    meta = opening.get("_meta")
    for holder, name in ((opening, "serverInfo"), (meta, _META + "serverInfo")):
        info = holder.get(name) if isinstance(holder, Mapping) else None
        version = info.get("version") if isinstance(info, Mapping) else None
        if isinstance(version, str):
            return version
    return None

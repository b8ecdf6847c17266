"""A TLS proxy in front of the API server that can do to answers whatever networks and servers do.

It serves with a certificate of the bed's authority, so that any in-cluster client which is told its port
takes it for the API server. Faults are chosen by request (method and path) and end when the block does.
"""

import asyncio
import random
import re
import ssl
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

import aiohttp
from aiohttp import web
from yarl import URL

from controlplane.bed import ControlPlane
from controlplane.ports import free_port
from faults.background import Background

_LOOPBACK = "127.0.0.1"
_HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive", "host"})
_MAX_BODY = 16 * 1024 * 1024


class Kind(Enum):
    """What is done to a request that a fault matches."""

    CUT = auto()
    """The connection is reset instead of an answer."""
    FREEZE = auto()
    """Half of the answer is sent; the rest follows when the fault ends."""
    DEAD = auto()
    """A router forgot the connections there are and those made meanwhile: they never carry anything again."""
    SLOW = auto()
    """The answer is whole, ``seconds`` late."""
    ERROR = auto()
    """500, as the API server words it."""
    TOO_MANY = auto()
    """429 with Retry-After."""
    NOT_SERVED = auto()
    """404 of a server that does not know the kind (yet): nothing was looked up."""
    GARBAGE = auto()
    """200 with what is not JSON."""
    ANOTHER = auto()
    """200 with a JSON object that is nobody's."""
    TRUNCATED = auto()
    """The connection ends in the middle of the body."""


@dataclass(eq=False)
class Fault:
    """One fault; ``hits`` counts the requests it was done to."""

    kind: Kind
    matching: re.Pattern[str] = re.compile("")
    """Searched in ``METHOD /path?query``."""
    share: float = 1.0
    seconds: float = 0.0
    hits: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Proxy(Background):
    """In front of a bed's API server; ``port`` is where clients find it."""

    def __init__(self, bed: ControlPlane, seed: int = 1) -> None:
        self._bed = bed
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._faults: list[Fault] = []
        self._dead: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self.port = free_port()
        self.requests = 0

    @contextmanager
    def inject(self, *faults: Fault) -> Iterator[None]:
        """Do these faults, and no others, as long as the block runs."""
        self.call(self._set(faults))
        try:
            yield
        finally:
            self.call(self._set(()))

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Nobody listens, and whoever was connected no longer is, as long as the block runs."""
        self.call(self._refuse())
        try:
            yield
        finally:
            self.call(self._listen())

    async def _set(self, faults: tuple[Fault, ...]) -> None:
        for fault in self._faults:
            fault.over.set()
        self._faults = list(faults)
        if any(fault.kind is Kind.DEAD for fault in faults):
            self._dead.update(each.transport for each in self._connections() if each.transport is not None)

    async def _open(self) -> None:
        directory = self._bed.directory / f"proxy-{self.port}"
        directory.mkdir()
        pair = self._bed.authority.issue("proxy", addresses=[_LOOPBACK])
        (directory / "tls.crt").write_bytes(pair.certificate)
        (directory / "tls.key").write_bytes(pair.key)
        self._serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._serving.load_cert_chain(directory / "tls.crt", directory / "tls.key")
        trusted = ssl.create_default_context(cafile=Path(self._bed.ca_file))
        self._upstream = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted, limit=0),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),
        )
        application = web.Application(client_max_size=_MAX_BODY)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await self._listen()

    async def _close(self) -> None:
        await self._set(())
        await self._refuse()
        await self._runner.cleanup()
        await self._upstream.close()

    async def _listen(self) -> None:
        self._site = web.TCPSite(self._runner, _LOOPBACK, self.port, ssl_context=self._serving)
        await self._site.start()

    async def _refuse(self) -> None:
        with suppress(RuntimeError):  # closing after a block that refused
            await self._site.stop()
        for connection in self._connections():
            _abort(connection.transport)

    def _connections(self) -> list[web.RequestHandler]:
        server = self._runner.server
        return list(server.connections) if server is not None else []

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        fault = self._hit(request)
        if request.transport is None:
            return web.Response()
        if fault is not None and fault.kind is Kind.DEAD:
            self._dead.add(request.transport)
        if request.transport in self._dead:
            await asyncio.Event().wait()
        try:
            return await self._answer(request, fault)
        except (aiohttp.ClientError, ConnectionError):
            # The API server is down, or the client did not wait.
            _abort(request.transport)
            return web.Response()

    def _hit(self, request: web.Request) -> Fault | None:
        text = f"{request.method} {request.path_qs}"
        for fault in self._faults:
            if fault.matching.search(text) and self._chance.random() < fault.share:
                fault.hits += 1
                return fault
        return None

    async def _answer(self, request: web.Request, fault: Fault | None) -> web.StreamResponse:
        match fault:
            case None:
                return await self._pass(request)
            case Fault(kind=Kind.SLOW, seconds=seconds):
                await asyncio.sleep(seconds)
                return await self._pass(request)
            case Fault(kind=Kind.CUT):
                _abort(request.transport)
                return web.Response()
            case Fault(kind=Kind.ERROR):
                return _status(500, "InternalError")
            case Fault(kind=Kind.TOO_MANY):
                return _status(429, "TooManyRequests", {"Retry-After": "1"})
            case Fault(kind=Kind.NOT_SERVED):
                return web.Response(status=404, text="404 page not found\n")
            case Fault(kind=Kind.GARBAGE):
                return web.Response(text='{"kind": <html>', content_type="application/json")
            case Fault(kind=Kind.ANOTHER):
                return web.json_response({})
            case _:
                return await self._half(request, fault)

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        async with self._forwarded(request) as upstream:
            response = web.StreamResponse(status=upstream.status, headers=_headers(upstream.headers))
            if "watch" not in request.query:
                body = await upstream.read()
                response.content_length = len(body)
                await response.prepare(request)
                await response.write(body)
            else:
                await self._stream(request, upstream, response)
            await response.write_eof()
            return response

    async def _stream(
        self, request: web.Request, upstream: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        """Pass a watch on, as long as no fault comes upon it."""
        await response.prepare(request)
        async for chunk in upstream.content.iter_any():
            fault = self._hit(request)
            if fault is not None and fault.kind is Kind.SLOW:
                await asyncio.sleep(fault.seconds)
            elif fault is not None and fault.kind in {Kind.FREEZE, Kind.DEAD}:
                await fault.over.wait()
            elif fault is not None:
                _abort(request.transport)
            await response.write(chunk)

    async def _half(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        """Send the first half of an answer; the rest later, or never."""
        if "watch" in request.query:
            # It has no end, hence no middle.
            if fault.kind is Kind.TRUNCATED:
                _abort(request.transport)
            await fault.over.wait()
            return await self._pass(request)
        async with self._forwarded(request) as upstream:
            body = await upstream.read()
            response = web.StreamResponse(status=upstream.status, headers=_headers(upstream.headers))
            response.content_length = len(body)
            await response.prepare(request)
            middle = len(body) // 2
            await response.write(body[:middle])
            if fault.kind is Kind.TRUNCATED:
                if request.transport is not None:
                    request.transport.close()
                return response
            await fault.over.wait()
            await response.write(body[middle:])
            await response.write_eof()
            return response

    def _forwarded(self, request: web.Request) -> aiohttp.client._RequestContextManager:
        url = URL(f"{self._bed.server}{request.raw_path}", encoded=True)
        body = request.content if request.can_read_body else None
        headers = _headers(request.headers)
        return self._upstream.request(request.method, url, headers=headers, data=body)


def _headers(found: "aiohttp.typedefs.LooseHeaders") -> dict[str, str]:
    return {name: value for name, value in found.items() if name.lower() not in _HOP_BY_HOP}


def _abort(transport: asyncio.BaseTransport | None) -> None:
    if isinstance(transport, asyncio.Transport):
        transport.abort()


def _status(code: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return web.json_response({**body, "metadata": {}}, status=code, headers=headers)

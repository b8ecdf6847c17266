"""One small asynchronous client of the API server, shared by the gate, the controller and the CLI.

Objects are plain dictionaries. Every call has a deadline; nothing is cached; nothing is retried but what
aiohttp retries by itself (an idempotent request on a kept-alive connection the server had just closed).
"""

from __future__ import annotations

import asyncio
import builtins
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import aiohttp
import orjson

from toolvet.kube.names import Resource

Object = dict[str, Any]

_MAX_MESSAGE = 4096
_NO_TIMEOUT = aiohttp.ClientTimeout()  # ours is around the whole call; aiohttp's four cost a fifth of it
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_NOT_FOUND = "NotFound"
HTTP_FORBIDDEN = 403
HTTP_NOT_FOUND = 404
HTTP_CONFLICT = 409
_HTTP_UNAUTHORIZED = 401
_HTTP_ERROR = 400


class ApiError(Exception):
    """The API server could not be asked, or answered with an error.

    ``status`` is the HTTP status, 0 where there was no answer. ``message`` is the server's own text; it is
    for the user who made the call and never goes into logs, Events or statuses.
    """

    def __init__(self, status: int, reason: str, message: str = "") -> None:
        super().__init__(f"{status} {reason}")
        self.status = status
        self.reason = reason
        self.message = message


class Credentials(Protocol):
    """Who we are to the API server."""

    @property
    def server(self) -> str:
        """The URL of the API server, without a trailing slash."""

    def ssl_context(self) -> ssl.SSLContext | None:
        """Return how its certificate is checked, client certificate included; None without TLS."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers that authenticate; read again for every call, since tokens rotate."""


class _Connections:
    """The kept-alive connections in use; all are given up where one did not answer.

    What a router or a dead server forgot looks open for minutes, and each would cost a call its deadline.
    """

    def __init__(self, opened: Callable[[], aiohttp.ClientSession]) -> None:
        self._opened = opened
        self._calls: dict[aiohttp.ClientSession, int] = {}
        self._current = self._open()

    def _open(self) -> aiohttp.ClientSession:
        session = self._opened()
        self._calls[session] = 0
        return session

    def take(self) -> aiohttp.ClientSession:
        """Return the session for one call, to be given back after it."""
        self._calls[self._current] += 1
        return self._current

    async def give_back(self, session: aiohttp.ClientSession, *, answered: bool) -> None:
        """End a call. Connections that others still use are closed after the last of them."""
        if not answered and session is self._current:
            self._current = self._open()
        self._calls[session] -= 1
        if session is not self._current and not self._calls[session]:
            del self._calls[session]
            await session.close()

    async def close(self) -> None:
        """Close every connection."""
        for session in self._calls:
            await session.close()


class ApiClient:
    """Typed verbs over paths; use ``connect`` to get one."""

    def __init__(
        self, connections: _Connections, credentials: Credentials, user_agent: str, timeout: float
    ) -> None:
        self._connections = connections
        self._credentials = credentials
        self._agent = user_agent
        self._timeout = timeout
        self.on_warning: Callable[[str], None] | None = None
        """Told the text of every warning the API server sends with an answer (KEP-1693)."""

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Read one object, or its metadata alone, as it is now; None where it does not exist."""
        accept = _METADATA if metadata_only else _JSON
        try:
            return await self._call("GET", resource.path(namespace, name), accept=accept)
        except ApiError as error:
            # Only what was looked up can be missing: 404 is also the answer to a kind that is not served.
            if error.status != HTTP_NOT_FOUND or error.reason != _NOT_FOUND:
                raise
            return None

    async def list(self, resource: Resource, namespace: str | None = None, **parameters: str | int) -> Object:
        """Read a list object; parameters are those of the API (fieldSelector, limit, continue)."""
        return await self._call("GET", resource.path(namespace), parameters)

    async def items(
        self, resource: Resource, namespace: str | None = None, **parameters: str | int
    ) -> builtins.list[Object]:
        """Read every item, page by page."""
        return await self._pages(resource, namespace, _JSON, parameters)

    async def metadata(self, resource: Resource, namespace: str | None = None) -> builtins.list[Object]:
        """Read the metadata of every item, page by page."""
        return await self._pages(resource, namespace, _METADATA_LIST, {})

    async def _pages(
        self, resource: Resource, namespace: str | None, accept: str, parameters: Mapping[str, str | int]
    ) -> builtins.list[Object]:
        found: builtins.list[Object] = []
        page: dict[str, str | int] = {"limit": 500, **parameters}
        while True:
            answer = await self._call("GET", resource.path(namespace), page, accept=accept)
            found += answer.get("items") or []
            token = (answer.get("metadata") or {}).get("continue")
            if not token:
                return found
            page["continue"] = token

    async def create(
        self, resource: Resource, namespace: str | None, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Create an object; unknown fields are refused."""
        parameters = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        return await self._call("POST", resource.path(namespace), parameters, obj)

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        obj: Object,
        *,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Object:
        """Write a whole object; its resourceVersion, where set, must still be current."""
        parameters = {"dryRun": "All"} if dry_run else {}
        path = resource.path(namespace, obj["metadata"]["name"], subresource)
        return await self._call("PUT", path, parameters, obj)

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Object,
        *,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Object:
        """Merge-patch an object."""
        parameters = {"dryRun": "All"} if dry_run else {}
        path = resource.path(namespace, name, subresource)
        return await self._call("PATCH", path, parameters, patch, _MERGE)

    async def apply(
        self,
        resource: Resource,
        namespace: str | None,
        obj: Object,
        *,
        manager: str,
        subresource: str | None = None,
    ) -> Object:
        """Server-side apply under a field manager, taking its fields from any other."""
        path = resource.path(namespace, obj["metadata"]["name"], subresource)
        return await self._call("PATCH", path, {"fieldManager": manager, "force": "true"}, obj, _APPLY)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, *, version: str | None = None
    ) -> bool:
        """Delete an object; False where it did not exist. With ``version``: only as it was read, else 409."""
        body = None
        if version is not None:
            body = {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"resourceVersion": version},
            }
        try:
            await self._call("DELETE", resource.path(namespace, name), body=body)
        except ApiError as error:
            if error.status != HTTP_NOT_FOUND:
                raise
            return False
        return True

    async def _call(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str | int] | None = None,
        body: Object | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> Object:
        headers = {"User-Agent": self._agent, "Accept": accept, **self._credentials.headers()}
        if body is not None:
            headers["Content-Type"] = content_type
        session = self._connections.take()
        answered = True
        try:
            async with (
                asyncio.timeout(self._timeout),
                session.request(
                    method,
                    self._credentials.server + path,
                    params=parameters,
                    data=None if body is None else orjson.dumps(body),
                    headers=headers,
                    timeout=_NO_TIMEOUT,
                ) as response,
            ):
                content = await response.read()
                status = response.status
                if self.on_warning is not None:
                    for value in response.headers.getall("Warning", []):
                        self.on_warning(_warning_text(value))
        except TimeoutError:
            answered = False
            raise ApiError(0, "Timeout", "the API server did not answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ApiError(
                0, "Unreachable", f"the API server cannot be reached ({type(error).__name__})"
            ) from None
        finally:
            await self._connections.give_back(session, answered=answered)
        return _answer(status, content)


def _warning_text(header: str) -> str:
    """Return the quoted text of an RFC 7234 warning header: ``299 - "text"``."""
    text = header.partition('"')[2].rpartition('"')[0]
    return text.replace('\\"', '"').replace("\\\\", "\\")


def _answer(status: int, content: bytes) -> Object:
    parsed: object = None
    try:
        parsed = orjson.loads(content)
    except orjson.JSONDecodeError:
        parsed = None
    if status >= _HTTP_ERROR:
        details = parsed if isinstance(parsed, dict) else {}
        raise ApiError(
            status, str(details.get("reason") or status), str(details.get("message") or "")[:_MAX_MESSAGE]
        )
    if not isinstance(parsed, dict):
        raise ApiError(status, "NotJSON")
    return parsed


@asynccontextmanager
async def connect(
    credentials: Credentials, *, user_agent: str, call_timeout: float = 30.0, connections: int = 64
) -> AsyncIterator[ApiClient]:
    """Open kept-alive connections to the API server for as long as the block runs.

    ``call_timeout`` is the deadline of one call, in seconds.
    """
    context = credentials.ssl_context()

    def opened() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=context if context is not None else True, limit=connections, keepalive_timeout=60
        )
        # Proxies, cookies and compression have no business between us and the API server.
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"Accept-Encoding": "identity"}
        )

    pool = _Connections(opened)
    try:
        yield ApiClient(pool, credentials, user_agent, call_timeout)
    finally:
        await pool.close()

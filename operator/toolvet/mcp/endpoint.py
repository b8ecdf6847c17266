"""Where a server is and what authenticates to it, as somebody wrote it: checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from yarl import URL

from toolvet.core.errors import ContractError

MAX_URL: Final = 2048
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_RESERVED: Final = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type",
        "cookie", "expect", "host", "keep-alive", "last-event-id", "mcp-method", "mcp-name",
        "mcp-protocol-version", "mcp-session-id", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""Headers that are the transport's own: another value would have us speak something else."""


def endpoint(text: str) -> URL:
    """Return the address of an MCP endpoint.

    Raises ContractError("url", code): too_long, invalid, invalid_scheme, credentials_in_url or fragment.
    """
    if len(text) > MAX_URL:
        raise ContractError("url", "too_long")
    url = None
    try:
        url = URL(text)
        usable = bool(url.host) and text.isprintable() and url.port is not None
    except ValueError:
        usable = False
    if url is None or (url.scheme in {"http", "https"} and not usable):
        raise ContractError("url", "invalid")
    if url.scheme not in {"http", "https"}:
        raise ContractError("url", "invalid_scheme")
    if url.user is not None or url.password is not None:
        raise ContractError("url", "credentials_in_url")
    if url.fragment:
        raise ContractError("url", "fragment")
    return url


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to send.

    Raises ContractError("headers", code): invalid_name, reserved_name, repeated_name or invalid_value.
    """
    known: set[str] = set()
    for name, value in headers.items():
        if _NAME.fullmatch(name) is None:
            raise ContractError("headers", "invalid_name")
        if name.lower() in _RESERVED:
            raise ContractError("headers", "reserved_name")
        if name.lower() in known:
            raise ContractError("headers", "repeated_name")
        if _VALUE.fullmatch(value) is None:
            raise ContractError("headers", "invalid_value")
        known.add(name.lower())
    return dict(headers)

"""Credentials of a source: from a Secret made for that, and only for the host that the Secret names.

Otherwise whoever may write a source could have any Secret sent anywhere. An authority is a credential, too:
what it vouches for is believed.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from toolvet.core.errors import ContractError
from toolvet.kube.client import Object
from toolvet.kube.names import CREDENTIALS_TYPE
from toolvet.mcp.address import normal_host

_MAX_BYTES: Final = 64 * 1024
_HTTPS_PORT: Final = 443
_AUTHORITY: Final = "ca.crt"


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """How to be let in, and whom to believe; both for the one host that is listed."""

    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    """Verifies the server by the authorities of the Secret and by no others; None by those of the system."""


def login_of(secret: Object, url: str) -> Login:
    """Return what a Secret gives for a URL.

    ``host`` is the host, with its port where that is not 443; ``headers`` has one header a line, such as
    ``Authorization: Bearer ...``; ``ca.crt`` certificates in PEM. One of the latter two is there. Raises
    ContractError("credentials", code): wrong_type, invalid_data, invalid_authority or other_host.
    """
    if secret.get("type") != CREDENTIALS_TYPE:
        raise ContractError("credentials", "wrong_type")
    data = secret.get("data") or {}
    host, lines, authority = (_text(data, key) for key in ("host", "headers", _AUTHORITY))
    given = data.keys() & {"headers", _AUTHORITY}
    if host is None or not given or (lines is None and "headers" in given):
        raise ContractError("credentials", "invalid_data")
    if host.strip().lower() not in _names(url):
        raise ContractError("credentials", "other_host")
    return Login(_headers(lines or ""), _trust(authority) if _AUTHORITY in given else None)


def _headers(lines: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines.splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or name.strip() in headers:
            raise ContractError("credentials", "invalid_data")
        headers[name.strip()] = value.strip(" \t")
    return headers


def _trust(authority: str | None) -> ssl.SSLContext:
    """Return the default context with these authorities in place of the system's."""
    context = None
    try:
        # Text about a certificate stands around many a PEM block, and OpenSSL wants ASCII.
        pem = (authority or "").encode("ascii", "replace").decode("ascii")
        context = ssl.create_default_context(cadata=pem) if pem.strip() else None
    except ssl.SSLError:
        context = None
    # Without an authority nothing would be verified by what the Secret says.
    if context is None or not context.cert_store_stats()["x509_ca"]:
        raise ContractError("credentials", "invalid_authority")
    return context


def _names(url: str) -> frozenset[str]:
    parts = urlsplit(url)
    host = normal_host(parts.hostname or "")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port or (_HTTPS_PORT if parts.scheme == "https" else 80)
    return frozenset({f"{shown}:{port}"} | ({shown} if port == _HTTPS_PORT else set()))


def _text(data: Mapping[str, object], key: str) -> str | None:
    try:
        raw = base64.b64decode(str(data[key]), validate=True)
        return raw.decode("latin-1") if len(raw) <= _MAX_BYTES else None
    except (KeyError, ValueError):
        return None

"""Credentials of a source: from a Secret made for that, and only for the host that the Secret names.

Otherwise whoever may write a source could have any Secret sent anywhere.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from toolvet.core.errors import ContractError
from toolvet.kube.client import Object
from toolvet.kube.names import CREDENTIALS_TYPE
from toolvet.mcp.address import normal_host

_MAX_BYTES: Final = 64 * 1024
_HTTPS_PORT: Final = 443


def headers_of(secret: Object, url: str) -> dict[str, str]:
    """Return the headers that a Secret gives for a URL.

    ``host`` is the host, with its port where that is not 443; ``headers`` has one header a line, such as
    ``Authorization: Bearer ...``. Raises ContractError("credentials", code): wrong_type, invalid_data or
    other_host.
    """
    if secret.get("type") != CREDENTIALS_TYPE:
        raise ContractError("credentials", "wrong_type")
    data = secret.get("data") or {}
    host, lines = _text(data, "host"), _text(data, "headers")
    if host is None or lines is None:
        raise ContractError("credentials", "invalid_data")
    if host.strip().lower() not in _names(url):
        raise ContractError("credentials", "other_host")
    headers: dict[str, str] = {}
    for line in lines.splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or name.strip() in headers:
            raise ContractError("credentials", "invalid_data")
        headers[name.strip()] = value.strip(" \t")
    return headers


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

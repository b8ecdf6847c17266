"""Canonical JSON and domain-separated digests (CONTRACTS 1.3, 1.5)."""

from __future__ import annotations

import hashlib
import json

_ENCODER = json.JSONEncoder(
    ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=True
)


def canonical_json(value: object) -> str:
    """Return the one text form of a JSON value: sorted keys, no whitespace, pure ASCII.

    Raises ValueError or TypeError for what JSON cannot say (NaN, infinities, mixed key types,
    reference cycles); callers turn that into the code of their own contract.
    """
    # The standard writer escapes all outside U+0020..U+007E, DEL included, as the contract wants it.
    return _ENCODER.encode(value)


def domain_digest(domain: str, data: bytes) -> str:
    """Return ``sha256:<hex>`` of domain, NUL, data: equal bytes in two domains never collide."""
    return "sha256:" + hashlib.sha256(domain.encode("ascii") + b"\0" + data).hexdigest()

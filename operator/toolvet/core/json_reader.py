"""A strict JSON reader for the edges: what a lenient one would repair or hide is refused (CONTRACTS 15.7)."""

from __future__ import annotations

import codecs
import json
from typing import NoReturn

from toolvet.core.errors import ContractError

MAX_DEPTH = 64
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _DuplicateMemberError(ValueError):
    pass


class _NonFiniteNumberError(ValueError):
    pass


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateMemberError
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise _NonFiniteNumberError


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NonFiniteNumberError
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_parse_float
)


def _depth_within(text: str, limit: int) -> bool:
    """Measure nesting without parsing: a hostile depth must not reach the recursive parser."""
    depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > limit:
                return False
        elif char in "]}":
            depth -= 1
    return True


def _decode(text: str) -> tuple[object, str | None]:
    try:
        return _DECODER.decode(text), None
    except _DuplicateMemberError:
        return None, "duplicate_member"
    except _NonFiniteNumberError:
        return None, "non_finite_number"
    except (ValueError, RecursionError):
        # ValueError also covers integers beyond the interpreter's digit limit.
        return None, "invalid_json"


def read_json(data: bytes, *, field: str, max_bytes: int, max_depth: int = MAX_DEPTH) -> object:
    """Parse one JSON text of at most ``max_bytes`` bytes and ``max_depth`` levels.

    Raises ContractError(field, code) with code too_large, byte_order_mark, invalid_encoding, too_deep,
    duplicate_member, non_finite_number or invalid_json. The error holds no part of the input, not even
    as the context of the exception: it is raised outside the handlers.
    """
    if len(data) > max_bytes:
        raise ContractError(field, "too_large")
    if data.startswith((codecs.BOM_UTF8, *_UTF16_BOMS)):
        raise ContractError(field, "byte_order_mark")
    text, code = "", None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        code = "invalid_encoding"
    value: object = None
    if (
        code is None
        and data.count(b"[") + data.count(b"{") > max_depth
        and not _depth_within(text, max_depth)
    ):
        code = "too_deep"
    if code is None:
        value, code = _decode(text)
    if code is not None:
        raise ContractError(field, code)
    return value

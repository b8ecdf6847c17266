"""The JSON Canonicalization Scheme (RFC 8785), for those who may import nothing: core and agent processes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Above it not every integer is a number of I-JSON (RFC 7493, 2.2)."""

# The longest and smallest numbers that ECMAScript writes without an exponent (ECMA-262, Number::toString).
_LONGEST: Final = 21
_SMALLEST: Final = -6


def canonical_form(value: object) -> bytes:
    """Return the one text of a JSON value in UTF-8.

    Takes dictionaries with names of text, lists, text, numbers, booleans and None. Raises ValueError for
    what the scheme cannot say (integers beyond 2^53-1, NaN, infinities, lone surrogates) and TypeError for
    other types.
    How deep a value may be is the caller's to bound (``json_identity.private_copy``).
    """
    return _text(value).encode("utf-8")


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        # The standard writer escapes what section 3.2.2.2 asks for, in its short and lower-case forms.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise ValueError("integer")
        return str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        names = sorted(value, key=_utf16)
        return "{" + ",".join(f"{_text(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    raise TypeError("value")


def _utf16(name: object) -> bytes:
    """Order names by UTF-16 code units (section 3.2.3); in code points, those beyond U+FFFF come later."""
    if not isinstance(name, str):
        raise TypeError("name")
    return name.encode("utf-16-be")


def _number(value: float) -> str:
    """Write a number as ECMAScript does; Python finds the same shortest digits, and spells them otherwise."""
    if not math.isfinite(value):
        raise ValueError("number")
    if value == 0:
        return "0"
    _, found, scale = Decimal(repr(abs(value))).as_tuple()
    every = "".join(map(str, found))
    point = len(every) + int(scale)  # where the point stands, counted from the first digit
    digits = every.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= _LONGEST:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= _LONGEST:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _SMALLEST < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"

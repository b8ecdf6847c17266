"""JSON as the reference library's parsers read it, for the documents that its users hand to ours.

Looser than json_reader: bytes may carry a byte-order mark or be UTF-16 or UTF-32. What would be ambiguous is
found here, too: repeated members and NaN (CONTRACTS 10.1, 10.3).
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import NoReturn


class JsonFault(StrEnum):
    """Why a text gives no document."""

    MALFORMED = "malformed"
    REPEATED_MEMBER = "repeated_member"
    NON_FINITE = "non_finite"


class _RepeatedMemberError(ValueError):
    pass


class _NonFiniteError(ValueError):
    pass


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedMemberError
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise _NonFiniteError


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NonFiniteError
    return number


def load_json(text: object, *, overflow: bool) -> tuple[object, JsonFault | None]:
    """Return the document of a text or of bytes, or why there is none.

    With ``overflow``, a number too large for a float is infinity, for the caller to find.
    """
    if not isinstance(text, str | bytes | bytearray):
        return None, JsonFault.MALFORMED
    parse_float = float if overflow else _finite
    try:
        if isinstance(text, str):
            text.encode()  # fails where no file could hold the text
        document: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=parse_float
        )
    except _RepeatedMemberError:
        return None, JsonFault.REPEATED_MEMBER
    except _NonFiniteError:
        return None, JsonFault.NON_FINITE
    except (ValueError, RecursionError):
        # ValueError also covers bytes in no known encoding and integers beyond the interpreter's limit.
        return None, JsonFault.MALFORMED
    return document, None

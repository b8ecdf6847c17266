"""JSON as the reference library's parsers read it, for the documents that its users hand to ours.

Looser than json_reader: bytes may carry a byte-order mark or be UTF-16 or UTF-32, and a number may overflow
to infinity. Repeated members and NaN are found here, too (CONTRACTS 10.1, 10.3).
"""

from __future__ import annotations

import json
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


def load_json(text: object) -> tuple[object, JsonFault | None]:
    """Return the document of a text or of bytes, or why there is none."""
    if not isinstance(text, str | bytes | bytearray):
        return None, JsonFault.MALFORMED
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant), None
    except _RepeatedMemberError:
        return None, JsonFault.REPEATED_MEMBER
    except _NonFiniteError:
        return None, JsonFault.NON_FINITE
    except (ValueError, RecursionError):
        # ValueError also covers bytes in no known encoding and integers beyond the interpreter's limit.
        return None, JsonFault.MALFORMED

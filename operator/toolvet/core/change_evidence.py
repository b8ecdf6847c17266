"""Both sides of a change for a reviewer to read: each at most 16 KiB, cut around the bytes that differ.

A view from the top could be filled up so that what changed lies below it (CONTRACTS 13). What is not shown is
counted, and the digest is that of the whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from toolvet.core.definition_flags import MAX_SHOWN_BYTES
from toolvet.core.text_flags import escape_concealed
from toolvet.core.tool_parts import CanonicalForm

_MARKER_BYTES: Final = 64
_CONTEXT: Final = 1024
"""Bytes that are shown before the first that differs, where there are too many for all."""


@dataclass(frozen=True, slots=True, repr=False)
class Side:
    """One side: RFC 8785 form with concealed characters escaped, cut where it is long."""

    text: str
    digest: str
    """``sha256:`` and the digest of the whole RFC 8785 form, nothing escaped and nothing cut."""
    size: int
    """Bytes of that form."""
    hidden: int
    """Bytes of the escaped text that are not shown."""


def evidence(before: object, after: object, canonical: CanonicalForm) -> tuple[Side | None, Side | None]:
    """Return both sides of a change; None for one that is not there, or not known any more."""
    old, new = _whole(before, canonical), _whole(after, canonical)
    shown_old, shown_new = _escaped(old), _escaped(new)
    start, end_old, end_new = _differing(shown_old, shown_new)
    return _side(old, shown_old, start, end_old), _side(new, shown_new, start, end_new)


def _whole(value: object, canonical: CanonicalForm) -> bytes | None:
    if value is None:
        return None
    try:
        return canonical(value)
    except (ValueError, TypeError, RecursionError):
        return None  # a malformed definition that has no such form; its change says so


def _escaped(data: bytes | None) -> bytes:
    return b"" if data is None else escape_concealed(data.decode("utf-8")).encode("utf-8")


def _differing(one: bytes, other: bytes) -> tuple[int, int, int]:
    """Return where the first difference starts, and where the last one ends on either side."""
    shorter = min(len(one), len(other))
    start = _common(one, other, shorter)
    tail = _common(one[::-1], other[::-1], shorter - start)
    return start, len(one) - tail, len(other) - tail


def _common(one: bytes, other: bytes, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _side(whole: bytes | None, shown: bytes, start: int, end: int) -> Side | None:
    if whole is None:
        return None
    digest = "sha256:" + hashlib.sha256(whole).hexdigest()
    if len(shown) <= MAX_SHOWN_BYTES:
        return Side(shown.decode("utf-8"), digest, len(whole), 0)
    room = MAX_SHOWN_BYTES - 2 * _MARKER_BYTES
    # All that differs where it fits, in the middle of what is shown; else its beginning.
    context = max(_CONTEXT, (room - (end - start)) // 2)
    first = max(0, min(start - context, len(shown) - room))
    last = min(len(shown), first + room)
    first, last = _at_character(shown, first), _at_character(shown, last)
    text = shown[first:last].decode("utf-8")
    before = f"[{first} bytes not shown] " if first else ""
    after = f" [{len(shown) - last} bytes not shown]" if last < len(shown) else ""
    return Side(before + text + after, digest, len(whole), len(shown) - (last - first))


def _at_character(data: bytes, place: int) -> int:
    """Return the place, or the beginning of the character that it would cut."""
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:  # noqa: PLR2004  # UTF-8: not the first byte
        place -= 1
    return place

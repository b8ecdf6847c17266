"""JSON values as evidence: a private copy within bounds, and one number for each distinct value.

Equality is that of RFC 8785: the order of members and the spelling of a number play no part, the order of
arrays does, and true is not 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from toolvet.core.errors import ContractError

MAX_DEPTH: Final = 64
MAX_BYTES: Final = 256 * 1024
"""About twenty times the largest definition seen in real servers."""

_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT_ESCAPES = frozenset('"\\\b\f\n\r\t')
_DIGITS_OF_A_BIT = 0.302


def private_copy(value: object, *, field: str, max_bytes: int = MAX_BYTES) -> tuple[object, int]:
    """Copy a JSON value deeply and measure it; later changes of the original cannot reach the copy.

    Returns the copy and its size in bytes of RFC 8785 form (floats to within a few bytes). Raises
    ContractError(field, code): too_deep (64 levels), too_large (``max_bytes``), non_finite_number,
    invalid_encoding (a lone surrogate), duplicate_member (two names of one text, which a class of text of
    its own makes possible) or invalid_type for what JSON does not know.
    """
    copier = _Copier(field, max_bytes)
    return copier.copy(value, 0), copier.size


class _Copier:
    def __init__(self, field: str, max_bytes: int) -> None:
        self._field = field
        self._max_bytes = max_bytes
        self.size = 0

    def copy(self, value: object, depth: int) -> object:
        # Exact types: bool is an int, and a str subclass could answer differently at each look.
        if value is None or isinstance(value, bool):
            self._grow(5)
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            self._grow(1 + int(value.bit_length() * _DIGITS_OF_A_BIT))
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ContractError(self._field, "non_finite_number")
            self._grow(len(repr(value)))
            return float(value)
        if depth >= MAX_DEPTH:
            raise ContractError(self._field, "too_deep")
        self._grow(2)
        if isinstance(value, Mapping):
            members = {self._name(name): self.copy(value[name], depth + 1) for name in value}
            if len(members) != len(value):
                raise ContractError(self._field, "duplicate_member")
            return members
        if isinstance(value, list):
            return [self._element(item, depth) for item in value]
        raise ContractError(self._field, "invalid_type")

    def _element(self, item: object, depth: int) -> object:
        self._grow(1)
        return self.copy(item, depth + 1)

    def _name(self, name: object) -> str:
        if not isinstance(name, str):
            raise ContractError(self._field, "invalid_type")
        self._grow(2)
        return self._text(name)

    def _text(self, text: str) -> str:
        # A character has at least one byte: refused before it is encoded.
        if len(text) > self._max_bytes:
            raise ContractError(self._field, "too_large")
        encoded = None
        with suppress(UnicodeEncodeError):  # refused below: that exception holds the text
            encoded = text.encode()
        if encoded is None:
            raise ContractError(self._field, "invalid_encoding")
        escapes = sum(1 if char in _SHORT_ESCAPES else 5 for char in _ESCAPED.findall(text))
        self._grow(2 + len(encoded) + escapes)
        return str(text)

    def _grow(self, size: int) -> None:
        self.size += size
        if self.size > self._max_bytes:
            raise ContractError(self._field, "too_large")


class StructuralKeys:
    """Gives equal JSON values the same number, in time linear in their size."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._of: dict[int, int] = {}
        self._kept: list[object] = []
        self._referring: set[int] = set()
        self.nodes = 0
        """Values seen so far, equal ones included: the size of the work."""

    def key(self, value: object) -> int:
        """Return the number of a value that nobody changes afterwards."""
        if isinstance(value, dict | list):
            known = self._of.get(id(value))
            if known is None:
                known = self._of[id(value)] = self._container(value)
                self._kept.append(value)  # an id is that of this value only as long as the value lives
            return known
        self.nodes += 1
        return self._number((isinstance(value, bool), isinstance(value, str), value))

    def refers(self, key: int) -> bool:
        """Tell whether a value contains a reference, so that equal texts may mean different schemas."""
        return key in self._referring

    def _container(self, value: dict[str, object] | list[object]) -> int:
        self.nodes += 1
        if isinstance(value, dict):
            pairs = tuple((name, self.key(value[name])) for name in sorted(value))
            number = self._number(("object", pairs))
            refers = "$ref" in value or "$dynamicRef" in value
            parts = [key for _, key in pairs]
        else:
            parts = [self.key(item) for item in value]
            number = self._number(("array", tuple(parts)))
            refers = False
        if refers or not self._referring.isdisjoint(parts):
            self._referring.add(number)
        return number

    def _number(self, shape: object) -> int:
        return self._numbers.setdefault(shape, len(self._numbers))

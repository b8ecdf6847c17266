"""How much a server may make us read, hold and wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from toolvet.core.errors import ContractError
from toolvet.core.json_reader import MAX_DEPTH, read_json
from toolvet.core.tool_listing import MAX_PAGES, MAX_TOOLS
from toolvet.mcp.observation import ListingFault, UnknownReason

_OVER = frozenset({"too_large", "too_deep"})


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of one listing. The largest known real one has 115,053 bytes, 98 tools and 1 page.

    ``total_bytes`` counts all answers after decompression. ``values`` bounds the memory of what is parsed:
    a few bytes of JSON make an object of many, and each value is announced by one of ``[ { , :``.
    ``seconds`` is for the whole listing, whatever happens on the way.
    """

    seconds: float = 30.0
    total_bytes: int = 4 * 1024 * 1024
    values: int = 400_000
    depth: int = MAX_DEPTH
    pages: int = MAX_PAGES
    tools: int = MAX_TOOLS
    messages: int = 1000


class Meter:
    """What is left of a budget; raises ListingFault(over_budget) when there is nothing."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.size = 0
        self._values = 0
        self._messages = 0

    def read(self, count: int) -> None:
        """Note bytes that were read."""
        self.size += count
        if self.size > self.budget.total_bytes:
            over("too_many_bytes")

    @property
    def bytes_left(self) -> int:
        """Bytes that may still be read."""
        return self.budget.total_bytes - self.size

    def parse(self, data: bytes) -> object:
        """Return one JSON text, read strictly; raises ListingFault."""
        self._messages += 1
        if self._messages > self.budget.messages:
            over("too_many_messages")
        self._values += 1 + sum(data.count(sign) for sign in (b",", b":", b"[", b"{"))
        if self._values > self.budget.values:
            over("too_many_values")
        code = ""
        value: object = None
        try:
            value = read_json(
                data, field="server", max_bytes=self.budget.total_bytes, max_depth=self.budget.depth
            )
        except ContractError as error:
            code = error.code
        if code in _OVER:
            over(code)
        if code:
            raise ListingFault(UnknownReason.MALFORMED, code)
        return value


def over(detail: str) -> NoReturn:
    """End the listing: the budget is spent."""
    raise ListingFault(UnknownReason.OVER_BUDGET, detail)

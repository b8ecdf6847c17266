"""All pages of a listing within a budget; a malformed element stays among the good ones."""

from __future__ import annotations

from collections.abc import Mapping

from toolvet.mcp.budget import Budget, over
from toolvet.mcp.observation import ListingFault, UnknownReason


class PageCollector:
    """The elements of the pages taken so far, in the server's order."""

    def __init__(self, budget: Budget) -> None:
        self.definitions: list[object] = []
        self.pages = 0
        self._budget = budget
        self._cursors: set[str] = set()

    def take(self, page: Mapping[str, object]) -> str | None:
        """Add the next page; return the cursor of the one after it, None after the last."""
        listed = page.get("tools")
        if not isinstance(listed, list):
            raise ListingFault(UnknownReason.MALFORMED, "no_tools_member")
        self.pages += 1
        self.definitions.extend(listed)
        if len(self.definitions) > self._budget.tools:
            over("too_many_tools")
        cursor = page.get("nextCursor")
        # An empty cursor is a cursor: to stop there could hide tools from us that the agent sees.
        if cursor is None:
            return None
        if not isinstance(cursor, str):
            raise ListingFault(UnknownReason.MALFORMED, "cursor")
        if cursor in self._cursors:
            raise ListingFault(UnknownReason.MALFORMED, "repeated_cursor")
        if self.pages == self._budget.pages:
            over("too_many_pages")
        self._cursors.add(cursor)
        return cursor

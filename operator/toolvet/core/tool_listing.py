"""All pages of one ``tools/list``, collected within bounds; how a page comes is for its reader to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolvet.core.errors import ContractError
from toolvet.core.tool_definition import Definition, tool_name

MAX_PAGES: Final = 100
MAX_TOOLS: Final = 1000
"""As many as an inventory resource holds."""


class ToolListing:
    """The definitions of the pages taken so far, in the server's order, each name once."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self._names: set[str] = set()
        self._cursors: set[str] = set()
        self._pages = 0

    def take(self, page: Mapping[str, object]) -> str | None:
        """Add the next page; return the cursor of the one after it, None after the last.

        Raises ContractError: ``server`` with protocol_error, too_many_tools, too_many_pages or
        repeated_cursor, and those of ``core.tool_definition.tool_name``.
        """
        listed = page.get("tools")
        if not isinstance(listed, list):
            raise ContractError("server", "protocol_error")
        if len(self.definitions) + len(listed) > MAX_TOOLS:
            raise ContractError("server", "too_many_tools")
        for item in listed:
            tool_name(item, len(self.definitions), self._names)
            self.definitions.append(item)
        self._pages += 1
        return self._next(page.get("nextCursor"))

    def _next(self, cursor: object) -> str | None:
        # An empty cursor is a cursor: to stop there could hide tools from us that the agent sees.
        if cursor is None:
            return None
        if not isinstance(cursor, str):
            raise ContractError("server", "protocol_error")
        if cursor in self._cursors:
            raise ContractError("server", "repeated_cursor")
        if self._pages == MAX_PAGES:
            raise ContractError("server", "too_many_pages")
        self._cursors.add(cursor)
        return cursor

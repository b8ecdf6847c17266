"""A live MCP server as its owner describes it: where it is, and how its tools are named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from toolvet.core.change_reason import Reading
from toolvet.core.tool_mapping import ToolMapping


@dataclass(frozen=True, slots=True)
class SourceReference:
    """An object of another system that says where a server is; in the namespace of the source."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True, repr=False)
class IgnoredPath:
    """A JSON Pointer into definitions, of the tool of that runtime name or of every tool."""

    path: str
    tool: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ToolSource:
    """An MCPSource; exactly one of ``url`` and ``reference`` is set."""

    name: str
    url: str | None
    reference: SourceReference | None
    inventory_name: str
    credentials_secret_name: str | None
    interval: timedelta
    max_observation_age: timedelta
    mapping: ToolMapping
    ignored_paths: tuple[IgnoredPath, ...]
    reading: Reading
    list_changed: bool = False
    """Whether its notifications bring looks forward."""

"""A registry of the tools of a live MCP session, or of a raw listing of one.

The sessions are those of the ``mcp`` package, known here by what they can do: nothing of it is imported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Protocol, get_args, get_type_hints

from toolvet.core.errors import ContractError
from toolvet.core.tool_definition import Definition, hints, input_schema, output_schema, tool_name
from toolvet.core.tool_listing import MAX_TOOLS, ToolListing
from toolvet.runtime.registry import ToolRegistry
from toolvet.runtime.tool_spec import ToolSpec

Versions = str | Mapping[str, str]
"""The version of every tool, or of each by its runtime name: MCP has none, and none is guessed."""

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls a tool by its runtime name with its arguments."""


class ToolSession(Protocol):
    """An initialized ``mcp.ClientSession`` or an entered ``mcp.Client``."""

    @property
    def list_tools(self) -> Callable[..., Awaitable[Any]]:
        """Return one page of the server's tools."""

    @property
    def call_tool(self) -> Callable[..., Awaitable[Any]]:
        """Call a tool by name, with a dictionary of arguments."""


async def from_mcp(session: ToolSession, *, version: Versions) -> ToolRegistry:
    """Return a registry with one async handler for every tool that the session lists, on all pages.

    A handler returns the session's ``CallToolResult`` as it is; a tool that failed says so in its
    ``is_error``, and only a call that could not be made raises. How long the server may take is the
    session's own setting, or the caller's ``asyncio.timeout``.

    No tool of the registry has the class ``none``: it is never derived from hints, so that an inventory that
    declares it cannot be captured against this registry. The registry is what was listed and does not follow
    the server: what changed there since is found by checking against a new one. That has other
    implementation identities in any case, as after every reload (CONTRACTS 9.5).

    A typed session shows what its models know: members it does not know are gone, text such as ``"yes"``
    has become a hint, and a tool that it dropped is not there. ``registry_from_listing`` takes what a server
    really sent.

    Raises ContractError: ``session: invalid_type``; ``server`` with listing_failed where the session
    raised, too_many_pages, too_many_tools, repeated_cursor or protocol_error; and those of
    ``registry_from_listing``. Texts of the server and errors of the session are never part of it.
    """
    if not callable(getattr(session, "list_tools", None)) or not callable(
        getattr(session, "call_tool", None)
    ):
        raise ContractError("session", "invalid_type")
    listing = ToolListing()
    cursor = listing.take(await _page(session, None))
    while cursor is not None:
        cursor = listing.take(await _page(session, cursor))
    return registry_from_listing(listing.definitions, version=version, call=session.call_tool)


def registry_from_listing(
    definitions: Sequence[Definition], *, version: Versions, call: Call
) -> ToolRegistry:
    """Return a registry of raw ``tools/list`` elements whose handlers await ``call(name, arguments)``.

    A mapping of versions may name tools that are not listed: they are missed when a catalog is checked.

    Raises ContractError: ``tools: too_many_tools`` beyond 1000, ``tools[INDEX]`` with its field and code:
    ``version`` missing or invalid_semver, ``name`` duplicate_tool_name, ``annotations`` invalid_hint for a
    hint that is no boolean, ``input_schema`` missing, ``output_schema`` boolean_schema, which a spec cannot
    hold, and invalid_type of each of them.
    """
    if len(definitions) > MAX_TOOLS:
        raise ContractError("tools", "too_many_tools")
    registry = ToolRegistry()
    known: set[str] = set()
    for index, definition in enumerate(definitions):
        name = tool_name(definition, index, known)
        fault = None
        try:
            registry.register(_spec(definition, name, version), handler=_handler(call, name))
        except ContractError as error:
            fault = error
        if fault is not None:
            raise fault.under(f"tools[{index}]")
    return registry


def _spec(definition: Definition, name: str, versions: Versions) -> ToolSpec:
    version = versions if isinstance(versions, str) else versions.get(name)
    if version is None:
        raise ContractError("version", "missing")
    given = output_schema(definition)
    if isinstance(given, bool):
        raise ContractError("output_schema", "boolean_schema")
    stated = hints(definition)
    return ToolSpec(
        name=name,
        description=_text(definition, "description"),
        input_schema=input_schema(definition),
        output_schema=given,
        version=version,
        title=_text(definition, "title"),
        read_only_hint=stated.get("readOnlyHint", False),
        destructive_hint=stated.get("destructiveHint", True),
        idempotent_hint=stated.get("idempotentHint", False),
        open_world_hint=stated.get("openWorldHint", True),
    )


def _text(definition: Definition, member: str) -> str:
    text = definition.get(member)
    if text is not None and not isinstance(text, str):
        raise ContractError(member, "invalid_type")
    return text or ""


def _handler(call: Call, name: str) -> Callable[..., Awaitable[Any]]:
    async def call_tool(**arguments: Any) -> Any:  # noqa: ANN401  # the session's own result
        return await call(name, arguments)

    return call_tool


async def _page(session: ToolSession, cursor: str | None) -> Mapping[str, object]:
    page = None
    try:
        page = _members(await session.list_tools(**_arguments(session.list_tools, cursor)))
    except Exception:  # noqa: BLE001  # of whatever transport, and it may quote what the server sent
        page = None
    if page is None:
        raise ContractError("server", "listing_failed")
    return page


def _arguments(list_tools: Callable[..., Any], cursor: str | None) -> dict[str, Any]:
    accepted = signature(list_tools).parameters
    # A Client answers from its cache for as long as the server wishes it to.
    arguments = {"cache_mode": "refresh"} if "cache_mode" in accepted else {}
    if cursor is None:
        return arguments
    if "cursor" in accepted:
        return arguments | {"cursor": cursor}
    # A ClientSession takes it inside an object, of the class that its own signature names.
    hint = get_type_hints(list_tools)["params"]
    page_of = next(kind for kind in get_args(hint) or (hint,) if kind is not type(None))
    return arguments | {"params": page_of(cursor=cursor)}


def _members(result: Any) -> Mapping[str, object]:  # noqa: ANN401  # a pydantic model, unless a session is raw
    if isinstance(result, Mapping):
        return result
    # Unset is absent; mode "python" leaves numbers alone, where "json" would turn infinity into null.
    members: Mapping[str, object] = result.model_dump(mode="python", by_alias=True, exclude_unset=True)
    return members

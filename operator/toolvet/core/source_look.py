"""One complete listing of a live server, as it is compared: each tool with its digests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.change_reason import ToolFlag
from toolvet.core.definition_flags import flags_of
from toolvet.core.errors import ContractError
from toolvet.core.ignored_path import without
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.tool_account import Components
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_parts import CanonicalForm, ToolParts, read_tool
from toolvet.core.tool_source import IgnoredPath

_MALFORMED_DOMAIN: Final = "toolvet.dev/mcp-tool-malformed.v1"
_INSTRUCTIONS_DOMAIN: Final = "toolvet.dev/mcp-instructions.v1"


@dataclass(frozen=True, slots=True)
class Forms:
    """What core cannot do without a package: RFC 8785 form, and the exact digest of a whole definition.

    ``exact`` raises ContractError for what RFC 8785 cannot say.
    """

    canonical: CanonicalForm
    exact: Callable[[Definition], str]


@dataclass(frozen=True, slots=True, repr=False)
class ToolSight:
    """One tool of a listing. ``parts`` is None where it is malformed: then only ``exact`` tells it apart."""

    definition: Definition
    """As sent."""
    parts: ToolParts | None
    exact: str
    components: Components
    side_effect_class: SideEffectClass
    """The worst one of a malformed tool."""
    schema_digest: str
    flags: frozenset[ToolFlag]


@dataclass(frozen=True, slots=True, repr=False)
class Look:
    """What one complete listing showed, by runtime name."""

    tools: Mapping[str, ToolSight]
    nameless: int = 0
    """Elements that are no object or have no usable name; no agent can call them."""
    instructions: str | None = None
    server_version: str | None = None
    protocol_version: str = ""


def see(definition: Definition, ignored: Sequence[IgnoredPath], forms: Forms) -> ToolSight:
    """Take a definition apart as it is compared; one that cannot be understood is marked, not lost."""
    compared = without(definition, ignored)
    try:
        parts = read_tool(compared)
        digests = parts.digests(forms.canonical)
        exact = forms.exact(compared)
    except ContractError:
        return _malformed(definition, compared, forms)
    components = Components(digests.fingerprint, digests.contract, digests.hints, digests.rest)
    flags = frozenset(flags_of(parts))
    return ToolSight(definition, parts, exact, components, parts.side_effect_class, digests.contract, flags)


def look_of(
    definitions: Sequence[object],
    ignored: Sequence[IgnoredPath],
    forms: Forms,
    *,
    instructions: str | None = None,
    server_version: str | None = None,
    protocol_version: str = "",
) -> Look:
    """Return what a listing shows; no name occurs twice in it (the lister refuses such a listing)."""
    tools: dict[str, ToolSight] = {}
    nameless = 0
    for definition in definitions:
        name = definition.get("name") if isinstance(definition, Mapping) else None
        if isinstance(definition, Mapping) and isinstance(name, str) and name:
            tools[name] = see(definition, ignored, forms)
        else:
            nameless += 1
    return Look(tools, nameless, instructions, server_version, protocol_version)


def instructions_digest(text: str | None) -> str:
    """Return the digest of a server's instructions; absent and empty ones have one of their own."""
    return domain_digest(_INSTRUCTIONS_DOMAIN, (text or "").encode("utf-8", "surrogatepass"))


def _malformed(definition: Definition, compared: Definition, forms: Forms) -> ToolSight:
    try:
        exact = forms.exact(compared)
    except ContractError:
        # Beyond RFC 8785, such as an integer above 2^53-1: told apart by a form of its own.
        exact = domain_digest(_MALFORMED_DOMAIN, canonical_json(dict(compared)).encode("ascii"))
    return ToolSight(
        definition, None, exact, Components(exact), SideEffectClass.DESTRUCTIVE, exact, frozenset()
    )

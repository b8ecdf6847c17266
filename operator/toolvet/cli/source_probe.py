"""``toolvet source probe``: one listing, told in counts, codes and digests."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

import rfc8785

from toolvet.cli.documents import load_bytes
from toolvet.cli.output import print_note
from toolvet.cli.source_mapping import propose
from toolvet.core.definition_flags import flags_of, flags_of_text
from toolvet.core.errors import ContractError
from toolvet.core.tool_parts import ToolParts, read_tool
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.budget import Budget
from toolvet.mcp.definition import implementation_id
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import REASON_MEANINGS, Listing, UnknownListing

_MAX_HEADER_FILE: Final = 64 * 1024
_MAX_CA_FILE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Probe:
    """Which server to ask, and how; files by name."""

    url: str
    allow: tuple[str, ...]
    header_file: str | None
    ca_file: str | None
    timeout: float


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON text of an observation, and whether it is one."""

    text: str
    known: bool


def run(probe: Probe, *, names: bool, id_namespace: str | None = None) -> Report:
    """Ask the server once; with ``id_namespace`` the text is a proposed mapping instead.

    Raises ContractError for ``url``, ``allow``, ``headers``, ``ca``, ``id_namespace``.
    """
    headers = _headers(probe.header_file) if probe.header_file is not None else {}
    found = asyncio.run(
        list_http_tools(
            probe.url,
            headers=headers,
            policy=AddressPolicy.of(*probe.allow),
            budget=Budget(seconds=probe.timeout),
            tls=_trust(probe.ca_file) if probe.ca_file is not None else None,
        )
    )
    if isinstance(found, UnknownListing):
        print_note(f"unknown: {found.reason}: {REASON_MEANINGS[found.reason]}")
        document: dict[str, object] = {
            "outcome": "unknown",
            "reason": found.reason.value,
            "detail": found.detail,
            "httpStatus": found.http_status,
        }
    elif id_namespace is not None:
        return Report(_proposed(found, id_namespace), known=True)
    else:
        document = _observed(found, names=names)
    return Report(json.dumps(document, indent=2) + "\n", isinstance(found, Listing))


def _proposed(listing: Listing, id_namespace: str) -> str:
    proposal = propose(listing.definitions, id_namespace)
    if proposal.opaque:
        print_note(
            f"note: {proposal.opaque} ids are digests: the names give none, or one twice; choose others"
        )
    if proposal.unnameable:
        print_note(f"note: {proposal.unnameable} elements have no name that an entry could hold")
    return proposal.text


def _observed(listing: Listing, *, names: bool) -> dict[str, object]:
    return {
        "outcome": "observed",
        "protocolVersion": listing.protocol_version,
        "toolCount": len(listing.definitions),
        "pages": listing.pages,
        "bytes": listing.size,
        "instructionsFlags": sorted(flags_of_text(listing.observed.instructions or "")),
        "tools": [
            {"index": index, **_tool(definition, names=names)}
            for index, definition in enumerate(listing.definitions)
        ],
    }


def _tool(definition: object, *, names: bool) -> dict[str, object]:
    name = definition.get("name") if isinstance(definition, Mapping) else None
    shown: dict[str, object] = {"name": name} if names and isinstance(name, str) else {}
    try:
        if not isinstance(definition, Mapping):
            raise ContractError("definition", "invalid_type")  # noqa: TRY301  # as read_tool says it of others
        return {**shown, **_digests(definition, read_tool(definition))}
    except ContractError as error:
        return {**shown, "malformed": str(error)}


def _digests(definition: Mapping[str, object], parts: ToolParts) -> dict[str, object]:
    return {
        "exact": implementation_id(definition),
        **asdict(parts.digests(rfc8785.dumps)),  # type: ignore[arg-type]  # it checks what it is given
        "sideEffectClass": parts.side_effect_class.value,
        "flags": sorted(flags_of(parts)),
    }


def _headers(path: str) -> dict[str, str]:
    data = load_bytes(path, field="headers", max_bytes=_MAX_HEADER_FILE)
    if len(data) > _MAX_HEADER_FILE:
        raise ContractError("headers", "too_large")
    # Latin-1 knows every byte: what no header may hold is refused where headers are checked.
    headers: dict[str, str] = {}
    for line in data.decode("latin-1").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise ContractError("headers", "invalid_line")
        if name in headers:
            raise ContractError("headers", "repeated_name")
        headers[name] = value.strip(" \t")
    return headers


def _trust(path: str) -> ssl.SSLContext:
    data = load_bytes(path, field="ca", max_bytes=_MAX_CA_FILE)
    context = None
    try:
        context = ssl.create_default_context(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError):
        context = None
    if context is None:
        raise ContractError("ca", "invalid_certificates")
    return context

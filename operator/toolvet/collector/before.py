"""What the objects of a source tell before a look: what it published, what was approved, what waits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from toolvet.collector.writing import check_owned
from toolvet.core.binding import Catalog
from toolvet.core.errors import ContractError
from toolvet.core.source_identity import identify
from toolvet.core.source_look import Look
from toolvet.core.source_memory import SourceMemory, rebuilt
from toolvet.core.tool_account import Components
from toolvet.core.tool_source import ToolSource
from toolvet.kube.client import Object
from toolvet.kube.resources import catalog_from_inventory
from toolvet.mcp.observation import Listing


def published_catalog(inventory: Object | None, source: ToolSource) -> tuple[Catalog | None, str | None]:
    """Return the catalog of the inventory, and why it is not ours to write."""
    if inventory is None:
        return None, None
    try:
        check_owned(inventory, source.name)
    except ContractError as error:
        return None, f"{error.field}_{error.code}"
    try:
        return catalog_from_inventory(inventory), None
    except ContractError:
        return None, None  # it cannot be understood: what we write replaces it


def approved_digest(inventory: Object | None) -> str | None:
    """Return the catalog that was approved last, as the controller says in the inventory's status."""
    found = ((inventory or {}).get("status") or {}).get("lastApproved") or {}
    digest = found.get("catalogDigest")
    return digest if isinstance(digest, str) else None


def rebuilt_memory(
    look: Look, source: ToolSource, stored: Mapping[str, Any], published: Catalog | None
) -> SourceMemory:
    """Return baselines made of the digests that the status has: the definitions themselves are gone."""
    digests = {
        tool["toolId"]: Components(
            tool["fingerprint"], tool.get("contract"), tool.get("hints"), tool.get("rest")
        )
        for tool in stored["tools"]
    }
    exacts = {item.tool.tool_id: item.implementation_id for item in (published.bindings if published else ())}
    return rebuilt(digests, exacts, identify(look.tools, source.mapping, look.server_version).tools)


def needs_history(memory: SourceMemory, look: Look) -> bool:
    """Tell whether a pass needs the history: something was recorded that counts, or there is something to."""
    text = memory.instructions
    if text.change_name is not None or look.instructions != text.latest:
        return True
    now = {name: sight.exact for name, sight in look.tools.items()}
    before = {name: tool.latest_exact for name, tool in memory.tools.items() if tool.present}
    return now != before or any(tool.change_name is not None for tool in memory.tools.values())


def listing_digest(listing: Listing) -> bytes:
    """Return a digest of the listing as it came, so that the same one is not read twice; else nothing."""
    try:
        head = [listing.observed.instructions, listing.server_version, listing.protocol_version]
        return hashlib.sha256(orjson.dumps([head, list(listing.definitions)])).digest()
    except (TypeError, ValueError):
        return b""

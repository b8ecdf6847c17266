"""Look one tool up in a registry that may be anything, and compare it with its record (CONTRACTS 9.2-9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_digest
from toolvet.core.inventory import ToolInventoryRecord
from toolvet.runtime.findings import Reason
from toolvet.runtime.registry import Handler, Implementation, ToolRegistry, has_plain_lookup
from toolvet.runtime.tool_spec import ToolSpec, tool_spec_schema_digest, tool_spec_side_effect_class


@dataclass(frozen=True, slots=True, repr=False)
class Captured:
    """A reviewed tool as it was when captured: its record, runtime name, identity and handler."""

    record: ToolInventoryRecord
    name: str
    identity: str
    handler: Handler

    def __repr__(self) -> str:
        return "Captured(<content-free>)"


def is_registry(registry: object) -> bool:
    """Tell whether this is a registry by kind; an object that raises when asked is none."""
    with suppress(Exception):  # a foreign object's __class__ is its own code
        return isinstance(registry, ToolRegistry)
    return False


def look_up(registry: object, name: str, version: str) -> Implementation | Reason:
    """Return what the registry has of exactly this version, or why it has nothing."""
    if not is_registry(registry):
        return Reason.CATALOG_UNAVAILABLE
    try:
        spec, handler, identity = registry.implementation_binding(name, version)  # type: ignore[attr-defined]  # a registry
    except KeyError:
        return Reason.TOOL_UNAVAILABLE
    except Exception:  # noqa: BLE001  # an overridden lookup may raise anything; the contract names one code
        return Reason.CATALOG_UNAVAILABLE
    if type(spec) is not ToolSpec or not callable(handler) or not is_digest(identity):
        return Reason.CATALOG_UNAVAILABLE
    return spec, handler, identity


def contract_reasons(record: ToolInventoryRecord, spec: ToolSpec) -> tuple[Reason, ...]:
    """Compare a spec with its record; a spec of another version is not compared further."""
    if spec.version != record.version:
        return (Reason.TOOL_UNAVAILABLE,)
    reasons: list[Reason] = []
    try:
        if tool_spec_schema_digest(spec) != record.schema_digest:
            reasons.append(Reason.SCHEMA_CHANGED)
    except ContractError:
        reasons.append(Reason.INVALID_SCHEMA)
    try:
        if tool_spec_side_effect_class(spec) is not record.side_effect_class:
            reasons.append(Reason.SIDE_EFFECT_CHANGED)
    except ContractError:  # hints without a truth value lead to no class, so not to the record's
        reasons.append(Reason.SIDE_EFFECT_CHANGED)
    return tuple(reasons)


def difference(tool: Captured, registry: object) -> tuple[Reason, ...]:
    """Return all that differs between a captured tool and the registry (CONTRACTS 9.5)."""
    found = look_up(registry, tool.name, tool.record.version)
    if isinstance(found, Reason):
        return (found,)
    spec, handler, identity = found
    reasons = contract_reasons(tool.record, spec)
    if identity != tool.identity or handler is not tool.handler:
        reasons = (*reasons, Reason.IMPLEMENTATION_CHANGED)
    return reasons


def plainly_unchanged(tools: Sequence[Captured], registry: object) -> bool:
    """Prove cheaply that nothing differs; False proves nothing and leaves it to the full comparison."""
    if not has_plain_lookup(registry):
        return False
    registered = registry.registrations([(tool.name, tool.record.version) for tool in tools])
    return all(
        found is not None
        and found.handler is tool.handler
        and found.identity == tool.identity
        and found.spec.version == tool.record.version
        and found.contract() == (tool.record.schema_digest, tool.record.side_effect_class)
        for tool, found in zip(tools, registered, strict=True)
    )

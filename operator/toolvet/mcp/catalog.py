"""The catalog of a listed MCP server: raw definitions and a mapping in, content-free bindings out."""

from __future__ import annotations

from collections.abc import Sequence

from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.errors import ContractError
from toolvet.core.inventory import ToolInventoryRecord
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_mapping import ToolIdentity, ToolMapping
from toolvet.mcp.definition import implementation_id, schema_digest, side_effect_class


def catalog_of_definitions(definitions: Sequence[Definition], mapping: ToolMapping) -> Catalog:
    """Return the bindings of all tools; the order of the listing plays no part.

    Raises ContractError at ``tools[INDEX]...`` for the first tool that cannot be recorded.
    """
    identities = mapping.resolve([str(definition["name"]) for definition in definitions])
    bindings = []
    for index, (definition, identity) in enumerate(zip(definitions, identities, strict=True)):
        fault = None
        try:
            bindings.append(_binding(definition, identity))
        except ContractError as error:
            fault = error
        if fault is not None:
            raise fault.under(f"tools[{index}]")
    return Catalog(tuple(bindings))


def _binding(definition: Definition, identity: ToolIdentity) -> ToolBinding:
    record = ToolInventoryRecord(
        tool_id=identity.tool_id,
        version=identity.version,
        capability_class=identity.capability_class,
        side_effect_class=side_effect_class(definition),
        schema_digest=schema_digest(definition),
    )
    return ToolBinding(record, implementation_id(definition))

"""What agent processes import: a registry of their tools, bound to a reviewed catalog."""

from toolvet.core.binding import RunToolCatalogSnapshot, ToolBinding
from toolvet.core.eligibility import CatalogEligibility
from toolvet.core.errors import ContractError, ToolCatalogBindingError, ToolCatalogReviewRequired
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import ToolInventory, ToolInventoryRecord
from toolvet.core.side_effect import SideEffectClass
from toolvet.runtime.catalog import RunToolCatalog
from toolvet.runtime.findings import ToolFinding
from toolvet.runtime.inventory_of import inventory_of
from toolvet.runtime.mcp_session import from_mcp, registry_from_listing
from toolvet.runtime.registry import ToolNotRegisteredError, ToolRegistry
from toolvet.runtime.tool_spec import (
    Stability,
    ToolSpec,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)

__all__ = [
    "CatalogEligibility",
    "ContractError",
    "RunId",
    "RunToolCatalog",
    "RunToolCatalogSnapshot",
    "SideEffectClass",
    "Stability",
    "ToolBinding",
    "ToolCatalogBindingError",
    "ToolCatalogReviewRequired",
    "ToolFinding",
    "ToolInventory",
    "ToolInventoryRecord",
    "ToolNotRegisteredError",
    "ToolRegistry",
    "ToolSpec",
    "from_mcp",
    "inventory_of",
    "registry_from_listing",
    "tool_spec_schema_digest",
    "tool_spec_side_effect_class",
]

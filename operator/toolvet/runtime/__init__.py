"""What agent processes import: their tools bound to a reviewed catalog, and the records they exchange.

Every name that pages of the reference library use is here, so that code coming from there changes its imports
and nothing else (docs/contracts.md).
"""

from toolvet.core.binding import RunToolCatalogSnapshot, ToolBinding
from toolvet.core.call_rules import AccountRules, BlockReason, CallStore
from toolvet.core.catalog_diff import ToolCatalogDiff, diff_tool_catalogs
from toolvet.core.eligibility import CatalogEligibility
from toolvet.core.errors import (
    CallStoreError,
    ContractError,
    OutcomeError,
    RunDiffError,
    RunSummaryError,
    ToolCatalogBindingError,
    ToolCatalogDiffError,
    ToolCatalogReviewRequired,
    ToolInventoryError,
)
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import ToolInventory, ToolInventoryRecord
from toolvet.core.outcome import OutcomeClass, WorkflowOutcome
from toolvet.core.run_diff import RunSummaryDiff, diff_run_summaries
from toolvet.core.run_event import RunEvent
from toolvet.core.run_summary import RunSummary
from toolvet.core.side_effect import SideEffectClass
from toolvet.runtime.call_gate import CallDecision, CallGate, CallVerdict
from toolvet.runtime.catalog import RunToolCatalog
from toolvet.runtime.definition import definition_fingerprint
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
    "AccountRules",
    "BlockReason",
    "CallDecision",
    "CallGate",
    "CallStore",
    "CallStoreError",
    "CallVerdict",
    "CatalogEligibility",
    "ContractError",
    "OutcomeClass",
    "OutcomeError",
    "RunDiffError",
    "RunEvent",
    "RunId",
    "RunSummary",
    "RunSummaryDiff",
    "RunSummaryError",
    "RunToolCatalog",
    "RunToolCatalogSnapshot",
    "SideEffectClass",
    "Stability",
    "ToolBinding",
    "ToolCatalogBindingError",
    "ToolCatalogDiff",
    "ToolCatalogDiffError",
    "ToolCatalogReviewRequired",
    "ToolFinding",
    "ToolInventory",
    "ToolInventoryError",
    "ToolInventoryRecord",
    "ToolNotRegisteredError",
    "ToolRegistry",
    "ToolSpec",
    "WorkflowOutcome",
    "definition_fingerprint",
    "diff_run_summaries",
    "diff_tool_catalogs",
    "from_mcp",
    "inventory_of",
    "registry_from_listing",
    "tool_spec_schema_digest",
    "tool_spec_side_effect_class",
]

"""Write down what an agent may call, as a contract document: ``inventory_document.py > tools.json``."""

import sys

from toolvet.core.tool_contract import schema_digest
from toolvet.runtime import SideEffectClass, ToolInventory, ToolInventoryRecord

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TICKET = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def inventory() -> ToolInventory:
    """Return two tools of a made-up help desk; schemas go in, digests come out."""
    search = ToolInventoryRecord(
        tool_id="tool:example.org/search-articles",
        version="2.1.0",
        capability_class="capability:example.org/help-desk@1.0.0",
        side_effect_class=SideEffectClass.READ_ONLY,
        schema_digest=schema_digest(QUERY, None),
    )
    open_ticket = ToolInventoryRecord(
        tool_id="tool:example.org/open-ticket",
        version="1.0.0",
        capability_class="capability:example.org/help-desk@1.0.0",
        side_effect_class=SideEffectClass.NON_IDEMPOTENT_WRITE,
        schema_digest=schema_digest(TICKET, None),
    )
    return ToolInventory.from_records([search, open_ticket])


if __name__ == "__main__":
    sys.stdout.write(inventory().to_json() + "\n")

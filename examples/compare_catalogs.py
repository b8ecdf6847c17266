"""Compare two inventories and say what differs, without judging it."""

import sys
from dataclasses import replace

from inventory_document import inventory

from toolvet.runtime import SideEffectClass, ToolInventory, diff_tool_catalogs


def main() -> None:
    """Let one tool of the made-up help desk turn destructive, and let another go."""
    reviewed = inventory()
    ticket = replace(reviewed.tools[0], side_effect_class=SideEffectClass.DESTRUCTIVE)
    diff = diff_tool_catalogs(reviewed, ToolInventory.from_records([ticket]))
    # Contract documents do as well as typed inventories, and the order of their records plays no part.
    assert diff == diff_tool_catalogs(reviewed.to_dict(), {**reviewed.to_dict(), "tools": [ticket.to_dict()]})  # noqa: S101
    sys.stdout.write(diff.to_markdown())


if __name__ == "__main__":
    main()

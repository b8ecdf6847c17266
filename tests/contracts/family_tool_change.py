"""Cases of the family tool_change: two definitions of one tool, in the literal reading (CONTRACTS 13)."""

from typing import Any

from toolvet.core.change_reason import Reading
from toolvet.core.tool_change import classify
from toolvet.core.tool_parts import read_tool


def tool_change(case: dict[str, Any]) -> dict[str, Any]:
    before, after = (None if case[side] is None else read_tool(case[side]) for side in ("before", "after"))
    assert after is not None
    return {"result": classify(before, after, Reading.LITERAL).result}

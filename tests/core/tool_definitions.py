"""MCP tool definitions for tests, valid unless a test says otherwise; every text is made up."""

import copy
from typing import Any

from toolvet.core.change_reason import Reading
from toolvet.core.tool_change import ToolChangeVerdict, classify
from toolvet.core.tool_parts import read_tool

Definition = dict[str, Any]

LOOK_UP: Definition = {
    "name": "look_up",
    "title": "Look up",
    "description": "Find rows in a made-up table.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to find."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "mode": {"type": "string", "enum": ["fast", "full", "deep"]},
            "where": {
                "type": "object",
                "properties": {"table": {"type": "string"}},
                "additionalProperties": False,
            },
            "tags": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}}}},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "colour": {"$ref": "#/$defs/Colour"},
        },
        "required": ["query", "limit"],
        "$defs": {
            "Colour": {"type": "string", "description": "A colour to look for."},
            "Unused": {"type": "string"},
        },
    },
    "outputSchema": {"type": "object", "properties": {"rows": {"type": "array"}}},
}


def changed(path: str, value: object = ..., *, of: Definition = LOOK_UP) -> Definition:
    """A copy with the member at the path (segments by ``/``) set, or taken out where no value is given."""
    result = copy.deepcopy(of)
    *parents, last = path.split("/")
    place: Any = result
    for segment in parents:
        place = place[int(segment)] if isinstance(place, list) else place.setdefault(segment, {})
    if isinstance(place, list):
        place[int(last)] = value
    elif value is ...:
        del place[last]
    else:
        place[last] = value
    return result


def verdict(
    before: Definition | None, after: Definition, reading: Reading = Reading.STRICT
) -> ToolChangeVerdict:
    return classify(None if before is None else read_tool(before), read_tool(after), reading)

"""What stands out in a single definition, also at first sight. Real servers have none of it."""

from __future__ import annotations

import re
from typing import Final

from toolvet.core.change_reason import ToolFlag
from toolvet.core.schema_document import declared_types
from toolvet.core.schema_keywords import HEADER, REFERENCES
from toolvet.core.text_flags import conceals, confuses, confuses_name
from toolvet.core.tool_parts import ToolParts

MAX_SHOWN_BYTES: Final = 16 * 1024
"""What is stored of one side of a change for a reviewer to read (CONTRACTS 13)."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PRIMITIVE = frozenset({"string", "boolean", "integer", "fraction"})


def flags_of(tool: ToolParts) -> set[ToolFlag]:
    """Return the flags of one definition by itself."""
    flags: set[ToolFlag] = set()
    if tool.size > MAX_SHOWN_BYTES:
        flags.add(ToolFlag.OVER_16_KIB)
    if confuses_name(tool.name):
        flags.add(ToolFlag.CONFUSABLE_NAME)
    schemas = [tool.input_schema, tool.output_schema]
    flags |= _text_flags([*schemas, tool.annotations, tool.meta, tool.icons, tool.execution, tool.unknown])
    flags |= _text_flags([tool.name, tool.title, tool.annotations_title, tool.description])
    if any(_refers_elsewhere(schema) for schema in schemas):
        flags.add(ToolFlag.REMOTE_REFERENCE)
    if not headers_are_valid(tool.input_schema):
        flags.add(ToolFlag.INVALID_HEADER_MIRRORING)
    return flags


def flags_of_text(text: str) -> set[ToolFlag]:
    """Return the flags of a text that belongs to no tool, such as a server's instructions."""
    return _text_flags([text])


def _text_flags(values: list[object]) -> set[ToolFlag]:
    flags: set[ToolFlag] = set()
    stack = values
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack.extend(value)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, str) and not (value.isascii() and value.isprintable()):
            if conceals(value):
                flags.add(ToolFlag.CONCEALED_TEXT)
            if confuses(value):
                flags.add(ToolFlag.CONFUSABLE)
    return flags


def _refers_elsewhere(schema: object) -> bool:
    stack = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            references = (value.get(keyword) for keyword in REFERENCES)
            # An input may have the name "$ref"; its value is a schema, not a text.
            if any(isinstance(text, str) and not text.startswith("#") for text in references):
                return True
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False


def headers_are_valid(schema: dict[str, object]) -> bool:
    """Tell whether clients can mirror arguments into headers as the schema asks (MCP 2026-07-28).

    The header is a token of RFC 9110, unique whatever its case; the input is primitive and reached through
    ``properties`` alone. A client drops a tool that asks otherwise.
    """
    names: set[str] = set()
    stack: list[tuple[object, bool]] = [(schema, False)]
    while stack:
        value, is_input = stack.pop()
        if isinstance(value, list):
            stack.extend((item, False) for item in value)
        if not isinstance(value, dict):
            continue
        header = value.get(HEADER)
        if HEADER in value and not isinstance(header, dict | bool):
            valid = is_input and isinstance(header, str) and _TOKEN.fullmatch(header) is not None
            if not valid or str(header).lower() in names or not declared_types(value) <= _PRIMITIVE:
                return False
            names.add(str(header).lower())
        through = is_input or value is schema
        for keyword, part in value.items():
            if keyword == "properties" and isinstance(part, dict):
                stack.extend((item, through) for item in part.values())
            else:
                stack.append((part, False))
    return True

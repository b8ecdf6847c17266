"""The JSON Schema of an inventory document: help for authors, never instead of the parser (CONTRACTS 5.5).

Two rules stay with the parser because a schema cannot say them: no two records of one (tool_id, version), and
what a JSON reader already lost, such as a repeated member.
"""

from __future__ import annotations

from toolvet.core.identifiers import (
    DIGEST_LENGTH,
    MAX_IDENTIFIER_LENGTH,
    MAX_NAMESPACE_LENGTH,
    MAX_VERSION_LENGTH,
)
from toolvet.core.inventory import MAX_RECORDS, RECORD_FIELDS, SCHEMA_VERSION
from toolvet.core.side_effect import SideEffectClass

Schema = dict[str, object]

_NUMBER = "(0|[1-9][0-9]*)"
_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = rf"{_LABEL}(\.{_LABEL})+/[a-z][a-z0-9-]{{0,63}}"


def _text(pattern: str, max_length: int, description: str, **more: object) -> Schema:
    # `$` of some engines also matches before a last newline: that newline is ruled out on its own. Look-ahead
    # would do, too, but RE2 has none.
    whole: Schema = {"type": "string", "maxLength": max_length, "pattern": f"^{pattern}$"}
    return whole | {"not": {"pattern": "\\n"}, "description": description} | more


def _identifier(kind: str, version: str, description: str) -> Schema:
    bounded = {"allOf": [{"pattern": f"^{kind}:[^/]{{1,{MAX_NAMESPACE_LENGTH}}}/"}]}
    return _text(f"{kind}:{_NAME}{version}", MAX_IDENTIFIER_LENGTH, description, **bounded)


def _record() -> Schema:
    properties: dict[str, Schema] = {
        "tool_id": _identifier("tool", "", "Canonical tool identifier; the version stands beside it."),
        "version": _text(_VERSION, MAX_VERSION_LENGTH, "Three numbers without leading zeros."),
        "capability_class": _identifier(
            "capability", f"(@{_VERSION})?", "Canonical capability identifier, with or without a version."
        ),
        "side_effect_class": {
            "enum": [str(member) for member in SideEffectClass],
            "description": "What calling the tool may do.",
        },
        "schema_digest": _text(
            "sha256:[0-9a-f]{64}", DIGEST_LENGTH, "Digest of the tool's input and output schemas."
        ),
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(RECORD_FIELDS),
        "properties": {name: properties[name] for name in RECORD_FIELDS},
    }


def tool_inventory_schema() -> Schema:
    """Return the schema, draft 2020-12, self-contained: every reference is local."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Agent tool inventory",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema_version", "tools"],
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "tools": {
                "type": "array",
                "maxItems": MAX_RECORDS,
                "uniqueItems": True,
                "items": {"$ref": "#/$defs/tool_inventory_record"},
            },
        },
        "$defs": {"tool_inventory_record": _record()},
    }

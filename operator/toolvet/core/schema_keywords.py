"""JSON Schema keywords by what a change of them means (2020-12, with what older drafts spelt otherwise)."""

from __future__ import annotations

from typing import Final

BRANCHES: Final = ("anyOf", "oneOf", "allOf")
DEFINITIONS: Final = ("$defs", "definitions")
INPUT_MAPS: Final = ("properties", "patternProperties")
EXTRA_INPUTS: Final = ("additionalProperties", "unevaluatedProperties")
NEGATIONS: Final = ("not", "if")
ELEMENTS: Final = ("items", "additionalItems", "unevaluatedItems", "contentSchema")
"""Schemas of one value whose absence accepts any value there."""
SUBSCHEMAS: Final = (*NEGATIONS, *ELEMENTS, "contains", "propertyNames", "then", "else")
SUBSCHEMA_LISTS: Final = (*BRANCHES, "prefixItems")
SUBSCHEMA_MAPS: Final = (*INPUT_MAPS, *DEFINITIONS, "dependentSchemas", "dependencies")
HEADER: Final = "x-mcp-header"
"""Mirrors an argument into an HTTP header (MCP 2026-07-28, SEP-2243)."""
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
IDENTITY: Final = frozenset(
    {"$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"}
)
CONSTRAINTS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties", "dependentRequired", "readOnly", "writeOnly", "deprecated"),
    }
)
MACHINE_TEXT: Final = frozenset(
    {
        *("type", "$ref", "$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor"),
        *("format", "contentEncoding", "contentMediaType", "pattern"),
    }
)
"""The only keywords whose strings are not wording, as long as they have no blank."""

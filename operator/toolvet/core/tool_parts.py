"""The parts of an MCP tool definition: what the model reads, what it promises, and the rest.

The parts are a private copy: nothing the server or a caller does later can change what was compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolvet.core.canonical import domain_digest
from toolvet.core.errors import ContractError
from toolvet.core.json_identity import private_copy
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.text_flags import EDGE_BLANKS
from toolvet.core.tool_contract import schema_digest
from toolvet.core.tool_definition import Definition, hints, input_schema, output_schema

HINT_DEFAULTS: Final[Mapping[str, bool]] = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What MCP assumes of a tool that does not say (schema of revision 2025-11-25, ToolAnnotations)."""

FINGERPRINT_DOMAIN: Final = "toolvet.dev/mcp-tool-fingerprint.v1"
HINTS_DOMAIN: Final = "toolvet.dev/mcp-tool-hints.v1"
REST_DOMAIN: Final = "toolvet.dev/mcp-tool-rest.v1"
# Versioned, so that another canonical form can never be mistaken for a change of the tool.

_KNOWN = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_REST = ("_meta", "icons", "execution")

CanonicalForm = Callable[[object], bytes]
"""RFC 8785 form of a JSON value; raises ValueError for what that form cannot say."""


@dataclass(frozen=True, slots=True)
class ComponentDigests:
    """One digest for each component, so that noise can be told from change."""

    fingerprint: str
    contract: str
    hints: str
    rest: str


@dataclass(frozen=True, slots=True, repr=False)
class ToolParts:
    """One definition, taken apart; texts are as sent, ``None`` where the member is absent or null."""

    name: str
    title: str | None
    annotations_title: str | None
    description: str | None
    input_schema: dict[str, object]
    output_schema: dict[str, object] | bool | None
    hints: Mapping[str, bool]
    annotations: Mapping[str, object]
    """Members of ``annotations`` that are neither a hint nor the title."""
    meta: object
    icons: object
    execution: object
    unknown: Mapping[str, object]
    """Members of the definition that MCP does not define."""
    size: int
    """Bytes of RFC 8785 form (floats to within a few bytes)."""

    @property
    def displayed_title(self) -> str | None:
        """The title that clients show: ``title``, else the one in the annotations; edges trimmed."""
        return trimmed(self.title) or trimmed(self.annotations_title)

    @property
    def effective_hints(self) -> dict[str, bool]:
        """Every hint, with MCP's default where it is not given."""
        return {**HINT_DEFAULTS, **self.hints}

    @property
    def side_effect_class(self) -> SideEffectClass:
        """The class that follows from the hints (CONTRACTS 3)."""
        return side_effect_class_from_hints(self.hints)

    def fingerprint_value(self) -> dict[str, object]:
        """Return what the model reads: name, displayed title, description, input schema (CONTRACTS 13)."""
        return {
            "name": self.name,
            "title": self.displayed_title,
            "description": trimmed(self.description),
            "inputSchema": self.input_schema,
        }

    def rest_value(self) -> dict[str, object]:
        """Return what stands in no other component."""
        rest = {"_meta": self.meta, "icons": self.icons, "execution": self.execution}
        return {
            "annotations": {**self.annotations, "title": self.annotations_title},
            "unknown": dict(self.unknown),
            **rest,
        }

    def digests(self, canonical: CanonicalForm) -> ComponentDigests:
        """Return the digest of each component; ``contract`` is that of CONTRACTS 8, in its own form.

        ``canonical`` gives RFC 8785 form. Raises ContractError("definition", "not_canonical") for what it
        cannot say, such as an integer beyond 2^53-1.
        """
        parts = (
            (FINGERPRINT_DOMAIN, self.fingerprint_value()),
            (HINTS_DOMAIN, dict(self.hints)),
            (REST_DOMAIN, self.rest_value()),
        )
        digests: list[str] = []
        with suppress(ValueError, TypeError, RecursionError):
            digests.extend(domain_digest(domain, canonical(value)) for domain, value in parts)
        if len(digests) != len(parts):
            raise ContractError("definition", "not_canonical")
        fingerprint, given_hints, rest = digests
        return ComponentDigests(
            fingerprint, schema_digest(self.input_schema, self.output_schema), given_hints, rest
        )


def trimmed(text: str | None) -> str | None:
    """Return the text without JSON's blanks at its edges; an empty one is none."""
    return (text or "").strip(EDGE_BLANKS) or None


def read_tool(definition: Definition) -> ToolParts:
    """Take a definition apart.

    Raises ContractError for what is malformed: ``definition`` with the codes of ``private_copy``; ``name``,
    ``title``, ``description``, ``annotations``, ``annotations.title``, ``input_schema``, ``output_schema``
    with missing, invalid_type or invalid_hint.
    """
    copied, size = private_copy(definition, field="definition")
    if not isinstance(copied, dict):
        raise ContractError("definition", "invalid_type")
    given_hints = hints(copied)  # refuses annotations that are no object
    annotations: dict[str, object] = copied.get("annotations") or {}
    others = {name: value for name, value in annotations.items() if name not in HINT_DEFAULTS}
    title = _text(others.pop("title", None), "annotations.title")
    return ToolParts(
        name=_name(copied.get("name")),
        title=_text(copied.get("title"), "title"),
        annotations_title=title,
        description=_text(copied.get("description"), "description"),
        input_schema=input_schema(copied),
        output_schema=output_schema(copied),
        hints=given_hints,
        annotations=others,
        meta=copied.get("_meta"),
        icons=copied.get("icons"),
        execution=copied.get("execution"),
        unknown={name: value for name, value in copied.items() if name not in _KNOWN + _REST},
        size=size,
    )


def _name(value: object) -> str:
    if value is None:
        raise ContractError("name", "missing")
    if not isinstance(value, str) or not value:
        raise ContractError("name", "invalid_type")
    return value


def _text(value: object, field: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ContractError(field, "invalid_type")
    return value

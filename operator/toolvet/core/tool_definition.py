"""What one element of ``tools/list`` says, read exactly: name, schemas, hints; nothing is coerced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolvet.core.errors import ContractError

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

Definition = Mapping[str, object]
"""One element of ``tools/list``, as sent."""


def tool_name(item: object, index: int, known: set[str]) -> str:
    """Return the name of the tool at ``index`` of a listing and add it to the names already ``known``.

    Raises ContractError: ``tools[INDEX]: invalid_type`` for what is no object, and
    ``tools[INDEX].name`` with missing, invalid_type or duplicate_tool_name.
    """
    place = f"tools[{index}]"
    if not isinstance(item, Mapping):
        raise ContractError(place, "invalid_type")
    name = item.get("name")
    if name is None:
        raise ContractError(f"{place}.name", "missing")
    if not isinstance(name, str) or not name:
        raise ContractError(f"{place}.name", "invalid_type")
    if name in known:
        # The protocol only advises unique names; which of two definitions an agent calls is anybody's guess.
        raise ContractError(f"{place}.name", "duplicate_tool_name")
    known.add(name)
    return name


def input_schema(definition: Definition) -> dict[str, object]:
    """Return the input schema; raises ContractError for ``input_schema``: missing, invalid_type."""
    schema = definition.get("inputSchema")
    if schema is None:
        raise ContractError("input_schema", "missing")
    if not isinstance(schema, dict):
        raise ContractError("input_schema", "invalid_type")
    return schema


def output_schema(definition: Definition) -> dict[str, object] | bool | None:
    """Return the output schema, None where there is none; ContractError for ``output_schema``: invalid_type.

    A schema is an object or a boolean (JSON Schema 2020-12, 4.3).
    """
    schema = definition.get("outputSchema")
    if schema is not None and not isinstance(schema, dict | bool):
        raise ContractError("output_schema", "invalid_type")
    return schema


def hints(definition: Definition) -> dict[str, bool]:
    """Return the hints that are given, by MCP's names; one set to null is an absent one (CONTRACTS 15.4).

    ``readOnlyHint`` and ``destructiveHint`` may both be true: MCP gives the latter no meaning then, and SDKs
    that write every default out send it so. Raises ContractError("annotations", code): invalid_type, or
    invalid_hint for a hint that is not a boolean.
    """
    annotations = definition.get("annotations")
    if annotations is None:
        return {}
    if not isinstance(annotations, Mapping):
        raise ContractError("annotations", "invalid_type")
    found = {name: annotations[name] for name in _HINTS if annotations.get(name) is not None}
    if not all(isinstance(value, bool) for value in found.values()):
        raise ContractError("annotations", "invalid_hint")
    return found

"""What an MCP tool definition says about itself: its identity, schemas and side-effect class."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import rfc8785

from toolvet.core.canonical import domain_digest
from toolvet.core.errors import ContractError
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.tool_contract import schema_digest as contract_schema_digest
from toolvet.core.tool_definition import hints, input_schema, output_schema

IMPLEMENTATION_DOMAIN = "toolvet.dev/mcp-tool-definition.v1"
"""Versioned, so that another canonical form can never be mistaken for a change of the tool."""


def implementation_id(definition: Mapping[str, object]) -> str:
    """Return the digest of the whole definition in RFC 8785 form, members unknown to us included.

    Raises ContractError("definition", "not_canonical") for what that form cannot say: integers beyond
    2^53-1, non-finite numbers, lone surrogates.
    """
    data = None
    # ValueError covers CanonicalizationError and the encoding error of a lone surrogate in a key.
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        data = rfc8785.dumps(dict(definition))  # type: ignore[arg-type]  # checked by the writer itself
    if data is None:
        raise ContractError("definition", "not_canonical")
    return domain_digest(IMPLEMENTATION_DOMAIN, data)


def schema_digest(definition: Mapping[str, object]) -> str:
    """Return the contract's digest over both schemas; an absent output schema is JSON null (CONTRACTS 15.6).

    Raises ContractError for ``input_schema`` (missing, invalid_type) and ``output_schema`` (invalid_type).
    """
    return contract_schema_digest(input_schema(definition), output_schema(definition))


def side_effect_class(definition: Mapping[str, object]) -> SideEffectClass:
    """Derive the class from the annotations, with MCP's order and defaults (CONTRACTS 3, 15.4).

    Raises ContractError("annotations", code) as ``core.tool_definition.hints``.
    """
    return side_effect_class_from_hints(hints(definition))

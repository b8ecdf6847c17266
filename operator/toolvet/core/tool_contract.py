"""The schema digest of a tool: what it takes and what it gives (CONTRACTS 8)."""

from __future__ import annotations

from contextlib import suppress

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.errors import ToolCatalogBindingError

_DOMAIN = "openmed.agent.tool-contract.v1"


def schema_object(schema: object) -> dict[object, object]:
    """Take a schema as the reference's tool spec does: a mapping, or an array of pairs (CONTRACTS 4).

    Raises ToolCatalogBindingError("invalid_schema") for anything else, where the reference lets a plain
    exception escape.
    """
    members: dict[object, object] | None = None
    with suppress(TypeError, ValueError):
        members = dict(schema)  # type: ignore[call-overload]  # what does not fit raises
    if members is None:
        raise ToolCatalogBindingError("invalid_schema")
    return members


def schema_digest(input_schema: object, output_schema: object | None) -> str:
    """Return the digest over both schemas in full, every annotation keyword included.

    An absent output schema is JSON null in the preimage and so differs from an empty one; that is our
    extension (CONTRACTS 15.6). Raises ToolCatalogBindingError("invalid_schema").
    """
    text = None
    with suppress(TypeError, ValueError, RecursionError):
        text = canonical_json({"input_schema": input_schema, "output_schema": output_schema})
    if text is None:
        raise ToolCatalogBindingError("invalid_schema")
    return domain_digest(_DOMAIN, text.encode("ascii"))

"""The declaration of one tool that an agent process can run (CONTRACTS 3, 4, 8)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from toolvet.core.errors import ContractError, ToolCatalogBindingError
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.tool_contract import schema_digest, schema_object

_NUMBER = r"(?:0|[1-9][0-9]*)"
_SUFFIX = r"[0-9A-Za-z.-]+"
# Looser than an inventory's: a pre-release can be registered, though never inventoried. A trailing newline
# and Unicode digits, which the reference lets pass, are refused.
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_SUFFIX})?(?:\+{_SUFFIX})?")


class Stability(StrEnum):
    """How settled a tool is, by its author's word."""

    EXPERIMENTAL = "experimental"
    STABLE = "stable"
    DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True, repr=False)
class ToolSpec:
    """One tool, its schemas and its hints; the hints have MCP's defaults (CONTRACTS 3).

    Both schemas are JSON objects and copied in depth. An ``output_schema`` of None says that the tool
    declares none, which the reference cannot express; it differs from an empty one. Raises ContractError
    for a wrong type or version, and ToolCatalogBindingError("invalid_schema").
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    version: str = "1.0.0"
    stability: str = "stable"
    parameters: Iterable[object] = ()
    title: str = ""
    read_only_hint: bool = False
    destructive_hint: bool = True
    idempotent_hint: bool = False
    open_world_hint: bool = True
    plugin_id: str = ""
    plugin_component_id: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "description", "version", "title", "plugin_id", "plugin_component_id"):
            if type(getattr(self, field)) is not str:
                raise ContractError(field, "invalid_type")
        if _VERSION.fullmatch(self.version) is None:
            raise ContractError("version", "invalid_semver")
        if not isinstance(self.stability, str) or self.stability not in set(Stability):
            raise ContractError("stability", "invalid_stability")
        if bool(self.plugin_id) != bool(self.plugin_component_id):
            raise ContractError("plugin_id", "incomplete_provenance")
        object.__setattr__(self, "input_schema", _copied(self.input_schema, "input_schema"))
        if self.output_schema is not None:
            object.__setattr__(self, "output_schema", _copied(self.output_schema, "output_schema"))
        object.__setattr__(self, "parameters", _listed(self.parameters))

    def __repr__(self) -> str:
        return "ToolSpec(<content-free>)"


def _copied(schema: object, field: str) -> dict[object, object]:
    copied = None
    with suppress(Exception):  # copying runs the caller's code, which may raise anything
        copied = deepcopy(schema_object(schema))
    if copied is None:
        raise ToolCatalogBindingError("invalid_schema", [ContractError(field, "invalid_schema")])
    return copied


def _listed(parameters: Iterable[object]) -> tuple[object, ...]:
    listed = None
    with suppress(Exception):  # the iterable is the caller's code, which may raise anything
        listed = tuple(parameters)
    if listed is None:
        raise ContractError("parameters", "invalid_type")
    return listed


def tool_spec_schema_digest(spec: ToolSpec) -> str:
    """Return the digest over both schemas of a spec (CONTRACTS 8).

    Raises ToolCatalogBindingError("invalid_schema") for what is no spec or cannot be written as JSON.
    """
    digest = None
    with suppress(Exception):  # a dict's subclass inside a schema may raise anything
        if isinstance(spec, ToolSpec):
            digest = schema_digest(spec.input_schema, spec.output_schema)
    if digest is None:
        raise ToolCatalogBindingError("invalid_schema")
    return digest


def tool_spec_side_effect_class(spec: ToolSpec) -> SideEffectClass:
    """Derive the side-effect class from the hints of a spec; never ``none`` (CONTRACTS 3).

    Raises ContractError for what is no spec, and for a hint that has no truth value.
    """
    derived = None
    with suppress(Exception):  # the truth value of a foreign object may raise anything
        if isinstance(spec, ToolSpec):
            derived = side_effect_class_from_hints(
                {
                    "readOnlyHint": spec.read_only_hint,
                    "destructiveHint": spec.destructive_hint,
                    "idempotentHint": spec.idempotent_hint,
                }
            )
    if derived is None:
        raise ContractError("spec", "invalid_type")
    return derived

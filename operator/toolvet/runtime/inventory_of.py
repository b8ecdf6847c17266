"""The contract inventory of a registry, and the names that a capture asks for beside it."""

from __future__ import annotations

from collections.abc import Mapping

from toolvet.core.errors import ContractError
from toolvet.core.inventory import Key, ToolInventory, ToolInventoryRecord
from toolvet.runtime.registry import ToolRegistry
from toolvet.runtime.tool_spec import ToolSpec, tool_spec_schema_digest, tool_spec_side_effect_class

_IDENTITY_LENGTH = 2


def inventory_of(
    registry: ToolRegistry, identities: Mapping[str, tuple[str, str]]
) -> tuple[ToolInventory, dict[Key, str]]:
    """Return the inventory of the tools that ``identities`` names, and their runtime names by key.

    ``identities`` maps a runtime name to its tool id (without a version) and its capability. Every
    registered version of the name becomes a record, with the class derived from the spec's hints, never
    ``none``. Tools that are not named stay out, and a catalog captured from the result cannot run them.

    Raises ContractError: ``registry: invalid_type``, ``identities: invalid_type``, and
    ``identities[INDEX]`` with stale_entry for a name that is not registered, invalid_type, invalid_schema,
    ``hints`` invalid_hint, ``tool_id`` invalid_identifier, version_must_be_separate or collision,
    ``capability_class`` invalid_identifier, or ``version`` invalid_semver for a registered pre-release.
    """
    if not isinstance(registry, ToolRegistry):
        raise ContractError("registry", "invalid_type")
    if not isinstance(identities, Mapping):
        raise ContractError("identities", "invalid_type")
    specs: dict[str, list[ToolSpec]] = {}
    for spec in registry.all_specs():
        specs.setdefault(spec.name, []).append(spec)
    records: list[ToolInventoryRecord] = []
    names: dict[Key, str] = {}
    for index, (name, identity) in enumerate(identities.items()):
        fault = None
        try:
            found = _records(specs.get(name), identity)
        except ContractError as error:
            fault = error
        if fault is not None:
            raise fault.under(f"identities[{index}]")
        for record in found:
            if record.key in names:
                raise ContractError(f"identities[{index}].tool_id", "collision")
            names[record.key] = name
            records.append(record)
    return ToolInventory.from_records(records), names


def record_of(spec: ToolSpec, tool_id: str, capability_class: str) -> ToolInventoryRecord:
    """Return the record of one spec: its version, schema digest and derived class under these ids.

    Raises ToolInventoryError for an id or version, ToolCatalogBindingError("invalid_schema"), and
    ContractError("hints", "invalid_hint") for one that is no boolean, where the derivation would take any
    text for true.
    """
    if not all(
        isinstance(hint, bool) for hint in (spec.read_only_hint, spec.destructive_hint, spec.idempotent_hint)
    ):
        raise ContractError("hints", "invalid_hint")
    return ToolInventoryRecord(
        tool_id=tool_id,
        version=spec.version,
        capability_class=capability_class,
        side_effect_class=tool_spec_side_effect_class(spec),
        schema_digest=tool_spec_schema_digest(spec),
    )


def _records(specs: list[ToolSpec] | None, identity: object) -> list[ToolInventoryRecord]:
    if specs is None:
        raise ContractError("", "stale_entry")
    if not isinstance(identity, tuple) or len(identity) != _IDENTITY_LENGTH:
        raise ContractError("", "invalid_type")
    return [record_of(spec, *identity) for spec in specs]

"""A tool bound to what runs it, the live catalog, and the snapshot of one (CONTRACTS 9.1, 9.9).

Two digests stand over the same bindings. The snapshot digest is the contract's and holds the run id, so
that an approval cannot be copied to another snapshot. The catalog digest is ours and leaves the run id
out, so that a live catalog and a snapshot have the same one exactly when nothing differs between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.errors import MAX_FAULTS, ContractError, ToolCatalogBindingError
from toolvet.core.identifiers import RunId, is_digest
from toolvet.core.inventory import (
    MAX_RECORDS,
    Key,
    ToolInventory,
    ToolInventoryRecord,
    exact_fields,
)

BINDING_SCHEMA_VERSION = "openmed.agent.tool_catalog_binding.v1"
_SNAPSHOT_DOMAIN = "openmed.agent.run-tool-catalog.v1"
_CATALOG_DOMAIN = "toolvet.dev/tool-catalog.v1"
_INVENTORY_DOMAIN = "toolvet.dev/tool-inventory.v1"
_SNAPSHOT_KEYS = frozenset({"schema_version", "run_id", "bindings"})
_BINDING_KEYS = frozenset({"tool", "implementation_id"})


@dataclass(frozen=True, slots=True, repr=False)
class ToolBinding:
    """An inventory record and the identity of the implementation behind it (a digest)."""

    tool: ToolInventoryRecord
    implementation_id: str

    def __post_init__(self) -> None:
        if type(self.tool) is not ToolInventoryRecord or not is_digest(self.implementation_id):
            raise ToolCatalogBindingError("invalid_bindings")

    def __repr__(self) -> str:
        return "ToolBinding(<content-free>)"

    @property
    def key(self) -> Key:
        """The (tool_id, version) of the tool."""
        return self.tool.key

    def to_dict(self) -> dict[str, object]:
        """Return the dict form."""
        return {"tool": self.tool.to_dict(), "implementation_id": self.implementation_id}

    def to_json(self) -> str:
        """Return canonical JSON: members by name, and no digest has what JSON would escape."""
        return f'{{"implementation_id":"{self.implementation_id}","tool":{self.tool.to_json()}}}'


def _sorted_bindings(bindings: tuple[ToolBinding, ...]) -> tuple[ToolBinding, ...]:
    if len(bindings) > MAX_RECORDS or any(type(binding) is not ToolBinding for binding in bindings):
        raise ToolCatalogBindingError("invalid_bindings")
    if len({binding.key for binding in bindings}) != len(bindings):
        raise ToolCatalogBindingError("invalid_bindings")
    return tuple(sorted(bindings, key=lambda binding: binding.tool.sort_key))


@dataclass(frozen=True, repr=False)
class Catalog:
    """What an agent may call, and what runs it: sorted bindings without two of one key."""

    bindings: tuple[ToolBinding, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "bindings", _sorted_bindings(self.bindings))

    @cached_property
    def digest(self) -> str:
        """The catalog digest: equal for two catalogs exactly when no difference exists between them."""
        return domain_digest(_CATALOG_DOMAIN, self.text.encode("ascii"))

    @cached_property
    def text(self) -> str:
        """The bindings as canonical JSON: nearly all that either digest is made of, written once."""
        return f"[{','.join([binding.to_json() for binding in self.bindings])}]"

    def __repr__(self) -> str:
        return f"Catalog(tool_count={len(self.bindings)})"

    @property
    def inventory(self) -> ToolInventory:
        """The records alone, as a contract inventory."""
        return ToolInventory.from_records(binding.tool for binding in self.bindings)

    @property
    def inventory_digest(self) -> str:
        """Digest of the contract document of the records, under our own domain."""
        return domain_digest(_INVENTORY_DOMAIN, self.inventory.to_json().encode("ascii"))


@dataclass(frozen=True, repr=False)
class LiveCatalog(Catalog):
    """What an agent may call now, and from which catalogs that is said to differ by minor changes only."""

    minor_change_of: tuple[str, ...] = ()
    """Catalog digests, as the inventory lists them. No part of the catalog's own digest."""
    observed_until: datetime | None = None
    """When it stops to be known what a live server serves; None where the catalog comes from no server."""

    def __repr__(self) -> str:
        return f"LiveCatalog(tool_count={len(self.bindings)}, minor_change_of={len(self.minor_change_of)})"


@dataclass(frozen=True, repr=False)
class RunToolCatalogSnapshot:
    """Immutable evidence of one catalog for one run."""

    run_id: RunId
    bindings: tuple[ToolBinding, ...]
    schema_version: str = BINDING_SCHEMA_VERSION

    def __post_init__(self) -> None:
        if type(self.run_id) is not RunId or self.schema_version != BINDING_SCHEMA_VERSION:
            raise ToolCatalogBindingError("invalid_snapshot")
        if type(self.bindings) is not tuple or any(type(item) is not ToolBinding for item in self.bindings):
            raise ToolCatalogBindingError("invalid_snapshot")
        object.__setattr__(self, "bindings", _sorted_bindings(self.bindings))

    def __repr__(self) -> str:
        return f"RunToolCatalogSnapshot(tool_count={len(self.bindings)})"

    @cached_property
    def digest(self) -> str:
        """The contract's snapshot digest; the run id is part of it (CONTRACTS 9.1)."""
        return domain_digest(_SNAPSHOT_DOMAIN, self.to_json().encode("ascii"))

    @cached_property
    def catalog(self) -> Catalog:
        """The same bindings without the run id."""
        return Catalog(self.bindings)

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order."""
        return {
            "schema_version": self.schema_version,
            "run_id": str(self.run_id),
            "bindings": [binding.to_dict() for binding in self.bindings],
        }

    def to_json(self) -> str:
        """Return canonical JSON without a newline."""
        # The member "bindings" sorts before the others (CONTRACTS 1.3).
        rest = canonical_json({"run_id": str(self.run_id), "schema_version": self.schema_version})
        return f'{{"bindings":{self.catalog.text},{rest[1:]}'

    @classmethod
    def of(cls, run_id: RunId, catalog: Catalog) -> RunToolCatalogSnapshot:
        """Take the evidence of a catalog; what was made of its bindings is not made again."""
        snapshot = cls(run_id, catalog.bindings)
        snapshot.__dict__["catalog"] = catalog  # the cached property would make an equal one
        return snapshot

    @classmethod
    def from_dict(cls, document: object) -> RunToolCatalogSnapshot:
        """Parse evidence; every fault at any level is the one code invalid_snapshot (CONTRACTS 9.9).

        The error's ``faults`` say where, such as ``bindings[3].tool.version: invalid_semver``.
        """
        faults: list[ContractError]
        try:
            return cls._parse(document)
        except _EvidenceError as error:
            faults = error.found
        except ContractError as error:
            faults = [error.under("bindings") if isinstance(error, ToolCatalogBindingError) else error]
        raise ToolCatalogBindingError("invalid_snapshot", faults)

    @classmethod
    def _parse(cls, document: object) -> RunToolCatalogSnapshot:
        fields = _members(document, _SNAPSHOT_KEYS, "snapshot")
        if fields["schema_version"] != BINDING_SCHEMA_VERSION:
            raise ContractError("schema_version", "unsupported_version")
        run_id = RunId(fields["run_id"])  # type: ignore[arg-type]  # checked there
        listed = fields["bindings"]
        if type(listed) is not list or len(listed) > MAX_RECORDS:
            raise ContractError("bindings", "invalid_bindings")
        bindings: list[ToolBinding] = []
        faults: list[ContractError] = []
        for index, item in enumerate(listed):
            try:
                bindings.append(_binding(item))
            except ContractError as error:
                faults.append(error.under(f"bindings[{index}]"))
                if len(faults) == MAX_FAULTS:
                    break
        if faults:
            raise _EvidenceError(faults)
        return cls(run_id, tuple(bindings))


class _EvidenceError(Exception):
    """The bindings at fault; only on its way to the contract's one code."""

    def __init__(self, found: list[ContractError]) -> None:
        super().__init__()
        self.found = found


def _binding(item: object) -> ToolBinding:
    fields = _members(item, _BINDING_KEYS, "")
    fault: ContractError
    try:
        record = ToolInventoryRecord.from_dict(fields["tool"])
    except ContractError as error:
        # A fault of the record as a whole has the field `tool` already.
        fault = error if error.field == "tool" else error.under("tool")
    else:
        if not is_digest(fields["implementation_id"]):
            raise ContractError("implementation_id", "invalid_digest")
        return ToolBinding(record, fields["implementation_id"])
    raise fault


def _members(document: object, keys: frozenset[str], place: str) -> dict[str, object]:
    if not isinstance(document, Mapping):
        raise ContractError(place, "invalid_type")
    fields = exact_fields(document, keys)
    if not fields:
        raise ContractError(place, "invalid_fields")
    return fields


def catalog_of(bindings: Iterable[ToolBinding]) -> Catalog:
    """Build a catalog from bindings in any order."""
    return Catalog(tuple(bindings))

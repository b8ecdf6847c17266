"""What changed between two inventories, without judging it (CONTRACTS 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toolvet.core.canonical import canonical_json
from toolvet.core.errors import ToolCatalogDiffError, ToolInventoryError
from toolvet.core.identifiers import version_key
from toolvet.core.inventory import (
    ToolInventory,
    ToolInventoryRecord,
    check_capability_class,
    check_schema_digest,
    check_tool_id,
    check_version,
    parse_side_effect_class,
)
from toolvet.core.markdown import catalog_diff_markdown

DIFF_SCHEMA_VERSION = "openmed.agent.tool_catalog_diff.v1"
_CHECKS: dict[str, Callable[[object], object]] = {
    "capability_class": check_capability_class,
    "side_effect_class": parse_side_effect_class,
    "schema_digest": check_schema_digest,
}
COMPARED_FIELDS = tuple(_CHECKS)
"""In the order in which a change lists them."""


def _check(check: Callable[[object], object], value: object, field: str) -> None:
    code = None
    try:
        check(value)
    except ToolInventoryError as error:
        code = error.code
    if code is not None:
        raise ToolCatalogDiffError(field, code)


def _all_of(kind: type, items: object) -> bool:
    return type(items) is tuple and all(type(item) is kind for item in items)


@dataclass(frozen=True, slots=True)
class ToolCatalogFieldChange:
    """One compared field of one tool, before and after."""

    field: str
    before: str
    after: str

    def __post_init__(self) -> None:
        check = _CHECKS.get(self.field) if type(self.field) is str else None
        if check is None:
            raise ToolCatalogDiffError("change.field", "invalid_field")
        _check(check, self.before, "change.before")
        _check(check, self.after, "change.after")
        if self.before == self.after:
            raise ToolCatalogDiffError("change", "unchanged_value")

    def to_dict(self) -> dict[str, str]:
        """Return the dict form."""
        return {"field": self.field, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class ToolCatalogChange:
    """A tool in both inventories whose record differs."""

    tool_id: str
    version: str
    fields: tuple[ToolCatalogFieldChange, ...]

    def __post_init__(self) -> None:
        _check(check_tool_id, self.tool_id, "change.tool_id")
        _check(check_version, self.version, "change.version")
        if not _all_of(ToolCatalogFieldChange, self.fields) or not self.fields:
            raise ToolCatalogDiffError("change.fields", "invalid_fields")
        places = [COMPARED_FIELDS.index(change.field) for change in self.fields]
        if any(first >= second for first, second in pairwise(places)):
            raise ToolCatalogDiffError("change.fields", "invalid_fields")

    @property
    def sort_key(self) -> tuple[str, tuple[int, int, int]]:
        """Order of CONTRACTS 5.3."""
        return self.tool_id, version_key(self.version)

    def to_dict(self) -> dict[str, object]:
        """Return the dict form."""
        fields = [change.to_dict() for change in self.fields]
        return {"tool_id": self.tool_id, "version": self.version, "fields": fields}


@dataclass(frozen=True, slots=True, repr=False)
class ToolCatalogDiff:
    """Added, removed, changed and unchanged tools, each in the order of CONTRACTS 5.3."""

    added: tuple[ToolInventoryRecord, ...]
    removed: tuple[ToolInventoryRecord, ...]
    changed: tuple[ToolCatalogChange, ...]
    unchanged: tuple[ToolInventoryRecord, ...]
    schema_version: str = DIFF_SCHEMA_VERSION

    def __post_init__(self) -> None:
        """Check types and nothing else: lists that were not made by a comparison keep their order."""
        if self.schema_version != DIFF_SCHEMA_VERSION:
            raise ToolCatalogDiffError("schema_version", "unsupported_version")
        for name in ("added", "removed", "unchanged"):
            if not _all_of(ToolInventoryRecord, getattr(self, name)):
                raise ToolCatalogDiffError(name, "invalid_records")
        if not _all_of(ToolCatalogChange, self.changed):
            raise ToolCatalogDiffError("changed", "invalid_changes")

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self.counts.items())
        return f"ToolCatalogDiff({counts})"

    @property
    def counts(self) -> dict[str, int]:
        """How many tools each group has."""
        return {name: len(entries) for name, entries in self._groups.items()}

    @property
    def _groups(self) -> dict[str, Sequence[ToolInventoryRecord] | Sequence[ToolCatalogChange]]:
        return {
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "unchanged": self.unchanged,
        }

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was added, removed or changed."""
        return not (self.added or self.removed or self.changed)

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order (CONTRACTS 7.2)."""
        groups = {name: [entry.to_dict() for entry in entries] for name, entries in self._groups.items()}
        return {"schema_version": self.schema_version, **groups}

    def to_json(self) -> str:
        """Return canonical JSON without a newline."""
        return canonical_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return the Markdown of CONTRACTS 7.3."""
        return catalog_diff_markdown(self.schema_version, self._groups)


def diff_tool_catalogs(baseline: object, candidate: object) -> ToolCatalogDiff:
    """Compare two inventories, each typed or a contract document.

    Raises ToolCatalogDiffError, the baseline's fault before the candidate's (CONTRACTS 7.4).
    """
    before = {record.key: record for record in _inventory(baseline, "baseline").tools}
    after = {record.key: record for record in _inventory(candidate, "candidate").tools}
    # Both sides are sorted already, and dictionaries keep that order.
    added: list[ToolInventoryRecord] = []
    changed: list[ToolCatalogChange] = []
    unchanged: list[ToolInventoryRecord] = []
    for key, new in after.items():
        old = before.get(key)
        if old is None:
            added.append(new)
        elif old == new:
            unchanged.append(new)
        else:
            changed.append(_change(old, new))
    removed = [record for key, record in before.items() if key not in after]
    return ToolCatalogDiff(tuple(added), tuple(removed), tuple(changed), tuple(unchanged))


def _inventory(source: object, name: str) -> ToolInventory:
    if isinstance(source, ToolInventory):
        return source
    if not isinstance(source, Mapping):
        raise ToolCatalogDiffError(name, "invalid_type")
    fault: ToolInventoryError | None
    try:
        return ToolInventory.from_dict(source)
    except ToolInventoryError as error:
        fault = error
    raise ToolCatalogDiffError(f"{name}.{fault.field}", fault.code, [one.under(name) for one in fault.faults])


def _change(old: ToolInventoryRecord, new: ToolInventoryRecord) -> ToolCatalogChange:
    fields = tuple(
        ToolCatalogFieldChange(field, str(before), str(after))
        for field in COMPARED_FIELDS
        if (before := getattr(old, field)) != (after := getattr(new, field))
    )
    return ToolCatalogChange(new.tool_id, new.version, fields)

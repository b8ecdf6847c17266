"""``toolvet catalog diff``: read two documents, compare records and implementations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolvet.cli.documents import load_document
from toolvet.core.binding import Catalog
from toolvet.core.catalog_diff import ToolCatalogDiff, diff_tool_catalogs
from toolvet.core.errors import ContractError
from toolvet.core.inventory import ToolInventory
from toolvet.kube.names import API_VERSION
from toolvet.kube.resources import catalog_from_inventory, catalog_from_snapshot

_READERS = {"ToolInventory": catalog_from_inventory, "RunToolCatalogSnapshot": catalog_from_snapshot}


@dataclass(frozen=True, slots=True)
class ImplementationChange:
    """A tool in both catalogs that something else runs now."""

    tool_id: str
    version: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The contract's diff, and the implementations where both sides state them."""

    records: ToolCatalogDiff
    implementations: tuple[ImplementationChange, ...]

    @property
    def differs(self) -> bool:
        """Tell whether anything at all is different."""
        return not self.records.is_empty or bool(self.implementations)

    @property
    def implementations_changed(self) -> int:
        """How many tools have another implementation."""
        return len(self.implementations)

    @property
    def json_text(self) -> str:
        """The contract's diff document and one newline."""
        return self.records.to_json() + "\n"

    @property
    def text(self) -> str:
        """The contract's Markdown, and a section of ours below it when implementations differ."""
        if not self.implementations:
            return self.records.to_markdown()
        rows = [
            f"| `{change.tool_id}` | `{change.version}` | `{change.before}` | `{change.after}` |"
            for change in self.implementations
        ]
        head = [
            "## Implementations",
            "",
            "| Tool ID | Version | Baseline | Candidate |",
            "| --- | --- | --- | --- |",
        ]
        return self.records.to_markdown() + "\n".join([*head, *rows]) + "\n\n"


def compare(baseline: str, candidate: str) -> Comparison:
    """Compare two documents by path; raises ContractError at ``baseline`` or ``candidate``."""
    if baseline == candidate == "-":
        raise ContractError("candidate", "standard_input_twice")
    before = _load(baseline, "baseline")
    return compare_catalogs(before, _load(candidate, "candidate"))


def compare_catalogs(before: ToolInventory | Catalog, after: ToolInventory | Catalog) -> Comparison:
    """Compare records, and implementations where both sides state them."""
    return Comparison(diff_tool_catalogs(_records(before), _records(after)), _implementations(before, after))


def _load(path: str, side: str) -> ToolInventory | Catalog:
    document = load_document(path, field=side)
    if not isinstance(document, Mapping):
        raise ContractError(side, "unknown_document")
    fault: ContractError
    try:
        return _parse(document, side)
    except ContractError as error:
        fault = error
    raise fault if fault.field_name == side else fault.under(side)


def _parse(document: Mapping[str, object], side: str) -> ToolInventory | Catalog:
    if "schema_version" in document:
        return ToolInventory.from_dict(document)
    kind = document.get("kind")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None or document.get("apiVersion") != API_VERSION:
        raise ContractError(side, "unknown_document")
    return reader(document)


def _records(catalog: ToolInventory | Catalog) -> ToolInventory:
    return catalog.inventory if isinstance(catalog, Catalog) else catalog


def _implementations(
    before: ToolInventory | Catalog, after: ToolInventory | Catalog
) -> tuple[ImplementationChange, ...]:
    if not isinstance(before, Catalog) or not isinstance(after, Catalog):
        return ()
    known = {binding.key: binding.implementation_id for binding in before.bindings}
    return tuple(
        ImplementationChange(*binding.key, known[binding.key], binding.implementation_id)
        for binding in after.bindings
        if binding.key in known and known[binding.key] != binding.implementation_id
    )

"""How tools get their canonical ids on the command line: a mapping file, and flags before its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from toolvet.cli.documents import load_document
from toolvet.core.tool_mapping import ToolMapping, parse_mapping


@dataclass(frozen=True, slots=True)
class Flags:
    """Defaults given on the command line."""

    id_namespace: str | None
    version: str | None
    capability_class: str | None

    def over(self, path: str | None) -> ToolMapping:
        """Return the mapping of a file, or an empty one, under these defaults."""
        mapping = ToolMapping() if path is None else parse_mapping(load_document(path, field="mapping"))
        return mapping.with_defaults(
            id_namespace=self.id_namespace, version=self.version, capability_class=self.capability_class
        )

"""Markdown of inventories and catalog diffs, to the byte (CONTRACTS 5.4, 7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_RECORD_COLUMNS = ("Tool ID", "Version", "Capability class", "Side-effect class", "Schema digest")
_RECORD_FIELDS = ("tool_id", "version", "capability_class", "side_effect_class", "schema_digest")
_CHANGE_COLUMNS = ("Tool ID", "Version", "Field", "Baseline", "Candidate")
_GROUPS = ("added", "removed", "changed", "unchanged")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    lines += [f"| {' | '.join(f'`{value}`' for value in row)} |" for row in rows]
    return lines


def _record_rows(records: list[dict[str, str]]) -> list[list[str]]:
    return [[record[field] for field in _RECORD_FIELDS] for record in records]


def _change_rows(changes: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [change["tool_id"], change["version"], field["field"], field["before"], field["after"]]
        for change in changes
        for field in change["fields"]
    ]


def inventory_markdown(document: dict[str, Any]) -> str:
    """Render the dict form of an inventory; one trailing newline."""
    records = document["tools"]
    lines = ["# Agent tool inventory", "", f"Schema: `{document['schema_version']}`", ""]
    lines += [f"Registered tools: {len(records)}", ""]
    lines += _table(_RECORD_COLUMNS, _record_rows(records)) if records else ["_No registered tools._"]
    return "\n".join(lines) + "\n"


def catalog_diff_markdown(document: dict[str, Any]) -> str:
    """Render the dict form of a catalog diff; every section ends with a blank line, the last one too."""
    lines = ["# Agent tool catalog diff", "", f"Schema: `{document['schema_version']}`", ""]
    lines += [f"{group.capitalize()}: {len(document[group])}" for group in _GROUPS]
    lines.append("")
    for group in _GROUPS:
        lines += [f"## {group.capitalize()}", ""]
        entries = document[group]
        if not entries:
            lines.append(f"_No {group} tools._")
        elif group == "changed":
            lines += _table(_CHANGE_COLUMNS, _change_rows(entries))
        else:
            lines += _table(_RECORD_COLUMNS, _record_rows(entries))
        lines.append("")
    return "\n".join(lines) + "\n"

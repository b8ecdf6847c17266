"""Markdown of inventories and catalog diffs, to the byte (CONTRACTS 5.4, 7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_RECORD_COLUMNS = ("Tool ID", "Version", "Capability class", "Side-effect class", "Schema digest")
_CHANGE_COLUMNS = ("Tool ID", "Version", "Field", "Baseline", "Candidate")


def _table(columns: Sequence[str], rows: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |", *rows]


def _record_rows(records: Iterable[Any]) -> list[str]:
    return [
        f"| `{record.tool_id}` | `{record.version}` | `{record.capability_class}`"
        f" | `{record.side_effect_class}` | `{record.schema_digest}` |"
        for record in records
    ]


def _change_rows(changes: Iterable[Any]) -> list[str]:
    return [
        f"| `{change.tool_id}` | `{change.version}` | `{field.field}` | `{field.before}` | `{field.after}` |"
        for change in changes
        for field in change.fields
    ]


def inventory_markdown(schema_version: str, records: Sequence[object]) -> str:
    """Render the records of an inventory; one trailing newline."""
    lines = ["# Agent tool inventory", "", f"Schema: `{schema_version}`", ""]
    lines += [f"Registered tools: {len(records)}", ""]
    lines += _table(_RECORD_COLUMNS, _record_rows(records)) if records else ["_No registered tools._"]
    return "\n".join(lines) + "\n"


def catalog_diff_markdown(schema_version: str, groups: Mapping[str, Sequence[Any]]) -> str:
    """Render the four groups of a catalog diff by name, in the contract's order.

    Every section ends with a blank line, the last one too.
    """
    lines = ["# Agent tool catalog diff", "", f"Schema: `{schema_version}`", ""]
    lines += [f"{group.capitalize()}: {len(entries)}" for group, entries in groups.items()]
    lines.append("")
    for group, entries in groups.items():
        lines += [f"## {group.capitalize()}", ""]
        if not entries:
            lines.append(f"_No {group} tools._")
        elif group == "changed":
            lines += _table(_CHANGE_COLUMNS, _change_rows(entries))
        else:
            lines += _table(_RECORD_COLUMNS, _record_rows(entries))
        lines.append("")
    return "\n".join(lines) + "\n"

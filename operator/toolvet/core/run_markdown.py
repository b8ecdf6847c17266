"""Markdown of run summaries and run diffs, to the byte (CONTRACTS 10.3, 11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, numbers: bool = False) -> list[str]:
    """Return a table, then a blank line; with ``numbers``, the last column is aligned to the right."""
    rules = ["---"] * len(columns)
    if numbers:
        rules[-1] = "---:"
    lines = [columns, tuple(rules), *rows]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""]


def _section(title: str, table: list[str]) -> list[str]:
    return [f"## {title}", "", *table]


def run_summary_markdown(document: dict[str, Any]) -> str:
    """Render the dict form of a run summary; one trailing newline."""
    metrics = [
        ("Tool calls", str(document["tool_call_count"])),
        ("Duration (seconds)", f"{document['duration_seconds']:g}"),
    ]
    counts = [(f"`{name}`", str(count)) for name, count in document["outcome_counts"].items()]
    lines = ["# Agent Run Summary", ""]
    lines += _section("Workflows", _table(("Workflow",), _listed(document["workflow_ids"])))
    lines += _section("Outcomes", _table(("Outcome", "Count"), counts, numbers=True))
    lines += _section("Execution", _table(("Metric", "Value"), metrics, numbers=True))
    lines += _section("Artifacts", _table(("SHA-256",), _listed(document["artifact_digests"])))
    return "\n".join(lines)


def run_diff_markdown(document: dict[str, Any]) -> str:
    """Render the dict form of a run diff; one trailing newline; in each set what was added comes first."""
    metrics = [
        ("Tool calls", _signed(document["tool_call_count_delta"])),
        ("Duration (seconds)", _signed(document["duration_seconds_delta"])),
    ]
    deltas = [(f"`{name}`", _signed(delta)) for name, delta in document["outcome_count_deltas"].items()]
    lines = ["# Agent Run Summary Diff", "", f"Changed: {'yes' if document['changed'] else 'no'}", ""]
    lines += _section("Workflows", _table(("Change", "Workflow"), _changes(document["workflow_ids"])))
    lines += _section("Outcomes", _table(("Outcome", "Delta"), deltas, numbers=True))
    lines += _section("Execution", _table(("Metric", "Delta"), metrics, numbers=True))
    lines += _section("Artifacts", _table(("Change", "SHA-256"), _changes(document["artifact_digests"])))
    return "\n".join(lines)


def _listed(items: Iterable[str]) -> list[tuple[str, ...]]:
    return [(f"`{item}`",) for item in items]


def _changes(change: dict[str, list[str]]) -> list[tuple[str, ...]]:
    return [(kind, f"`{item}`") for kind in ("added", "removed") for item in change[kind]]


def _signed(delta: float) -> str:
    """Return zero as `0`, any other integer or float with its sign; floats have six significant digits."""
    if delta == 0:
        return "0"
    return f"{delta:+d}" if isinstance(delta, int) else f"{delta:+g}"

"""Differences of two catalogs as lines for a person."""

from __future__ import annotations

from collections.abc import Sequence

from toolvet.core.differences import ToolDifference, count


def describe(baseline: str, found: Sequence[ToolDifference]) -> str:
    """Say what changed since a snapshot, every tool on a line of its own."""
    if not found:
        return f"no difference from {baseline}"
    lines = [f"since {baseline}: {count(found)}"]
    lines += [f"  {item.tool_id} {item.version}: {', '.join(item.codes)}" for item in found]
    return "\n".join(lines)

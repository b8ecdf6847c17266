"""Rows as a table for a person: columns two spaces apart, the last one as long as it is."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows, all of one length, a line each."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row[:-1], widths)) + f"  {row[-1]}" for row in rows]
    return "".join(f"{line}\n" for line in lines)

"""Reading what a process used, and putting repeated figures into order."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_UTIME = 11  # fields 14 and 15 of proc_pid_stat(5), counted after the name's closing parenthesis
_STIME = 12


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process, all its threads, in seconds (steps of 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) * _TICK


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median and maximum over rounds."""

    low: float
    middle: float
    high: float

    def cells(self, digits: int = 2) -> list[str]:
        """Return the three as table cells."""
        return [f"{value:.{digits}f}" for value in (self.low, self.middle, self.high)]


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(min(values), statistics.median(values), max(values))


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that ``percent`` of a hundred do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows: the first column to the left, all others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (
            cell.ljust(width) if not index else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)

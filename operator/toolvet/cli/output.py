"""What a command says: results to standard output in one piece, everything else to standard error."""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from typing import TextIO

from toolvet.cli.remedies import remedy_for
from toolvet.core.errors import ContractError


class ExitCode(IntEnum):
    """Exit codes of every command."""

    CLEAN = 0
    DIFFERS = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130


class _Style:
    RED = "\x1b[31m"
    BOLD = "\x1b[1m"
    RESET = "\x1b[0m"


def _colours(stream: TextIO) -> bool:
    # https://no-color.org: any value but the empty one turns colours off.
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_result(text: str) -> None:
    """Write a whole result to standard output; raises ContractError("output", "write_failed")."""
    failed = False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        failed = True
    if failed:
        # What is still buffered would fail again, with a traceback, when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ContractError("output", "write_failed")


def print_note(text: str) -> None:
    """Write a sentence for people to standard error."""
    sys.stderr.write(text + "\n")


def print_error(error: ContractError) -> None:
    """Write where it went wrong, which rule, and what to do where we know it; the precise faults, if any."""
    label = f"{_Style.BOLD}{_Style.RED}error:{_Style.RESET}" if _colours(sys.stderr) else "error:"
    remedies: dict[str, None] = {}
    for fault in error.faults or (error,):
        print_note(f"{label} {fault}")
        remedy = remedy_for(fault)
        if remedy is not None:
            remedies[remedy] = None  # said once, in the order of the faults
    for remedy in remedies:
        print_note(f"  {remedy}")

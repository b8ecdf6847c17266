"""What ``toolvet agents tools`` does: load, then look at the format, then write (CONTRACTS 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from toolvet.cli.output_file import write_output
from toolvet.core.errors import AgentToolsCliError, ContractError
from toolvet.core.inventory import ToolInventory

MAX_FILE_BYTES = 10_485_760


def rendered(path: str | None, form: str) -> str:
    """Return the text of the document in that format.

    Raises ContractError with the field and code of the contract. The document is loaded first, so that a bad
    one hides a bad format.
    """
    inventory = ToolInventory.from_records(()) if path is None else ToolInventory.from_dict(_load(path))
    match form:
        case "text":
            return inventory.to_markdown()
        case "json":
            return inventory.to_json() + "\n"
    raise AgentToolsCliError("format", "invalid_format")


def deliver(text: str, path: str | None, to_standard_output: Callable[[str], None]) -> None:
    """Write the text to a file, or to standard output."""
    if path is None:
        to_standard_output(text)
        return
    failed = False
    try:
        write_output(path, text)
    except ContractError:
        failed = True
    if failed:
        raise AgentToolsCliError("output", "write_failed")


def _load(path: str) -> object:
    data = None
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        data = None
    if data is None:
        raise AgentToolsCliError("inventory", "unreadable_file")
    if len(data) > MAX_FILE_BYTES:
        raise AgentToolsCliError("inventory", "file_too_large")
    # The lenient reader is part of this command's contract (CONTRACTS 6): repeated members, byte-order marks
    # and UTF-16 pass. Every other command of ours reads strictly.
    document: object = None
    try:
        document = json.loads(data)
        valid = True
    except (ValueError, RecursionError):
        valid = False
    if not valid:
        raise AgentToolsCliError("inventory", "invalid_json")
    return document

"""Documents named on the command line: a path, or ``-`` for standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from toolvet.core.errors import ContractError
from toolvet.kube.manifest import MAX_DOCUMENT_BYTES, read_document


def load_document(path: str, *, field: str) -> object:
    """Read one JSON or YAML document of at most 10 MiB.

    Raises ContractError(field, code): unreadable_file, and the codes of kube.manifest.
    """
    return read_document(load_bytes(path, field=field), field=field)


def load_bytes(path: str, *, field: str, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Read at most one byte more than a document may have; raises ContractError(field, "unreadable_file")."""
    data = None
    try:
        if path == "-":
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(max_bytes + 1)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        data = None
    if data is None:
        raise ContractError(field, "unreadable_file")
    return data

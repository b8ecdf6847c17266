"""Manifests named on the command line: files, folders with everything below them, ``-``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolvet.cli.documents import load_bytes
from toolvet.core.errors import ContractError
from toolvet.kube.manifest import MAX_STREAM_BYTES, read_documents

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})  # those kubectl takes from a folder

Document = tuple[str, int, object]
"""File, index in it, content."""


def shown(path: str) -> str:
    """Return a path as a report shows it: in one line, whatever characters a file name has."""
    if path == "-":
        return "(standard input)"
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in path)


def read_manifests(paths: Sequence[str]) -> Iterator[Document]:
    """Read every document but the empty ones, folders in the order of their names.

    Raises ContractError at the file: unreadable_file, no_manifests (of a folder), repeated_file, and the
    codes of kube.manifest.
    """
    seen: set[str] = set()
    for file in (file for path in paths for file in _files(path)):
        name = shown(file)
        identity = file if file == "-" else os.path.realpath(file)
        if identity in seen:
            raise ContractError(name, "repeated_file")
        seen.add(identity)
        data = load_bytes(file, field=name, max_bytes=MAX_STREAM_BYTES)
        for index, document in enumerate(read_documents(data, field=name)):
            if document is not None:
                yield name, index, document


def _files(path: str) -> list[str]:
    if "\0" in path:
        raise ContractError(shown(path), "unreadable_file")
    if path == "-" or not Path(path).is_dir():
        return [path]
    found: list[str] = []
    faults: list[OSError] = []
    # A folder that cannot be listed may hold what would be refused.
    for folder, folders, names in os.walk(path, onerror=faults.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = [name for name in names if Path(name).suffix in _SUFFIXES and not name.startswith(".")]
        found += [str(Path(folder, name)) for name in sorted(here)]
    if faults:
        raise ContractError(shown(path), "unreadable_folder")
    if not found:
        raise ContractError(shown(path), "no_manifests")
    return found

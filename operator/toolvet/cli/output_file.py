"""Results written to a file: whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from toolvet.core.errors import ContractError


def write_output(path: str, text: str) -> None:
    """Write UTF-8, over what is there; raises ContractError("output", "write_failed").

    A regular file changes in one step, so that a full disk leaves the old one; links are followed, modes
    kept. A device or a pipe is written to as it is. Folders are not made.
    """
    try:
        _write(Path(path), text.encode("utf-8"))
        failed = False
    except (OSError, ValueError):  # ValueError: a NUL in the path
        failed = True
    if failed:
        raise ContractError("output", "write_failed")


def _write(path: Path, data: bytes) -> None:
    # Asked before the link is resolved: /dev/stdout leads to a pipe that has no path.
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with path.open("wb") as file:
            file.write(data)
        return
    target = path.resolve()
    with target.open("ab"):  # asks for the right to write, which replacing would not
        pass
    # A new file just came into being with the mode that the umask gives.
    mode = target.stat().st_mode
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(stat.S_IMODE(mode))
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise

"""The bed's directory: named after its owner, so that a later start can tell what was left behind."""

import os
import re
import shutil
import tempfile
from pathlib import Path

PREFIX = "toolvet-controlplane-"
_NAME = re.compile(re.escape(PREFIX) + r"(\d+)-(\d+)-\w+")


def create_directory(parent: Path | None = None) -> Path:
    """Return a new directory only this user can read, named ``PREFIX<pid>-<start of pid>-<random>``."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-{process_start(pid)}-", dir=parent))


def sweep(parent: Path | None = None) -> list[Path]:
    """Remove this user's directories whose owner no longer runs; return them."""
    removed = []
    for directory in (parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        if owner_runs(directory.name) is not False or directory.is_symlink():
            continue
        try:
            ours = directory.stat().st_uid == os.getuid()
        except FileNotFoundError:  # its supervisor was faster
            continue
        if ours:
            shutil.rmtree(directory, ignore_errors=True)
            removed.append(directory)
    return removed


def owner_runs(name: str) -> bool | None:
    """Return whether the process that ``name`` is named after runs; None if it is no name of ours."""
    match = _NAME.fullmatch(name)
    return process_start(int(match[1])) == int(match[2]) if match else None


def process_start(pid: int) -> int:
    """Return when ``pid`` started, in clock ticks since boot: with the pid it names a process for good.

    -1 if there is no such process; 0 for a live one where the system has no /proc.
    """
    try:
        # Field 22 of proc(5); the name in field 2 may hold spaces and brackets.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return -1
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return -1
    except PermissionError:
        pass
    return 0

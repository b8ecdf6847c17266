"""A folder of the per-user cache that is made once for each key, whole or not at all."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from controlplane.build import cache_directory
from controlplane.progress import Progress


def made_once(name: str, title: str, make: Callable[[Path, Progress], None], keep: int = 1) -> Path:
    """Return the cache's folder <name>, "<kind>-<key>", after ``make`` has filled it if it was not there.

    ``make`` gets an empty folder and the Progress to speak through; whatever it raises passes, and nothing
    stays. Of the same kind the ``keep`` folders used last are kept.
    """
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    kind = name.rpartition("-")[0]
    target = cache / name
    # One lock for the kind: who makes one also removes others.
    with (cache / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with Progress(title) as progress:
                _make(target, make, progress)
        os.utime(target)
        _forget(cache, kind, keep)
    return target


def _make(target: Path, make: Callable[[Path, Progress], None], progress: Progress) -> None:
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a session that was killed: we hold the lock
    partial.mkdir()
    try:
        make(partial, progress)
        partial.rename(target)
    except BaseException:  # also Ctrl-C: nothing half-made may stay
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _forget(cache: Path, kind: str, keep: int) -> None:
    folders = [path for path in cache.glob(f"{kind}-*") if path.is_dir()]
    for old in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[keep:]:
        shutil.rmtree(old, ignore_errors=True)

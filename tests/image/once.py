"""A folder of the per-user cache that is made once for each key, whole or not at all."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from controlplane.build import cache_directory
from controlplane.progress import Progress
from controlplane.waiting import wait_until

_END_SECONDS = 10.0  # for processes that were killed, and may still be writing


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
        _wait_for(lock.fileno(), title)
        for stale in cache.glob(f"{kind}-*.partial"):  # of a session that was killed: we hold the lock
            _remove(stale)
        if not target.exists():
            with Progress(title) as progress:
                _make(target, make, progress)
        os.utime(target)
        _forget(cache, kind, keep)
    return target


def _wait_for(lock: int, title: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with Progress(title) as progress:
            progress.say("waiting for another session that makes one")
            fcntl.flock(lock, fcntl.LOCK_EX)


def _make(target: Path, make: Callable[[Path, Progress], None], progress: Progress) -> None:
    partial = target.with_name(f"{target.name}.partial")
    partial.mkdir()
    try:
        make(partial, progress)
        partial.rename(target)
    except BaseException:  # also Ctrl-C: nothing half-made may stay
        _remove(partial)
        raise


def _remove(folder: Path) -> None:
    def gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    wait_until(gone, _END_SECONDS, f"{folder.name} cannot be removed")


def _forget(cache: Path, kind: str, keep: int) -> None:
    folders = [path for path in cache.glob(f"{kind}-*") if path.is_dir()]
    for old in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[keep:]:
        _remove(old)

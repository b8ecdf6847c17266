"""The cgroup that is the parent of all Pods: made before the node, gone after it. Standard library only."""

import contextlib
import os
import time
from pathlib import Path

from controlplane.state import PREFIX, owner_runs

_GONE_SECONDS = 20.0
_LOOK_SECONDS = 0.05
# What has to be filled from the parent before a cpuset of version 1 takes a process.
_CPUSET = ("cpuset.cpus", "cpuset.mems")


def hierarchies() -> list[Path]:
    """Return the roots of every mounted hierarchy: many of version 1, one of version 2, or both."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return [Path(point) for _, point, kind, *_ in mounts if kind in {"cgroup", "cgroup2"}]


def create(name: str) -> None:
    """Make ``name`` at the root of every hierarchy, with what containers need of it. Errors: OSError."""
    for root in hierarchies():
        control = root / "cgroup.subtree_control"
        if control.exists():
            offered = (root / "cgroup.controllers").read_text().split()
            with contextlib.suppress(OSError):  # processes of its own: systemd has done it there
                control.write_text(" ".join(f"+{controller}" for controller in offered))
        (root / name).mkdir(exist_ok=True)
        for setting in _CPUSET:
            if (root / setting).exists() and not control.exists():
                (root / name / setting).write_text((root / setting).read_text())


def remove(name: str) -> list[Path]:
    """Remove ``name`` and everything below, waiting for the end of its processes; return what stays."""
    deadline = time.monotonic() + _GONE_SECONDS
    while left := [path for root in hierarchies() if (path := root / name).is_dir()]:
        for top in left:
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):  # busy: its last process is being reaped
                    Path(folder).rmdir()
        if time.monotonic() > deadline:
            return left
        if any(top.is_dir() for top in left):
            time.sleep(_LOOK_SECONDS)
    return []


def sweep() -> None:
    """Remove the cgroups of owners that no longer run: their keeper was killed as well."""
    names = {path.name for root in hierarchies() for path in root.glob(f"{PREFIX}*")}
    for name in names:
        if owner_runs(name) is False:
            remove(name)

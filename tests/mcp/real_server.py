"""Real MCP servers from PyPI, each in a virtual environment of its own in the per-user cache.

``installed`` is used by the tests and by ``make demo``. An environment is built beside its place and
renamed into it, under a file lock, so that a half-made one is never used.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MCP_PACKAGE = "mcp-server-git"
OLDER = "2025.1.14"
NEWER = "2025.7.1"
CONSTRAINT = "mcp<2"  # with mcp 2.x these releases do not start


class InstallError(RuntimeError):
    """A server could not be installed; the text is uv's own."""


def installed(package: str, version: str, constraint: str) -> list[str]:
    """Return the command of a released server, installing it on first use.

    The server's program has the package's name. ``constraint`` is one requirement installed with it.
    Raises InstallError.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolvet" / "mcp-servers"
    cache.mkdir(parents=True, exist_ok=True)
    # The interpreter is part of the key: an environment dies with the Python it was made from.
    key = hashlib.sha256(f"{constraint}\0{sys.executable}\0{sys.version}".encode()).hexdigest()[:12]
    home = cache / f"{package}-{version}-{key}"
    with (cache / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "bin" / "python").exists():  # also a link to an interpreter that is gone
            _install(home, f"{package}=={version}", constraint)
    # GitPython refuses to be imported where there is no git program; listing tools does not need one.
    program = home / "bin" / package
    return ["env", "GIT_PYTHON_REFRESH=quiet", str(home / "bin" / "python"), str(program)]


def _install(home: Path, requirement: str, constraint: str) -> None:
    building = home.with_name(home.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    uv = str(REPOSITORY / ".tools" / "bin" / "uv")
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(building)])
    python = str(building / "bin" / "python")
    _run([uv, "pip", "install", "--quiet", "--python", python, requirement, constraint])
    shutil.rmtree(home, ignore_errors=True)
    building.rename(home)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InstallError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")

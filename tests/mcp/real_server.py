"""Real MCP servers from PyPI and npm, each installed into a folder of its own in the per-user cache.

``installed`` is used by the tests and by ``make demo``. A folder is built beside its place and renamed into
it, under a file lock, so that a half-made one is never used. Where a date is given, nothing published later
is installed, dependencies included: what such a server lists does not change with time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MCP_PACKAGE = "mcp-server-git"
OLDER = "2025.1.14"
NEWER = "2025.7.1"
CONSTRAINT = "mcp<2"  # with mcp 2.x these releases do not start


class InstallError(RuntimeError):
    """A server could not be installed; the text is the installer's own."""


def installed(package: str, version: str, constraint: str, before: str | None = None) -> list[str]:
    """Return the command of a server released on PyPI, installing it on first use.

    The server's program has the package's name. ``constraint`` is one requirement installed with it;
    ``before`` a date such as 2026-11-01. Raises InstallError.
    """
    home = environment(package, version, constraint, before)
    # GitPython refuses to be imported where there is no git program; listing tools does not need one.
    program = home / "bin" / package
    return ["env", "GIT_PYTHON_REFRESH=quiet", str(home / "bin" / "python"), str(program)]


def environment(package: str, version: str, constraint: str, before: str | None = None) -> Path:
    """Return the virtual environment of a release."""
    # The interpreter is part of the key: an environment dies with the Python it was made from.
    key = f"{constraint}\0{sys.executable}\0{sys.version}" + (f"\0{before}" if before else "")

    def build(folder: Path) -> None:
        uv = str(REPOSITORY / ".tools" / "bin" / "uv")
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
        python = str(folder / "bin" / "python")
        dated = ["--exclude-newer", f"{before}T00:00:00Z"] if before else []
        wanted = [f"{package}=={version}", constraint]
        _run([uv, "pip", "install", "--quiet", "--python", python, *dated, *wanted])

    return _built(f"{package}-{version}", key, Path("bin") / "python", build)


def installed_node(package: str, version: str, before: str, *pins: str) -> list[str]:
    """Return the command of a server released on npm under @modelcontextprotocol, without its arguments.

    ``pins`` are requirements installed with it. Scripts of packages are not run. Raises InstallError.
    """
    program = Path("node_modules") / ".bin" / f"mcp-{package}"

    def build(folder: Path) -> None:
        folder.mkdir()
        flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", f"--before={before}"]
        wanted = f"@modelcontextprotocol/{package}@{version}"
        _run(["npm", "install", "--prefix", str(folder), *flags, wanted, *pins])

    home = _built(f"{package}-{version}", "\0".join([before, *pins]), program, build)
    return ["node", str(home / program)]


def _built(name: str, key: str, program: Path, build: Callable[[Path], None]) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolvet" / "mcp-servers"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    with (cache / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / program).exists():  # also a link to an interpreter that is gone
            building = home.with_name(home.name + ".building")
            shutil.rmtree(building, ignore_errors=True)
            build(building)
            shutil.rmtree(home, ignore_errors=True)
            building.rename(home)
    return home


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InstallError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")

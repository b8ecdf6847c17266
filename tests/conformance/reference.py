"""The reference wheel in a throwaway environment of the per-user cache, made on first use."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "3.1.0"
# typer and rich: its ``agents tools`` command needs both and does not ask for them.
REQUIREMENTS = (f"openmed=={VERSION}", "typer", "rich")
REPOSITORY = Path(__file__).resolve().parents[2]


class InstallError(RuntimeError):
    """The reference cannot be installed; the text is the installer's own."""


def interpreter() -> Path:
    """Return the Python of the reference's environment, making it under a file lock if it is not there.

    It is the same Python release as ours, so that number texts and sums do not differ for its sake.
    Errors: InstallError.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolvet" / "reference"
    cache.mkdir(parents=True, exist_ok=True)
    # The interpreter is part of the key: an environment dies with the Python it was made from.
    key = hashlib.sha256("\0".join((*REQUIREMENTS, sys.executable, sys.version)).encode()).hexdigest()[:12]
    home = cache / f"openmed-{VERSION}-{key}"
    python = home / "bin" / "python"
    with (cache / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():  # also a link to an interpreter that is gone
            _install(home)
    return python


def _install(home: Path) -> None:
    print(f"installing openmed {VERSION} once into the per-user cache", file=sys.stderr)
    building = home.with_name(home.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    uv = _uv()
    _run([*uv, "venv", "--quiet", "--python", sys.executable, str(building)])
    python = str(building / "bin" / "python")
    _run([*uv, "pip", "install", "--quiet", "--python", python, *REQUIREMENTS])
    shutil.rmtree(home, ignore_errors=True)
    building.rename(home)


def _uv() -> list[str]:
    own = REPOSITORY / ".tools" / "bin" / "uv"  # ``make setup`` puts it there
    found = str(own) if own.exists() else shutil.which("uv")
    return [found] if found else [sys.executable, "-m", "uv"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise InstallError(f"the reference cannot be installed:\n{done.stdout.strip()}")

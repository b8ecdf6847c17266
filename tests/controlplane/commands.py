"""Run one-shot commands and show what they said when they fail."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

Completed = subprocess.CompletedProcess[str]


class CommandError(subprocess.CalledProcessError):
    """A command failed; unlike its base class the text holds what the command wrote."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{(self.stderr or self.stdout or '').strip()}"


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    text: str | None = None,
    check: bool = True,
    seconds: float = 120.0,
) -> Completed:
    """Return the finished command with stdout and stderr as text; ``text`` is its stdin (default: empty).

    Errors: CommandError if ``check`` and the exit code is not 0; subprocess.TimeoutExpired.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env=environment,
        input="" if text is None else text,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    if check and done.returncode:
        raise CommandError(done.returncode, words, done.stdout, done.stderr)
    return done

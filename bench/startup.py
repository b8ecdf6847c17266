"""Start-up of the command line: processor and wall time, and whether it loads what it has no use for."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.figures import Spread, spread

RUNS = 7
_SECONDS = 30.0
_HEAVY = ("kopf", "kubernetes")
_MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Startup:
    """One command line, in milliseconds."""

    command: str
    cpu: Spread
    wall: Spread
    exit_code: int
    loaded: tuple[str, ...]
    """Which of the two heavy packages it imported."""


def measure(arguments: list[str], environment: Mapping[str, str]) -> Startup:
    """Run ``toolvet`` with these arguments RUNS times, after one run that warms the file cache."""
    command = [sys.executable, "-m", "toolvet", *arguments]
    _once(command, environment)
    taken = [_once(command, environment) for _ in range(RUNS)]
    return Startup(
        command=" ".join(["toolvet", *arguments]),
        cpu=spread([cpu for cpu, _, _ in taken]),
        wall=spread([wall for _, wall, _ in taken]),
        exit_code=taken[-1][2],
        loaded=_heavy_imports(arguments, environment),
    )


def _once(command: list[str], environment: Mapping[str, str]) -> tuple[float, float, int]:
    started = time.perf_counter()
    # The usage of exactly this child needs wait4(2), which subprocess keeps for itself.
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123  # three plain descriptors
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), number) for number in (0, 1, 2)]
        pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    return (usage.ru_utime + usage.ru_stime) * _MILLI, wall * _MILLI, os.waitstatus_to_exitcode(status)


def _heavy_imports(arguments: list[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "toolvet", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line}
    return tuple(name for name in _HEAVY if name in names)

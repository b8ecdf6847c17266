"""Runs the command line against server scripts, as real processes."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from controlplane.waiting import wait_until

SERVERS = Path(__file__).parent / "servers"
CANARY = "zqx7-canary"
FLAGS = (
    "--id-namespace",
    "org.example",
    "--tool-version",
    "1.0.0",
    "--capability",
    "capability:org.example/files",
)


def alive(pid):
    try:
        # The state stands behind the program's name, which may hold anything but ends with ")".
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"  # a zombie waits for its parent only


@dataclass
class Bench:
    folder: Path

    @property
    def pids(self):
        path = self.folder / "pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def command(self, *arguments, options=FLAGS):
        server = [sys.executable, str(SERVERS / arguments[0]), *arguments[1:]]
        return [sys.executable, "-m", "toolvet", "inventory", "from-mcp", *options, "--", *server]

    @property
    def environment(self):
        return os.environ | {"TOOLVET_TEST_PIDS": str(self.folder / "pids")}

    def list(self, *arguments, options=(), flags=FLAGS):
        command = self.command(*arguments, options=("--name", "assistant", *flags, *options))
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment, timeout=60
        )

    def start(self, *arguments):
        def as_a_terminal_would():  # the test runner may have been started with SIGINT ignored
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        return subprocess.Popen(
            self.command(*arguments, options=("--name", "assistant", *FLAGS)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            preexec_fn=as_a_terminal_would,  # noqa: PLW1509  # no other threads here
        )

    def assert_all_gone(self):
        wait_until(lambda: not any(alive(pid) for pid in self.pids), 20, "a server process is still there")

    def wait_for_pids(self, count):
        wait_until(lambda: len(self.pids) >= count, 20, "the server did not start")


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)

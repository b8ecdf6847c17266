"""Processes that cannot outlive the bed: the owner's side of ``supervisor``."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.waiting import wait_until

TAIL_LINES = 25
PROGRAM = Path(__file__).with_name("supervisor.py")


class Supervisor:
    """The one child of this process that owns every daemon and the directory.

    ``close`` ends the daemons and removes the directory; so does the end of this process, whatever ends it.
    ``program`` is another that obeys as ``supervisor`` does, with more ``arguments``, open ``descriptors``.
    """

    def __init__(
        self,
        directory: Path,
        program: Path = PROGRAM,
        arguments: Sequence[str] = (),
        descriptors: Sequence[int] = (),
    ) -> None:
        self.directory = directory
        self._lock = threading.Lock()  # one question, one answer, also with threads
        self._asked = 0
        with (directory / "supervisor.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", program, str(os.getpid()), directory, *arguments],
                pass_fds=descriptors,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal is the owner's business
            )

    @property
    def pid(self) -> int:
        """Process id of the supervisor itself."""
        return self._process.pid

    def ask(self, **command: object) -> dict[str, Any]:
        """Send one command and return its answer. Errors: RuntimeError once the supervisor is gone."""
        with self._lock:
            if self._process.stdin is None or self._process.stdout is None or self._process.stdin.closed:
                raise RuntimeError("the control plane has ended")
            self._asked += 1
            # Ctrl-C between question and answer leaves an answer nobody took: pass over it.
            answer: dict[str, Any] = {"id": 0}
            line = b""
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps({**command, "id": self._asked}).encode() + b"\n")
                self._process.stdin.flush()
                while answer["id"] != self._asked and (line := self._process.stdout.readline()):
                    answer = json.loads(line)
        if not line:
            raise RuntimeError("the supervisor of the control plane was killed")
        return answer

    def start(
        self,
        name: str,
        arguments: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> "Process":
        """Start a program (absolute path first). ``environment`` replaces the inherited one if given.

        Output is appended to ``<name>.log`` in the bed's directory. Errors: RuntimeError if it cannot start.
        """
        log = self.directory / f"{name}.log"
        reply = self.ask(
            do="start",
            arguments=[str(argument) for argument in arguments],
            environment=dict(os.environ if environment is None else environment),
            directory=str(directory or self.directory),
            log=str(log),
        )
        if "error" in reply:
            raise RuntimeError(f"{name} cannot be started: {reply['error']}")
        return Process(self, name, reply["pid"], log)

    def close(self) -> None:
        """End everything; harmless the second time."""
        with self._lock:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe and not pipe.closed:
                    with contextlib.suppress(BrokenPipeError):  # the supervisor was killed
                        pipe.close()
        self._process.wait()


@dataclass(frozen=True)
class Process:
    """A running or ended program; ``pid`` is the program's own, not a wrapper's."""

    supervisor: Supervisor
    name: str
    pid: int
    log: Path

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        code: int | None = self.supervisor.ask(do="poll", pid=self.pid)["returncode"]
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if it has ended."""
        self.supervisor.ask(do="signal", pid=self.pid, signal=int(number))

    def wait(self, seconds: float) -> int:
        """Return the exit code. Errors: TimeoutError with the log's tail after ``seconds``."""
        try:
            wait_until(lambda: self.poll() is not None, seconds, f"{self.name} still runs")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.tail()}") from None
        return self.poll() or 0

    def stop(self, seconds: float = 10.0) -> int:
        """Ask it to end (SIGTERM), kill it after ``seconds``; return the exit code."""
        self.send_signal(signal.SIGTERM)
        try:
            return self.wait(seconds)
        except TimeoutError:
            return self.kill()

    def kill(self) -> int:
        """Kill it at once and return the exit code (-9 unless it had ended before)."""
        self.send_signal(signal.SIGKILL)
        return self.wait(10.0)

    def tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of its log, for error texts."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(f"  {line[:300]}" for line in text.splitlines()[-lines:])

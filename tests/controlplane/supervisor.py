"""Runs the bed's processes and outlives its owner just long enough to clean up.

``python supervisor.py OWNER_PID DIRECTORY``, started by ``processes.Supervisor``; standard library only.
Commands come as JSON lines on stdin, one answer each on stdout. When stdin ends or the owner is gone
(returned, raised, Ctrl-C, SIGKILL), it kills what it started and removes DIRECTORY. If it is itself
killed, the kernel kills its children (PR_SET_PDEATHSIG, Linux) and the next start removes DIRECTORY.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

PR_SET_PDEATHSIG = 1  # prctl(2)
OWNER_CHECK_SECONDS = 1.0
# Loaded before any fork: nothing may be imported between fork and exec.
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

Children = dict[int, subprocess.Popen[bytes]]
Obey = Callable[[dict[str, Any]], dict[str, Any]]


def _die_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        if _PRCTL is not None:
            _PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died between fork and prctl
                os._exit(1)

    return prepare


def start(children: Children, command: dict[str, Any]) -> dict[str, Any]:
    """Start ``arguments`` with ``environment``, output appended to ``log``; answer its pid or the error."""
    try:
        with open(command["log"], "ab") as log:  # noqa: PTH123 - pathlib would double the start time
            child = subprocess.Popen(
                command["arguments"],
                env=command["environment"],
                cwd=command["directory"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # its own process group: descendants are ended with it
                preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
            )
    except OSError as error:
        return {"error": f"{error.strerror}: {command['arguments'][0]}"}
    children[child.pid] = child
    return {"pid": child.pid}


def answer(children: Children, command: dict[str, Any]) -> dict[str, Any]:
    """Obey one command: start, poll or signal."""
    if command["do"] == "start":
        return start(children, command)
    child = children[command["pid"]]
    if command["do"] == "signal" and child.poll() is None:
        # A process not yet reaped keeps its pid, so this cannot hit a stranger.
        child.send_signal(command["signal"])
    return {"returncode": child.poll()}


def serve(owner: int, obey: Obey, between: Callable[[], None] = lambda: None) -> None:
    """Obey until stdin ends or the owner is gone; ``between`` is called at least every second."""
    pending = b""
    while os.getppid() == owner:
        between()
        # A copy of the pipe in some fork of the owner would keep stdin open: look at the owner as well.
        if not select.select([0], [], [], OWNER_CHECK_SECONDS)[0]:
            continue
        received = os.read(0, 65536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            command = json.loads(line)
            reply = {**obey(command), "id": command["id"]}
            os.write(1, json.dumps(reply).encode() + b"\n")


def main() -> None:
    """Serve, then leave nothing behind."""
    owner, directory = int(sys.argv[1]), sys.argv[2]
    # The owner decides when the end has come. Handlers, not SIG_IGN: children would inherit being deaf.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, lambda *_: None)
    children: Children = {}
    try:
        with contextlib.suppress(BrokenPipeError):
            serve(owner, lambda command: answer(children, command))
    finally:
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for child in children.values():
            child.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

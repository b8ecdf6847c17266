"""Nothing of a control plane stays, whatever ends its owner."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.state import PREFIX, create_directory, process_start, sweep
from controlplane.waiting import wait_until

TESTS = Path(__file__).parents[1]

OWNER = """
import json, sys, threading
from pathlib import Path
from controlplane.bed import ControlPlane
with ControlPlane() as bed:
    extra = bed.start_process("extra", ["/bin/sh", "-c", "sleep 1000 & wait"])
    pids = [process.pid for process in bed.processes.values()] + [extra.pid]
    said = {"directory": str(bed.directory), "supervisor": bed._supervisor.pid, "pids": pids}
    print(json.dumps(said), flush=True)
    {then}
"""
WAIT = "threading.Event().wait()"


@contextmanager
def owner(temporary, then=WAIT):
    """A process that owns a control plane; gives it and what it said once the control plane stands."""
    environment = os.environ | {"PYTHONPATH": str(TESTS), "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER.replace("{then}", then)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        process.kill()
        process.communicate()


def running(pids):
    return [pid for pid in pids if state(pid) not in (None, "Z")]


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def descendants_in(directory):
    """Every process whose command line or working directory names the directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and state(int(entry.name)) != "Z":
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                if directory in words or str((entry / "cwd").readlink()).startswith(directory):
                    found.append(int(entry.name))
        except OSError:  # it ended while we looked
            continue
    return found


def assert_all_gone(said):
    everything = [said["supervisor"], *said["pids"]]
    wait_until(lambda: not running(everything), 10, "processes still run")
    wait_until(lambda: not descendants_in(said["directory"]), 10, "a descendant still runs")


@pytest.mark.cluster
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name
)
def test_a_signal_to_the_owner_ends_everything(tmp_path, number):
    with owner(tmp_path) as (process, said):
        assert len(running(said["pids"])) == 4
        # The four, the supervisor, and the child of the shell, which comes a moment later.
        wait_until(lambda: len(descendants_in(said["directory"])) == 6, 10, "a process is missing")
        process.send_signal(number)
        process.wait(20)
        assert_all_gone(said)
        assert not Path(said["directory"]).exists()


@pytest.mark.cluster
def test_an_exception_in_the_owner_ends_everything(tmp_path):
    with owner(tmp_path, "raise SystemExit(7)") as (process, said):
        assert process.wait(20) == 7
        assert not running([said["supervisor"], *said["pids"]])
        assert list(tmp_path.iterdir()) == []


@pytest.mark.cluster
def test_when_the_supervisor_is_killed_too_the_next_start_sweeps(tmp_path):
    with owner(tmp_path) as (process, said):
        os.kill(said["supervisor"], signal.SIGKILL)
        process.kill()
        process.wait(20)
        everything = [said["supervisor"], *said["pids"]]
        wait_until(lambda: not running(everything), 10, "processes outlived their supervisor")
    assert Path(said["directory"]).exists()
    with owner(tmp_path, "pass") as (process, _):
        assert process.wait(20) == 0
    assert list(tmp_path.iterdir()) == []


def test_sweep_removes_only_what_a_dead_owner_left(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    start = process_start(gone.pid)
    gone.wait()
    dead = tmp_path / f"{PREFIX}{gone.pid}-{start}-abc"
    reused = tmp_path / f"{PREFIX}{os.getpid()}-{process_start(os.getpid()) + 1}-abc"
    foreign = tmp_path / f"{PREFIX}notes"
    for directory in (dead, reused, foreign):
        directory.mkdir()
    link = tmp_path / f"{PREFIX}{gone.pid}-{start}-link"
    link.symlink_to(foreign)
    mine = create_directory(tmp_path)
    assert sorted(sweep(tmp_path)) == sorted([dead, reused])
    assert sorted(tmp_path.iterdir()) == sorted([foreign, link, mine])
    assert mine.stat().st_mode & 0o777 == 0o700

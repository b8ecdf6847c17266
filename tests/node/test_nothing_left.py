"""Nothing of a node stays on the machine, whatever ends its owner."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.waiting import wait_until
from node.cgroups import hierarchies
from node.inside import COVERED

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PLACES = ("/run", "/run/containerd", "/run/netns", "/var/lib", "/var/log", "/etc/cni", "/opt")
GONE_SECONDS = 30.0

# Owns a node with a running Pod, volumes in memory and on disk, and says so.
OWNER = """
import json, sys, threading
from controlplane.waiting import wait_until
from node.bed import Node
from node.configuration import PAUSE_IMAGE
volumes = [{"name": "m", "emptyDir": {"medium": "Memory"}}, {"name": "d", "emptyDir": {}}]
mounts = [{"name": volume["name"], "mountPath": "/" + volume["name"]} for volume in volumes]
container = {"name": "c", "image": PAUSE_IMAGE, "imagePullPolicy": "Never", "volumeMounts": mounts}
pod = {"metadata": {"name": "p"}, "spec": {"volumes": volumes, "containers": [container]}}
with Node() as bed:
    bed.api("POST", "/api/v1/namespaces/default/pods", pod)
    path = "/api/v1/namespaces/default/pods/p"
    wait_until(lambda: bed.api("GET", path)["status"]["phase"] == "Running", 60, "the Pod does not run")
    said = {"directory": str(bed.directory), "keeper": bed._supervisor.pid, "server": bed.server}
    print(json.dumps(said), flush=True)
    threading.Event().wait()
"""


def machine(temporary: Path) -> dict[str, object]:
    """What a node could leave behind or change."""
    settings = (Path("/proc/sys") / name for name in (*COVERED, "net/ipv4/ip_forward"))
    cgroups = (path for root in hierarchies() for path in root.glob("toolvet-*"))
    return {
        "settings": {str(path): path.read_text() for path in settings if path.exists()},
        "mounts": sorted(line.split(" - ")[0].split()[4] for line in _lines("/proc/self/mountinfo")),
        "network": subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout,
        "folders": {place: sorted(os.listdir(place)) for place in PLACES if Path(place).is_dir()},  # noqa: PTH208
        "cgroups": sorted(map(str, cgroups)),
        "temporary": sorted(map(str, temporary.iterdir())),
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def processes(keeper: int) -> set[int]:
    """The keeper and all that is in the pid namespace of its child, Pods included."""
    (child,) = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    namespace = _namespace(int(child))
    everything = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    inside = {pid for pid in everything if _namespace(pid) == namespace}
    # Below a Pod's pid namespace of its own, the parents are ours.
    while more := {pid for pid in everything - inside if _parent(pid) in inside}:
        inside |= more
    return {keeper} | inside


def _namespace(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:  # ended, or a thread of the kernel
        return None


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def running(pids: set[int]) -> set[int]:
    return {pid for pid in pids if _state(pid) not in {None, "Z"}}


def _state(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


@contextmanager
def owner(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], dict]]:
    environment = os.environ | {"PYTHONPATH": str(TESTS), "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_to_the_owner_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    before = machine(tmp_path)
    with owner(tmp_path) as (process, said):
        pids = processes(said["keeper"])
        assert len(running(pids)) > 10  # nine daemons, the keeper, and those of the Pod
        assert machine(tmp_path)["settings"] == before["settings"]
        process.send_signal(number)
        process.wait(GONE_SECONDS)
        wait_until(lambda: not running(pids), GONE_SECONDS, "processes still run")
    wait_until(lambda: not Path(said["directory"]).exists(), GONE_SECONDS, "the directory is left")
    assert machine(tmp_path) == before


def test_when_the_keeper_is_killed_too_the_next_node_sweeps(tmp_path: Path) -> None:
    before = machine(tmp_path)
    with owner(tmp_path) as (process, said):
        pids = processes(said["keeper"])
        os.kill(said["keeper"], signal.SIGKILL)
        process.kill()
        process.wait(GONE_SECONDS)
        wait_until(lambda: not running(pids), GONE_SECONDS, "processes outlived their keeper")
    after = machine(tmp_path)
    assert after["cgroups"]
    assert {key for key in after if after[key] != before[key]} == {"cgroups", "temporary"}
    with owner(tmp_path) as (process, said):
        process.send_signal(signal.SIGINT)
        process.wait(GONE_SECONDS)
    assert machine(tmp_path) == before

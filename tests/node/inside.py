"""Process 1 of the node's namespaces: mounts, network, then whatever the owner asks to be started.

Nothing it does is seen outside: mounts and network are private, and the global kernel settings that a kubelet
writes are covered by files of ours. Standard library only.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
from pathlib import Path

from controlplane.supervisor import Children, answer, serve

ADDRESS = "10.89.0.1"  # the node's; the namespace is its own, so any private range will do
KUBELET_ROOT = Path("/run/kubelet")
# What the kubelet wants to set for the whole machine (its container manager's list).
COVERED = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
# sched.h; Python has os.unshare from 3.12 on.
CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_DOORWAY = Path(__file__).with_name("doorway.py")


def run(directory: Path, listener: int) -> None:
    """Make the namespaces that can be made from within, and serve the owner until it has gone.

    Returning ends the process, and with it the kernel ends all others of the pid namespace.
    """
    outside = os.getppid()  # 0: not seen from here
    children: Children = {}
    try:
        unshare(CLONE_NEWNS | CLONE_NEWNET)
        _mounts(directory)
        _network()
        _open_doorway(listener)
    except (OSError, subprocess.CalledProcessError) as error:
        refuse(outside, error)
        return
    with contextlib.suppress(BrokenPipeError):
        serve(outside, lambda command: answer(children, command), lambda: _reap_orphans(children))


def refuse(owner: int, error: Exception) -> None:
    """Answer everything the owner asks with why there is no node."""
    why = f"the node's namespaces cannot be made: {getattr(error, 'stderr', None) or error}"
    with contextlib.suppress(BrokenPipeError):
        serve(owner, lambda _: {"error": why})


def unshare(namespaces: int) -> None:
    """Leave the shared namespaces for new ones, see unshare(2). Errors: OSError."""
    if _LIBC.unshare(namespaces) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"unshare: {os.strerror(code)}")


def _do(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def _mounts(directory: Path) -> None:
    """Give the node its own /proc, /run, /var/lib and /var/log; writes to the host's never happen."""
    _do("mount", "--make-rprivate", "/")
    _do("mount", "-t", "proc", "proc", "/proc")
    covered = directory / "sysctl"
    for name in COVERED:
        setting = Path("/proc/sys") / name
        if setting.exists():
            (covered / name).parent.mkdir(parents=True, exist_ok=True)
            (covered / name).write_text(setting.read_text())
            _do("mount", "--bind", covered / name, setting)
    _do("mount", "-t", "tmpfs", "tmpfs", "/run")
    # A short path: sockets of the kubelet are below it, and such a name ends at 108 bytes (unix(7)).
    stored = directory / "kubelet"
    for folder in (stored, KUBELET_ROOT):
        folder.mkdir()
    _do("mount", "--bind", stored, KUBELET_ROOT)
    for place in ("/var/lib", "/var/log"):  # what is there stays readable: a home may be below
        layer = directory / "layers" / Path(place).name
        (layer / "upper").mkdir(parents=True)
        (layer / "work").mkdir()
        options = f"lowerdir={place},upperdir={layer / 'upper'},workdir={layer / 'work'}"
        _do("mount", "-t", "overlay", "overlay", "-o", options, place)
    # Volumes that the kubelet mounts have to reach the Pods' mount namespaces.
    _do("mount", "--make-rshared", "/")


def _network() -> None:
    """Loopback and one address. Nothing leads outside: no test may depend on the internet."""
    _do("ip", "link", "set", "lo", "up")
    _do("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node1")
    _do("ip", "link", "set", "node0", "up")
    _do("ip", "link", "set", "node1", "up")
    _do("ip", "address", "add", f"{ADDRESS}/24", "dev", "node0")
    # A Service's address needs a route before kube-proxy's rules get to rewrite it.
    _do("ip", "route", "add", "default", "dev", "node0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # of this network namespace alone


def _open_doorway(listener: int) -> None:
    subprocess.Popen(
        [sys.executable, "-I", "-S", _DOORWAY, str(listener)],
        pass_fds=[listener],
        stdin=subprocess.DEVNULL,
        stdout=2,
    )
    os.close(listener)


def _reap_orphans(children: Children) -> None:
    """Take the exit codes of processes whose parent has ended; those of ``children`` are asked for."""
    while ended := _ended():
        if ended in children:
            return  # Popen takes it as soon as the owner asks; orphans behind it wait until then
        os.waitpid(ended, 0)


def _ended() -> int | None:
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None

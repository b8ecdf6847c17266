"""Owns a node from outside of its namespaces and leaves nothing behind.

``python keeper.py OWNER_PID DIRECTORY LISTENER``, started by ``processes.Supervisor`` in place of
``supervisor.py``. Its one child is process 1 of the node's namespaces (``inside``) and inherits the pipes of
the owner. When that child ends, or the owner does, the kernel ends everything in the namespaces with it;
then the cgroups and DIRECTORY are removed. If the keeper itself is killed, the kernel kills the child, and
the next start removes the rest (``cgroups.sweep``, ``state.sweep``).
"""

import ctypes
import os
import select
import shutil
import signal
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # started by its path, without a site

from controlplane.supervisor import OWNER_CHECK_SECONDS, PR_SET_PDEATHSIG
from node import cgroups, inside

_PRCTL = ctypes.CDLL(None).prctl


def _be_process_1(keeper: int, directory: Path, listener: int) -> None:
    """Never returns."""
    code = 1
    try:
        _PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
        # Out of sight in the new pid namespace: 0 is a parent outside, 1 would be ourselves adopted.
        if Path(f"/proc/{keeper}").exists():
            inside.run(directory, listener)
            code = 0
    except BaseException:  # noqa: BLE001 - forked: nothing of the keeper's own end may run here
        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(child: int, owner: int) -> None:
    """Return once the child and with it every process of the namespaces has ended."""
    handle = os.pidfd_open(child)
    while not select.select([handle], [], [], OWNER_CHECK_SECONDS)[0]:
        if os.getppid() != owner:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.waitpid(child, 0)  # process 1 is reaped last: the kernel has ended the others before


def main() -> None:
    """Keep the node until its end, then leave nothing behind."""
    owner, directory, listener = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    # The owner decides when the end has come; handlers and not SIG_IGN, which the node would inherit.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, lambda *_: None)
    keeper = os.getpid()
    try:
        try:
            cgroups.create(directory.name)
            inside.unshare(inside.CLONE_NEWPID)  # of the children: the keeper stays where it is
        except OSError as error:
            inside.refuse(owner, error)
            return
        child = os.fork()
        if child == 0:
            _be_process_1(keeper, directory, listener)
        for inherited in (0, 1, listener):
            os.close(inherited)
        _watch(child, owner)
    finally:
        left = cgroups.remove(directory.name)
        shutil.rmtree(directory, ignore_errors=True)
        if left:
            print(f"cgroups are left: {' '.join(map(str, left))}", file=sys.stderr)


if __name__ == "__main__":
    main()

"""The programs of a node that are not Go modules: Debian packages, installed where they are missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from controlplane.progress import Progress

CNI_PLUGINS = Path("/usr/lib/cni")
# One file that only this package brings, found on PATH or by its whole path.
PACKAGES: Mapping[str, str] = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": str(CNI_PLUGINS / "ptp"),
    "nftables": "nft",
    "iproute2": "ip",
    "mount": "mount",
}
# Where Debian puts what an ordinary user's PATH may lack.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
_TAIL_LINES = 15


class PackageError(RuntimeError):
    """A program is missing and cannot be installed; the text says which package brings it."""


def missing(packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """Return the packages whose program is not here."""
    return [package for package, program in packages.items() if not shutil.which(program, path=PATH)]


def install_packages(packages: Mapping[str, str] = PACKAGES) -> None:
    """Install what is missing by apt. Errors: PackageError."""
    wanted = missing(packages)
    if not wanted:
        return
    by_hand = f"install {' '.join(wanted)} (names of Debian and Ubuntu)"
    if not shutil.which("apt-get"):
        raise PackageError(f"no apt-get here: {by_hand}")
    if os.geteuid() != 0:
        raise PackageError(f"not root: {by_hand}")
    with Progress(f"packages {' '.join(wanted)}") as progress:
        progress.say("apt-get update")
        refreshed = _apt("update")
        progress.say("apt-get install")
        installed = _apt("install", "--yes", "--no-install-recommends", *wanted)
    if missing(packages):
        # A broken foreign source fails the update though Debian's own lists came: only the end counts.
        told = "\n".join([*refreshed, *installed][-_TAIL_LINES:])
        raise PackageError(f"apt-get did not bring {' '.join(missing(packages))}: {by_hand}\n{told}")


def _apt(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["apt-get", "--quiet=2", *arguments],
        # What a package would start has no place here: nothing of the host's own may run.
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.splitlines() if done.returncode else []


def require_linux_root() -> None:
    """Errors: PackageError where no node can be: not Linux, or not root."""
    if sys.platform != "linux":
        raise PackageError("a node needs Linux; the tests of the control plane do not (make test)")
    if os.geteuid() != 0:
        raise PackageError("a node needs root: namespaces, mounts and cgroups; try `sudo make e2e`")

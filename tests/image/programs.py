"""The two programs that make images, from Debian's packages where they are missing."""

import os
import shutil
import subprocess
from collections.abc import Mapping

PACKAGES = {"buildah": "buildah", "debootstrap": "debootstrap"}  # program: package


class ImageError(RuntimeError):
    """An image cannot be made; the text says which step failed and what to do."""


def require(packages: Mapping[str, str] = PACKAGES) -> None:
    """Install the packages whose programs are not on PATH. Errors: ImageError.

    Root is asked for first: a root file system has its owners, and only root can give files to them.
    """
    if os.geteuid() != 0:
        raise ImageError("images are made as root: run this with sudo, or in a virtual machine of your own")
    missing = sorted({package for program, package in packages.items() if shutil.which(program) is None})
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise ImageError(f"install {', '.join(missing)}: apt-get is not here to do it")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *missing]):
        done = subprocess.run(
            ["apt-get", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            tail = "\n".join(done.stdout.splitlines()[-15:])
            raise ImageError(f"apt-get {arguments[0]} failed with exit code {done.returncode}:\n{tail}")

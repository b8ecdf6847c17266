"""A base image out of Debian's packages, in the place of the public Python image, which needs a registry."""

import hashlib
import os
import shutil
from pathlib import Path

from controlplane.progress import Progress
from image.once import made_once
from image.programs import require
from image.store import Store, run_isolated

SUITE = "trixie"
NAME = f"localhost/python-base:{SUITE}"
PACKAGES = ("python3", "python3-venv", "ca-certificates")
# As in the public image: no documents, and no bytecode, so that what ours adds for it is counted.
_REMOVED = (
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
    "var/lib/apt/lists/*",
    "var/cache/apt/*",
)
_REVISION = 1  # of the steps in here


def base_key() -> str:
    """Return 16 hex digits over what decides the base, but for the day its packages are fetched on."""
    parts = (str(_REVISION), SUITE, *PACKAGES, *_REMOVED, os.uname().machine)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def base_image() -> Path:
    """Return the archive of NAME, made first where needed: about a minute. Errors: ImageError."""
    return made_once(f"image_base-{base_key()}", "base image", _make) / "base.tar"


def _make(folder: Path, progress: Progress) -> None:
    require()
    root, packed = folder / "root", folder / "root.tar"
    progress.say(f"Debian {SUITE} with {', '.join(PACKAGES)}")
    include = f"--include={','.join(PACKAGES)}"
    run_isolated(["debootstrap", "--variant=minbase", include, SUITE, root])
    for pattern in _REMOVED:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in root.rglob("__pycache__"):
        shutil.rmtree(path)
    # Devices are the runtime's.
    run_isolated(["tar", "-C", root, "--numeric-owner", "--exclude=./dev/*", "-cf", packed, "."])
    shutil.rmtree(root)
    progress.say("packing")
    with Store(folder / "storage") as store:
        store.add_base(packed, NAME)
        store.export(NAME, folder / "base.tar")
    packed.unlink()

"""Write files the way a kubelet projects Secrets and tokens into a Pod's volume."""

import base64
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_CURRENT = "..data"


def project(directory: Path, files: Mapping[str, bytes]) -> Path:
    """Make ``directory`` hold exactly ``files``, all swapped at one moment; return it.

    As in a Pod: each name links to ``..data/<name>`` and ``..data`` links to a dated folder, so a reader
    that opens by name sees either all old files or all new ones.
    """
    directory.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=directory))
    for name, data in files.items():
        (fresh / name).write_bytes(data)
    current = directory / _CURRENT
    old = directory / current.readlink() if current.is_symlink() else None
    swap = directory / "..data_tmp"
    swap.unlink(missing_ok=True)
    swap.symlink_to(fresh.name)
    swap.rename(current)
    for entry in directory.iterdir():
        if not entry.name.startswith("..") and entry.name not in files:
            entry.unlink()
    for name in files:
        link = directory / name
        if not link.is_symlink():
            link.unlink(missing_ok=True)
            link.symlink_to(Path(_CURRENT) / name)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return directory


def secret_files(secret: Mapping[str, object]) -> dict[str, bytes]:
    """Return the decoded ``data`` of a Secret object."""
    data = secret.get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()} if isinstance(data, dict) else {}

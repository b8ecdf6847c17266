"""A one-file image without a builder: the archive format of ``docker save``, same bytes for the same file."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def one_file_image(program: Path, name: str, machine: str, target: Path) -> Path:
    """Write an image ``name`` whose entry point and only file is ``program``; return ``target``.

    ``machine`` is what uname says. It runs as nobody.
    """
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    configuration = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    files = {
        "config.json": json.dumps(configuration).encode(),
        "layer.tar": layer,
        "manifest.json": json.dumps(manifest).encode(),
    }
    target.write_bytes(_tar(files, mode=0o644))
    return target


def _tar(files: dict[str, bytes], mode: int) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return whole.getvalue()

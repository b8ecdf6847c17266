"""What is in an image archive: its configuration, its layers, and the root file system they add up to."""

import hashlib
import json
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One name of a layer, as the tar header has it."""

    path: str
    mode: int  # permission bits, setuid and setgid included
    owner: tuple[int, int]
    time: float  # seconds
    kind: bytes  # a type of tarfile
    size: int
    digest: str  # SHA-256 of a file's content, of a link's target, else ""


class Archive:
    """A docker-archive, which holds layers as plain tar files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (manifest,) = json.loads(self._read("manifest.json"))
        self.names: list[str] = manifest["RepoTags"]
        self.config_bytes = self._read(manifest["Config"])
        self.config: dict[str, Any] = json.loads(self.config_bytes)
        self._layers: list[str] = manifest["Layers"]

    @property
    def diff_ids(self) -> list[str]:
        """The digests of the layers, lowest first."""
        return list(self.config["rootfs"]["diff_ids"])

    def size_from(self, first: int) -> int:
        """Return the bytes of the layers from the given one on, uncompressed."""
        with tarfile.open(self.path) as outer:
            return sum(outer.getmember(name).size for name in self._layers[first:])

    @contextmanager
    def layer(self, number: int) -> Iterator[tarfile.TarFile]:
        """Open one layer."""
        with tarfile.open(self.path) as outer:
            file = outer.extractfile(self._layers[number])
            assert file is not None, self._layers[number]
            with file, tarfile.open(fileobj=file) as inner:
                yield inner

    def contents_from(self, first: int) -> Iterator[tuple[str, bytes]]:
        """Give name and content of every file of the layers from the given one on."""
        for number in range(first, len(self._layers)):
            with self.layer(number) as layer:
                for member in layer:
                    if member.isreg() and (file := layer.extractfile(member)) is not None:
                        yield member.name, file.read()

    def entries_from(self, first: int) -> list[Entry]:
        """List the layers from the given one on."""
        entries = []
        for number in range(first, len(self._layers)):
            with self.layer(number) as layer:
                entries += [_entry(layer, member) for member in layer]
        return entries

    def unpack(self, root: Path) -> None:
        """Lay all layers over each other. Ours remove nothing of a lower one; the tests hold that."""
        for name in self._layers:
            with subprocess.Popen(["tar", "-xOf", self.path, name], stdout=subprocess.PIPE) as outer:
                subprocess.run(["tar", "-C", root, "-xpf", "-"], stdin=outer.stdout, check=True)

    def _read(self, name: str) -> bytes:
        with tarfile.open(self.path) as outer:
            file = outer.extractfile(name)
            assert file is not None, name
            with file:
                return file.read()


def _entry(layer: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    file = layer.extractfile(member) if member.isreg() else None
    content = file.read() if file is not None else member.linkname.encode()
    digest = hashlib.sha256(content).hexdigest() if content else ""
    owner = (member.uid, member.gid)
    return Entry(member.name, member.mode, owner, member.mtime, member.type, member.size, digest)

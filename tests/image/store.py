"""buildah with a storage of its own: nothing is shared with the machine's images, nothing stays behind."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane.build import cache_directory
from image.programs import ImageError, require

_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_SHORT = (Path("/mnt"), Path("/srv"), Path("/media"))
# Private mount and process namespaces: whatever ends this, also SIGKILL of our caller, unmounts and ends
# everything.
ISOLATED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
)


def run_isolated(command: Iterable[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """Run a command in namespaces of its own and return what it printed. Errors: ImageError."""
    words = [str(word) for word in command]
    done = subprocess.run(
        [*ISOLATED, *words],
        env=os.environ | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        raise ImageError(f"{' '.join(words[:6])} ... ended with {done.returncode}:\n{tail}")
    return done.stdout


class Store:
    """Images below one folder, which is removed at the end of the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._needed = (folder.resolve(), Path.cwd(), Path(__file__).resolve())

    def __enter__(self) -> Self:
        require()
        downloads = cache_directory() / "image_downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        temporary = self._folder / "tmp"
        temporary.mkdir(parents=True)
        # Where buildah keeps what RUN --mount=type=cache names; all else of the storage is thrown away.
        (temporary / "buildah-cache").symlink_to(downloads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder)

    def add_base(self, root: Path, name: str) -> None:
        """Make the image ``name`` of one layer out of a root file system as a tar file."""
        container = self._buildah("from", "scratch").strip().splitlines()[-1]
        self._buildah("add", "--quiet", container, root, "/")
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self._buildah("config", "--env", path, container)
        self._buildah("commit", "--quiet", "--rm", "--timestamp", "0", container, name)

    def pull(self, archive: Path) -> None:
        """Take an image, with its name, from an archive that ``export`` wrote."""
        self._buildah("pull", "--quiet", f"docker-archive:{archive}")

    def build(
        self,
        context: Path,
        name: str,
        *,
        arguments: Mapping[str, str] | None = None,
        options: Iterable[str | Path] = (),
        epoch: int = 0,
    ) -> None:
        """Build ``context``/Dockerfile as the image ``name``; ``arguments`` are its ARGs.

        ``epoch`` (seconds) becomes the time of the image and of every file in its layers. The machine's
        bundle of authorities is there during the build, for packages that come through a TLS proxy; it
        enters no layer.
        """
        mounts = ["--volume", f"{_AUTHORITIES}:{_AUTHORITIES}:ro"] if _AUTHORITIES.exists() else []
        given = [f"--build-arg={key}={value}" for key, value in (arguments or {}).items()]
        # chroot: no cgroups and no network of its own, so that it also works inside of containers.
        fixed = ["--isolation", "chroot", "--network", "host", "--layers", "--timestamp", str(epoch)]
        self._buildah("build", *fixed, *mounts, *given, *options, "--tag", name, context)

    def export(self, name: str, archive: Path) -> None:
        """Write the image as a tar file for ``ctr images import``, ``docker load`` and ``kind load``."""
        self._buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}")

    def _buildah(self, *words: str | Path) -> str:
        # Under a short name: with a long one buildah 1.28 leaves out lower layers without an error (seen with
        # seven layers below a path of 70 characters).
        short = next(
            path for path in _SHORT if not any(hidden.is_relative_to(path) for hidden in self._needed)
        )
        bound = ("sh", "-ec", 'mount --bind "$1" "$2"; shift 2; exec "$@"', "sh", self._folder, short)
        # State of mounts is for the one namespace of the command: another one must not believe in it.
        shutil.rmtree(self._folder / "run", ignore_errors=True)
        storage = ("--root", short / "root", "--runroot", short / "run", "--storage-driver", "overlay")
        return run_isolated([*bound, "buildah", *storage, *words], {"TMPDIR": str(short / "tmp")})

"""The image of this working folder: built once for what is in it, by the Dockerfile that a release uses."""

import hashlib
import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from controlplane.progress import Progress
from image.base import NAME as BASE_NAME
from image.base import base_image, base_key
from image.once import made_once
from image.store import Store

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "localhost/toolvet"
_KEPT = 3  # of the cache: a hundred megabytes each
_REVISION = 1  # of the steps in here


@dataclass(frozen=True)
class BuiltImage:
    """An image as files."""

    reference: str  # the name it is loaded under, for example localhost/toolvet:0.1.0
    archive: Path  # docker-archive: what ``ctr images import`` and ``kind load image-archive`` take
    sbom: Path  # CycloneDX, JSON
    base: Path  # the archive of the base: its layers are the first of ``archive``


@dataclass(frozen=True)
class Source:
    """What the build is told of the working folder."""

    version: str
    revision: str  # of the last commit that changed an input; "-dirty" where there are changes since
    epoch: int  # seconds: of that commit, or SOURCE_DATE_EPOCH
    digest: str  # of every input


def built_image() -> BuiltImage:
    """Return the image of this folder, built first where needed: half a minute. Errors: ImageError."""
    base, source = base_image(), read_source()
    digest = hashlib.sha256(f"{_REVISION} {base_key()} {source}".encode()).hexdigest()[:16]

    def make(folder: Path, progress: Progress) -> None:
        build(folder, base, source, progress)

    folder = made_once(f"image-{digest}", "image", make, _KEPT)
    return _result(folder, base, source)


def build(folder: Path, base: Path, source: Source, progress: Progress) -> BuiltImage:
    """Build into an empty folder, from nothing but downloaded packages. Errors: ImageError."""
    result = _result(folder, base, source)
    arguments = {"BASE_IMAGE": BASE_NAME, "VERSION": source.version, "REVISION": source.revision}
    with Store(folder / "storage") as store:
        store.pull(base)
        progress.say("building")
        store.build(ROOT, result.reference, arguments=arguments, epoch=source.epoch)
        store.export(result.reference, result.archive)
        progress.say("listing what is in it")
        listing = folder / "listing"
        output = ("--target", "sbom", "--output", f"type=local,dest={listing}")
        name = f"{REPOSITORY}-sbom:{source.version}"
        store.build(ROOT, name, arguments=arguments, options=output, epoch=source.epoch)
        (listing / "toolvet.cdx.json").rename(result.sbom)
        listing.rmdir()
    return result


def read_source() -> Source:
    """Read what the build depends on: Dockerfile, .dockerignore and all that the latter lets in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    inputs = ["Dockerfile", ".dockerignore", *admitted()]
    digest = hashlib.sha256()
    for path in sorted(_files(inputs)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_mode & 0o777:o} {len(content)}\0".encode())
        digest.update(content)
    committed = _git("log", "-1", "--format=%H %ct", "--", *inputs).split()
    revision, time = committed or ("unknown", "0")
    if committed and _git("status", "--porcelain", "--", *inputs):
        revision += "-dirty"
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or time)
    return Source(project["version"], revision, epoch, digest.hexdigest())


def admitted() -> list[str]:
    """Return the paths, below ROOT, that .dockerignore lets into the build."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def _files(inputs: list[str]) -> list[Path]:
    below = (path for name in inputs for path in (ROOT / name, *(ROOT / name).rglob("*")))
    return [path for path in below if path.is_file() and path.parent.name != "__pycache__"]


def _git(*arguments: str) -> str:
    """Return what git prints; nothing where this is no clone."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _result(folder: Path, base: Path, source: Source) -> BuiltImage:
    reference = f"{REPOSITORY}:{source.version}"
    return BuiltImage(reference, folder / "image.tar", folder / "sbom.cdx.json", base)

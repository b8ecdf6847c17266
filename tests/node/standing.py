"""A node that stands until it is put down: a process in the background owns it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from controlplane.state import PREFIX, owner_runs
from controlplane.waiting import wait_until
from image.build import built_image
from node.bed import Node
from node.release import install

_NOTE = "standing.json"  # in the bed's directory, once everything is ready
_DOWN_SECONDS = 60.0


class StandingError(RuntimeError):
    """There is a node already, or it did not come up."""


def put_up() -> None:
    """Start a node with the product on it and leave it running. Errors: StandingError."""
    if found := _standing():
        raise StandingError(f"a node stands already, in {found[0]}; make node-down ends it")
    # Its complaints and its progress are shown; once it is ready it lets go of the terminal.
    holder = subprocess.Popen(
        [sys.executable, "-m", "node", "hold"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        line = (holder.stdout.readline() if holder.stdout else "").strip()
    except KeyboardInterrupt:
        holder.send_signal(signal.SIGINT)
        holder.wait()
        raise
    if not line:
        holder.wait()
        raise StandingError("the node did not come up")
    told = json.loads(line)
    print(f"""A node with Toolvet on it stands in {told["directory"]} (logs: *.log).

  export KUBECONFIG={told["kubeconfig"]}
  export PATH={told["programs"]}:$PATH

  kubectl get pods -A

make node-down ends it; nothing stays behind.""")


def put_down() -> None:
    """End every node that was put up, and wait until nothing of it is left. Errors: TimeoutError."""
    for directory, pid in _standing():
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda gone=directory: not gone.exists(), _DOWN_SECONDS, f"{directory} is still there")


def hold() -> None:
    """Own a node until SIGTERM or SIGINT; tell the one who started us when it is ready."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C also while it comes up
    image = built_image()
    with Node() as bed:
        bed.load_image(image.archive)
        install(bed, image.reference)
        programs = str(bed.program("kubectl").parent)
        told = {
            "directory": str(bed.directory),
            "kubeconfig": str(bed.kubeconfig()),
            "programs": f"{Path(sys.executable).parent}:{programs}",
        }
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        (bed.directory / _NOTE).write_text(json.dumps(told))
        print(json.dumps(told), flush=True)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nothing, descriptor)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


def _standing() -> list[tuple[Path, int]]:
    """The directories of nodes that were put up, each with the process that owns it."""
    notes = Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{_NOTE}")
    running = [note.parent for note in notes if owner_runs(note.parent.name)]
    return [(directory, int(directory.name.removeprefix(PREFIX).split("-")[0])) for directory in running]

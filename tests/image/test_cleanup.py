"""Nothing of a build stays but the cache, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.waiting import wait_until

TESTS = Path(__file__).parents[1]


def below(folder: Path) -> list[str]:
    """Processes that name a folder, work or are rooted in it, and mounts."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            facts = [process.joinpath("cmdline").read_text(errors="replace")]
            facts += [str(process.joinpath(link).readlink()) for link in ("root", "cwd")]
        except OSError:  # it ended, or is none that we could have started
            continue
        if any(str(folder) in fact for fact in facts):
            found.append(facts[0].replace("\0", " "))
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return found + [mount for mount in mounts if str(folder) in mount]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_ended_leaves_no_process_and_no_mount(number: signal.Signals, roomy: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(TESTS), "XDG_CACHE_HOME": str(roomy)}
    command = [sys.executable, "-m", "image"]
    building = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        # In the middle of debootstrap, in its namespaces.
        packages = "toolvet/*.partial/*/var/cache/apt/archives/*.deb"
        wait_until(lambda: len(list(roomy.glob(packages))) > 5, 60, "no package came")
        assert below(roomy)
        building.send_signal(number)
        building.communicate(timeout=30)
    finally:
        building.kill()
        building.communicate()
    wait_until(lambda: not below(roomy), 10, "something still runs")
    left = [path.name for path in (roomy / "toolvet").iterdir() if path.is_dir()]
    if number == signal.SIGINT:
        assert (building.returncode, left) == (130, [])
    else:  # the next build removes it
        assert all(name.endswith(".partial") for name in left)

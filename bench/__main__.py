"""``python -m bench``: start everything, measure, print, end everything."""

import importlib.metadata
import json
import sys

from bench import report
from bench.arms import Bench
from bench.figures import resident_mib
from bench.records import records
from bench.rounds import Runner
from bench.sources import sources
from bench.startup import measure
from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from controlplane.progress import Progress

_COMMANDS = (["--version"], ["capture", "--help"], ["capture", "missing", "--namespace", "default"])


def main() -> int:
    """Run the bench; returns the exit code. Nothing is asserted: a slow run is not a failed one."""
    with Progress("bench") as progress, ControlPlane() as bed, Installation(bed) as installation:
        progress.say("setting up")
        bench = Bench(bed, installation, progress.say)
        bench.build()
        results = Runner(bench).run()
        # The arms of the gate are one process.
        names = {arm.pid: arm.name.partition(",")[0] for arm in bench.arms if arm.pid is not None}
        resident = [(name, resident_mib(pid)) for pid, name in names.items()]
        progress.say("start-up of the command line")
        startups = [measure(arguments, bed.command_environment()) for arguments in _COMMANDS]
        version = json.loads(bed.kubectl("version", "--output=json").stdout)["serverVersion"]["gitVersion"]
    versions = f"Kubernetes {version}, kopf {importlib.metadata.version('kopf')}"
    parts = [
        report.method(bench.arms, results, versions),
        report.processors(bench.arms, results),
        report.waits(bench.arms, results),
        report.memory(resident),
        report.startups(startups),
        records(),
        sources(),
    ]
    sys.stdout.write("\n\n".join(parts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

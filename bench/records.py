"""Records of ours against the reference library's, in one run: ratios of CPU time."""

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.figures import spread, table
from conformance import reference

ROUNDS = 5
_WORKER = Path(__file__).with_name("records_worker.py")
_SECONDS = 120.0
_AIMS = {"import": "at most 60 ms", "diff": "at most 0.50"}


def _measure(python: str, library: str, path: str) -> dict[str, float]:
    command = [python, str(_WORKER), library]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=_SECONDS
    )
    return json.loads(done.stdout)


def records() -> str:
    """Return the table: each round measures both, one after the other."""
    theirs_python = str(reference.interpreter())
    ours_path = str(_WORKER.parents[1] / "operator")
    rounds = [
        (_measure(sys.executable, "ours", ours_path), _measure(theirs_python, "reference", ""))
        for _ in range(ROUNDS)
    ]
    rows = [["10,000 records, CPU", "ours, ms", "reference, ms", "ratio min", "median", "max", "aim"]]
    for name in rounds[0][0]:
        ratio = spread([ours[name] / theirs[name] for ours, theirs in rounds])
        middles = [spread([pair[side][name] for pair in rounds]).middle for side in (0, 1)]
        rows.append(
            [name, *(f"{middle:.1f}" for middle in middles), *ratio.cells(), _AIMS.get(name, "at most 1.00")]
        )
    return table(rows)


if __name__ == "__main__":
    sys.stdout.write(records() + "\n")

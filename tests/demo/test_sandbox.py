"""``make sandbox``: everything runs until it is told to stop, and then nothing is left."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from controlplane.waiting import wait_until
from story.team import DENIED, workload

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 90.0
STOP_SECONDS = 30.0


def test_a_playground_that_leaves_nothing_behind(tmp_path: Path) -> None:
    told = tmp_path / "told"
    path = os.pathsep.join(str(folder) for folder in (ROOT, ROOT / "tests"))
    with told.open("w") as output:
        sandbox = subprocess.Popen(
            [sys.executable, "-m", "demo", "sandbox"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:

        def ready() -> bool:
            assert sandbox.poll() is None, told.read_text()
            return "Press Ctrl-C" in told.read_text()

        wait_until(ready, READY_SECONDS, "the sandbox is not ready")
        exported = dict(re.findall(r"export (KUBECONFIG|PATH)=(.*)", told.read_text()))
        kubeconfig = Path(exported["KUBECONFIG"])
        environment = {
            "HOME": str(tmp_path),  # kubectl keeps a cache there
            "KUBECONFIG": str(kubeconfig),
            "PATH": exported["PATH"].replace("$PATH", os.environ["PATH"]),
        }

        def kubectl(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
            command = ["kubectl", *arguments]
            return subprocess.run(
                command, env=environment, input=given, capture_output=True, text=True, check=False
            )

        annotated = workload(account="default", annotations={"toolvet.dev/inventory": "missing"})
        refused = kubectl("create", "-n", "playground", "-f", "-", given=json.dumps(annotated))
        assert DENIED in refused.stderr
        assert "kubectl toolvet" in kubectl("toolvet", "--help").stdout
        sandbox.send_signal(signal.SIGTERM)
        assert sandbox.wait(STOP_SECONDS) == 0
        assert not kubeconfig.parent.exists()
    finally:
        sandbox.kill()
        sandbox.wait()

"""``make node-up`` and ``make node-down``: a node that outlives the command, and goes when it is told to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

TESTS = Path(__file__).parents[1]


def test_up_and_down(tmp_path: Path, image: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(TESTS), "TMPDIR": str(tmp_path)}

    def node(command: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "node", command]
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False, timeout=400
        )

    up = node("up")
    try:
        assert up.returncode == 0, up.stderr
        exported = dict(re.findall(r"export (KUBECONFIG|PATH)=(.*)", up.stdout))
        path = exported["PATH"].replace("$PATH", os.environ["PATH"])
        shown = subprocess.run(
            ["kubectl", "get", "pods", "-A", "-o", "name"],
            env={"HOME": str(tmp_path), "KUBECONFIG": exported["KUBECONFIG"], "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(shown.stdout.split()) == 3
        again = node("up")
        assert again.returncode == 1
        assert "stands already" in again.stderr
    finally:
        down = node("down")
    assert down.returncode == 0, down.stderr
    assert not [path for path in tmp_path.iterdir() if path.name != ".kube"]
    assert node("down").returncode == 0

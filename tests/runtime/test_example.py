"""The example of the runtime runs, and shows what its comments say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_captures_checks_invokes_restores_and_refuses():
    finished = subprocess.run(
        [sys.executable, "-I", ROOT / "examples" / "run_binding.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    finding = {
        "tool_id": "tool:org.example/read-note",
        "version": "1.0.0",
        "reasons": ["implementation_changed"],
    }
    captured, *rest = finished.stdout.splitlines()
    assert captured.startswith("captured: sha256:")
    assert rest == [
        "check: eligible",
        "result: {'text': 'two bottles'}",
        "restored: True",
        f"after a reload: {[finding]}",
        "refused: implementation_changed",
    ]
    assert finished.stderr == ""

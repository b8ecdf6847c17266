"""Family ``cli``: the command in a process of its own, in a fresh folder."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from contracts.vectors.vector_codec import decode

Results = dict[str, Any]
_USAGE = 2


def run_case(case: dict[str, Any]) -> Results:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in case["files"].items():
            _put(folder / file, content)
        done = subprocess.run(
            [sys.executable, "-m", "toolvet", "agents", "tools", *case["args"]],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=60,
        )
        written = {file: (folder / file).read_bytes().decode() for file in case.get("expect_files", [])}
    results = {"exit_code": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}
    if done.returncode == _USAGE:
        results["stderr_nonempty"] = bool(done.stderr)
    return results | ({"files": written} if written else {})


def _put(path: Path, content: dict[str, Any]) -> None:
    match content:
        case {"text": text}:
            path.write_bytes(text.encode())
        case {"hex": digits}:
            path.write_bytes(bytes.fromhex(digits))
        case {"json": document}:
            path.write_text(json.dumps(decode(document)), encoding="utf-8")
        case {"zeros": count}:
            path.write_bytes(b" " * count)
        case {"dir": _}:
            path.mkdir()
        case _:
            raise AssertionError(f"unknown content {sorted(content)}")

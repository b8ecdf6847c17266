"""The command ``agents tools`` of the reference, each case in a fresh working folder."""

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

from openmed.cli import typer_app
from typer.testing import CliRunner

Results = dict[str, Any]

_APP = typer_app.build_app()
USAGE = 2


def _cli(case: dict[str, Any]) -> Results:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in case.get("files", {}).items():
            _create(Path(name), content)
        done = CliRunner().invoke(_APP, ["agents", "tools", *case["args"]])
        if done.exit_code == USAGE:  # the usage text is the framework's
            return {"exit_code": USAGE}
        results = {"exit_code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}
        if "expect_files" in case:
            results["files"] = {name: Path(name).read_bytes().decode() for name in case["expect_files"]}
        return results


def _create(path: Path, content: dict[str, Any]) -> None:
    ((kind, value),) = content.items()
    if kind == "dir":
        path.mkdir()
    elif kind == "json":
        path.write_text(json.dumps(value), encoding="utf-8")
    elif kind == "text":
        path.write_bytes(value.encode())
    else:
        path.write_bytes(bytes.fromhex(value) if kind == "hex" else b" " * value)


FAMILIES = {"cli": _cli}

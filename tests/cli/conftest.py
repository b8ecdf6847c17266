"""Runs the command line as people do, and makes the documents it reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(sys.executable).parent


def run(*arguments, program=None, **options):
    command = [program] if program else [sys.executable, "-m", "toolvet"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=60, **options
    )


def digest(character):
    return "sha256:" + character * 64


def record(local_name, version="1.0.0", schema="a", side_effect="read-only", **more):
    return {
        "tool_id": f"tool:org.example/{local_name}",
        "version": version,
        "capability_class": "capability:org.example/x@1.0.0",
        "side_effect_class": side_effect,
        "schema_digest": digest(schema),
    } | more


def document(*records):
    return {"schema_version": "openmed.agent.tool_inventory.v1", "tools": list(records)}


def refused(done, error):
    """The shape of every refusal: exit 2, nothing on standard output, the error first, no traceback."""
    assert done.stderr.splitlines()[:1] == [f"error: {error}"]
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write

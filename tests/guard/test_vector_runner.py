"""``pytest tests/contracts --vectors DIR``: runs any folder, and no folder by mistake."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "contracts" / "vectors"
USAGE_ERROR, FAILED = 4, 1

CASE = {
    "name": "identifiers/mine/000",
    "kind": "mine",
    "input": {"type": "record.version", "value": "1.0.0"},
    "expected": {"ok": True, "serialized": "1.0.0"},
}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # No Go, no kubectl, no control plane on this PATH: none is needed.
    environment = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [
            sys.executable,
            *("-m", "pytest", "tests/contracts/test_vectors.py", "-q", "-p", "no:cacheprovider"),
            "--vectors",
            folder,
            *arguments,
        ],
        cwd=ROOT,
        env=environment | {"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def write(folder: Path, name: str, document: object) -> Path:
    (folder / name).write_text(json.dumps(document))
    return folder


def test_any_folder_runs(tmp_path: Path) -> None:
    shutil.copy(VECTORS / "side_effect.json", tmp_path)
    write(tmp_path, "identifiers.json", [CASE])
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "63 passed" in done.stdout


@pytest.mark.parametrize(
    "expected",
    [
        {"ok": True, "serialized": "1.0.1"},
        {"ok": True, "serialized": "1.0.0", "unheard_of": 1},
        {"ok": False, "error_type": "ToolInventoryError"},
    ],
)
def test_another_result_fails(tmp_path: Path, expected: dict) -> None:
    write(tmp_path, "identifiers.json", [CASE | {"expected": expected}])
    done = run(tmp_path)
    assert done.returncode == FAILED, done.stdout


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("error_type", "GovernanceIdError"),
        ("error_code", "invalid_digest"),
        ("error_field", "tool_id"),
        ("error_message", "version: wrong"),
    ],
)
def test_another_error_fails(tmp_path: Path, member: str, value: str) -> None:
    refused = CASE | {
        "input": {"type": "record.version", "value": "1.0"},
        "expected": {
            "ok": False,
            "error_type": "ToolInventoryError",
            "error_code": "invalid_semver",
            "error_field": "version",
            "error_message": "version: invalid_semver",
        },
    }
    right = tmp_path / "right"
    right.mkdir()
    assert run(write(right, "identifiers.json", [refused])).returncode == 0
    write(tmp_path, "identifiers.json", [refused | {"expected": refused["expected"] | {member: value}}])
    assert run(tmp_path).returncode == FAILED


def test_an_unknown_operation_fails(tmp_path: Path) -> None:
    write(tmp_path, "inventory.json", [CASE | {"input": {"op": "unheard_of"}}])
    assert run(tmp_path).returncode == FAILED


@pytest.mark.parametrize(
    ("name", "document", "complaint"),
    [
        ("eligibility_2.json", [CASE], "unknown family"),
        ("notes.txt", [CASE], "no .json file"),
        ("identifiers.json", [], "no case"),
        ("identifiers.json", {"cases": [CASE]}, "no case"),
        ("identifiers.json", [CASE, CASE], "two cases of one name"),
        ("identifiers.json", [CASE | {"expected": None}], "is not a case"),
    ],
)
def test_nothing_to_run_is_a_usage_error(tmp_path: Path, name: str, document: object, complaint: str) -> None:
    done = run(write(tmp_path, name, document))
    assert done.returncode == USAGE_ERROR, done.stdout
    assert complaint in done.stderr


def test_a_folder_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    assert run(tmp_path / "absent").returncode == USAGE_ERROR
    broken = tmp_path / "identifiers.json"
    broken.write_text("[")
    assert run(tmp_path).returncode == USAGE_ERROR
    assert run(broken).returncode == USAGE_ERROR

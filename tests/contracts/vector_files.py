"""Read a folder of vector files; what cannot be read is a usage error, never a skip."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contracts.families import FAMILIES

DEFAULT_FOLDER = Path(__file__).parent / "vectors"
_MEMBERS = {"name": str, "kind": str, "input": dict, "expected": dict}


@dataclass(frozen=True)
class Case:
    family: str
    name: str
    input: dict[str, Any]
    expected: dict[str, Any]


def read_folder(folder: Path) -> list[Case]:
    if not folder.is_dir():
        raise pytest.UsageError(f"--vectors: no folder {folder}")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise pytest.UsageError(f"--vectors: no .json file in {folder}")
    unknown = [file.name for file in files if file.stem not in FAMILIES]
    if unknown:
        raise pytest.UsageError(f"--vectors: unknown family: {', '.join(unknown)}")
    cases = [case for file in files for case in _read(file)]
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise pytest.UsageError("--vectors: two cases of one name")
    return cases


def _read(file: Path) -> list[Case]:
    try:
        listed = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--vectors: {file.name} cannot be read as JSON") from error
    if not isinstance(listed, list) or not listed:
        raise pytest.UsageError(f"--vectors: no case in {file.name}")
    return [_case(file, index, item) for index, item in enumerate(listed)]


def _case(file: Path, index: int, item: object) -> Case:
    if not isinstance(item, dict) or any(
        not isinstance(item.get(name), kind) for name, kind in _MEMBERS.items()
    ):
        raise pytest.UsageError(f"--vectors: {file.name}[{index}] is not a case")
    return Case(file.stem, item["name"], item["input"], item["expected"])

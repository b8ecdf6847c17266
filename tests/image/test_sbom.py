"""The list of what is in the image names every locked package, and nothing else."""

import json
import re
import subprocess
from typing import Any

import pytest
from packaging.requirements import Requirement

from image.archive import Entry
from image.build import ROOT, BuiltImage, read_source

UV = ROOT / ".tools" / "bin" / "uv"
PYTHON = re.compile(r"opt/toolvet/lib/python(\d+\.\d+)/site-packages/([^/]+)-([^/-]+)\.dist-info/METADATA")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="session")
def listing(image: BuiltImage) -> dict[str, Any]:
    return json.loads(image.sbom.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def installed(entries: list[Entry]) -> set[tuple[str, str]]:
    found = [match.groups() for entry in entries if (match := PYTHON.fullmatch(entry.path))]
    return {(canonical(name), version) for _, name, version in found} - {("toolvet", read_source().version)}


def locked(python: str) -> set[tuple[str, str]]:
    command = [UV, "export", "--frozen", "--no-dev", "--extra", "operator", "--group", "image"]
    shape = ["--no-emit-project", "--no-hashes", "--no-annotate", "--no-header"]
    done = subprocess.run([*command, *shape], cwd=ROOT, capture_output=True, text=True, check=True)
    found = set()
    for line in done.stdout.splitlines():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or marker.evaluate(
            {"python_version": python, "python_full_version": f"{python}.0"}
        ):
            found.add((canonical(requirement.name), str(requirement.specifier).removeprefix("==")))
    return found


def test_it_is_cyclonedx_about_this_version(listing: dict[str, Any]) -> None:
    assert listing["bomFormat"] == "CycloneDX"
    component = listing["metadata"]["component"]
    assert (component["name"], component["version"]) == ("toolvet", read_source().version)
    assert component["type"] == "application"


def test_it_names_every_locked_package_and_what_is_installed(
    listing: dict[str, Any], installed: set[tuple[str, str]], entries: list[Entry]
) -> None:
    named = {(canonical(item["name"]), item["version"]) for item in listing["components"]}
    (python,) = {match[1] for entry in entries if (match := PYTHON.fullmatch(entry.path))}
    assert len(named) > 25
    assert named == installed == locked(python)


def test_every_package_can_be_looked_up(listing: dict[str, Any]) -> None:
    for item in listing["components"]:
        assert item["purl"].startswith("pkg:pypi/"), item["name"]

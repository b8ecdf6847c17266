"""Everything the pages say in a form that can be checked: commands run, links lead somewhere, names exist."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from docs.reader import ROOT, handles_the_release, on_a_cluster_of_its_own, on_the_product
from docs.transcript import Block, blocks, transcript
from toolvet.kube.kinds import KINDS
from toolvet.runtime import BlockReason

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
TRANSCRIPTS = {name: found for name, text in TEXTS.items() if (found := transcript(text))}
LINK = re.compile(r"\]\(([^)\s]+)\)")
VALUE = re.compile(r"^\| `([a-z][A-Za-z.]+)` \|", re.MULTILINE)
TARGET = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)
MAKE = re.compile(r"make ([a-z0-9-]+)( [TK]=\S+)*( *#.*)?")


@pytest.mark.timeout(600)  # README tells the whole demo
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_every_command_does_what_the_page_says(
    name: str, controlplane: ControlPlane, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    steps = TRANSCRIPTS[name]
    if handles_the_release(steps):
        cluster = on_a_cluster_of_its_own(steps, tmp_path)
    else:
        product: Installation = request.getfixturevalue("product")
        cluster = on_the_product(product, tmp_path)
    with cluster as reader:
        for step in steps:
            reader.run(step)


def _objects(block: Block) -> list[dict[str, Any]]:
    found = [document for document in yaml.safe_load_all("\n".join(block.lines)) if document]
    assert found, f"line {block.line}: nothing in it"
    return [document for document in found if isinstance(document, dict) and "apiVersion" in document]


@pytest.mark.parametrize("name", TEXTS)
def test_every_other_block_is_of_a_kind_that_is_checked(name: str) -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    for block in blocks(TEXTS[name]):
        place = f"{name}, line {block.line}"
        if block.language == "sh":
            for line in block.lines:
                target = MAKE.fullmatch(line)
                assert target is not None, f"{place}: only make is shown and not run: use console"
                assert target[1] in targets, f"{place}: make {target[1]}"
        elif block.language == "yaml":
            _objects(block)
        elif block.language == "python":
            ast.parse("\n".join(block.lines))
        else:
            assert block.language in ("console", "text"), f"{place}: {block.language or 'no language'}"


def test_the_api_server_accepts_every_object_shown(product: Installation, namespace: str) -> None:
    shown = [
        (name, obj)
        for name, text in TEXTS.items()
        for block in blocks(text)
        if block.language == "yaml"
        for obj in _objects(block)
    ]
    assert shown
    dry = ("apply", "--server-side", "--dry-run=server", "--namespace", namespace, "--filename", "-")
    for name, obj in shown:
        done = product.bed.kubectl(*dry, input=yaml.safe_dump(obj), check=False)
        assert done.returncode == 0, f"{name}: {obj['kind']}: {done.stderr}"


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    for link in LINK.findall(TEXTS[name]):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


def test_every_example_is_used_by_a_page() -> None:
    commands = "\n".join(step.command for found in TRANSCRIPTS.values() for step in found)
    for path in (ROOT / "examples").iterdir():
        if path.is_file():
            assert f"examples/{path.name}" in commands, path.name


def test_every_value_named_in_a_table_is_one_of_the_chart() -> None:
    values = yaml.safe_load((ROOT / "charts" / "toolvet" / "values.yaml").read_text(encoding="utf-8"))
    named = VALUE.findall(TEXTS["docs/install.md"])
    assert named
    for value in named:
        found = values
        for part in value.split("."):
            assert part in found, value
            found = found[part]


def test_the_governed_kinds_named_are_those_of_the_table() -> None:
    *most, last = (kind.resource.kind for kind in KINDS)
    assert f"{', '.join(most)} and {last}" in " ".join(TEXTS["docs/concepts.md"].split())


def test_every_reason_for_a_blocked_call_is_explained() -> None:
    explained = re.findall(r"^\| `([a-z_]+)` \|", TEXTS["docs/held-calls.md"], re.MULTILINE)
    assert sorted(explained) == sorted(BlockReason)


def test_the_generated_pages_are_up_to_date() -> None:
    command = [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

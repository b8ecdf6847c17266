"""A real server at two releases: what the demo tells is what happens. Digests and counts only."""

import json
import subprocess
import sys

import pytest
from tests.mcp import real_server


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    folder = tmp_path_factory.mktemp("git")
    return [listed(version, folder / f"{version}.json") for version in (real_server.OLDER, real_server.NEWER)]


def listed(version, path):
    server = real_server.installed(real_server.MCP_PACKAGE, version, real_server.CONSTRAINT)
    flags = ["--name", "git", "--id-namespace", "org.example", "--tool-version", "1.0.0", "-o", "json"]
    flags += ["--capability", "capability:org.example/git"]
    done = toolvet("inventory", "from-mcp", *flags, "--", *server)
    assert (done.returncode, done.stderr) == (0, "")
    path.write_text(done.stdout)
    return path


def toolvet(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "toolvet", *arguments], capture_output=True, text=True, check=False
    )


def test_the_next_release_adds_two_tools_and_changes_three(manifests):
    older, newer = manifests
    assert [len(json.loads(path.read_text())["spec"]["tools"]) for path in manifests] == [11, 13]
    done = toolvet("catalog", "diff", str(older), str(newer), "--format", "json")
    assert done.returncode == 1
    diff = json.loads(done.stdout)
    counts = {name: len(diff[name]) for name in ("added", "removed", "changed", "unchanged")}
    assert counts == {"added": 2, "removed": 0, "changed": 3, "unchanged": 8}
    assert {field["field"] for change in diff["changed"] for field in change["fields"]} == {"schema_digest"}


def test_a_restart_changes_nothing(manifests, tmp_path):
    again = listed(real_server.OLDER, tmp_path / "again.json")
    assert again.read_text() == manifests[0].read_text()

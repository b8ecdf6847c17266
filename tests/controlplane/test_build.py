"""What is built once must be built again when, and only when, its inputs change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane import build
from controlplane.toolchain import MINIMUM, WHEEL_VERSION, find_toolchain, parse_go_version

TESTS = Path(__file__).parents[1]

# Stands for a compiler that needs ten minutes: it counts how often it is asked and writes the output.
FAKE_GO = """#!/bin/sh
case "$1" in
  env) echo go1.26.8 ;;
  list) echo one; echo two ;;
  build)
    echo built >> "$FAKE_GO_COUNT"
    [ -z "$FAKE_GO_FAILS" ] || { echo "main.go:1: broken" >&2; exit 1; }
    while [ "$1" != "-o" ]; do shift; done
    sleep 1; echo binary > "$2"; chmod +x "$2" ;;
esac
"""


@pytest.fixture
def source(tmp_path):
    copy = tmp_path / "source"
    shutil.copytree(build.SOURCE, copy)
    return copy


@pytest.fixture
def fake_go(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    script(tools / "go", FAKE_GO)
    return {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "FAKE_GO_COUNT": str(tmp_path / "count"),
        "PYTHONPATH": str(TESTS),
    }


def script(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def start_build(environment):
    return subprocess.Popen(
        [sys.executable, "-m", "controlplane", "build"], env=environment, stderr=subprocess.PIPE, text=True
    )


def test_same_inputs_give_the_same_key(source):
    assert build.cache_key(source, "go1.26.8") == build.cache_key(build.SOURCE, "go1.26.8")


@pytest.mark.parametrize("name", build.SOURCE_FILES)
def test_a_changed_file_gives_another_key(source, name):
    before = build.cache_key(source, "go1.26.8")
    with (source / name).open("a") as file:
        file.write("\n")
    assert build.cache_key(source, "go1.26.8") != before


def test_another_go_gives_another_key(source):
    assert build.cache_key(source, "go1.26.8") != build.cache_key(source, "go1.27.3")


def test_cache_follows_xdg(tmp_path):
    assert build.cache_directory({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "toolvet"
    assert build.cache_directory({}) == Path.home() / ".cache" / "toolvet"


def test_two_sessions_build_once_and_say_so(fake_go, tmp_path):
    sessions = [start_build(fake_go) for _ in range(2)]
    said = [session.communicate(timeout=30)[1] for session in sessions]
    assert [session.returncode for session in sessions] == [0, 0], said
    assert (tmp_path / "count").read_text() == "built\n" * 3  # one of ours, Helm 3, pause
    assert any("compiling" in text for text in said)
    (built,) = (tmp_path / "cache" / "toolvet").glob("controlplane-*[!k]")
    assert {entry.name for entry in built.iterdir()} == {"controlplane", *build.BUILT}


def test_failed_build_says_why_and_leaves_nothing(fake_go, tmp_path):
    session = start_build(fake_go | {"FAKE_GO_FAILS": "1"})
    said = session.communicate(timeout=30)[1]
    assert session.returncode == 1
    assert "main.go:1: broken" in said
    assert "Traceback" not in said
    assert [entry.suffix for entry in (tmp_path / "cache" / "toolvet").iterdir()] == [".lock"]


def test_assets_are_used_instead(tmp_path):
    for name in build.BUILT:
        script(tmp_path / name)
    found = build.programs({"KUBEBUILDER_ASSETS": str(tmp_path), "PATH": ""})
    assert found == {name: tmp_path / name for name in build.BUILT}


def test_assets_are_completed_from_path(tmp_path):
    for name in build.ASSETS_REQUIRED:
        script(tmp_path / "assets" / name)
    for name in ("helm", "kube-controller-manager"):
        script(tmp_path / "path" / name)
    found = build.programs({"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "PATH": str(tmp_path / "path")})
    assert found["helm"] == tmp_path / "path" / "helm"
    assert not found.keys() & set(build.OPTIONAL)


@pytest.mark.parametrize("missing", [name for name in build.BUILT if name not in build.OPTIONAL])
def test_a_missing_asset_is_named(tmp_path, missing):
    for name in build.BUILT:
        if name != missing:
            script(tmp_path / name)
    with pytest.raises(build.BuildError, match=f"^{missing} is not in KUBEBUILDER_ASSETS"):
        build.programs({"KUBEBUILDER_ASSETS": str(tmp_path), "PATH": ""})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go1.27rc1", (1, 27)),
        ("go2.0", (2, 0)),
        ("devel +abc", None),
        ("", None),
    ],
)
def test_go_versions_are_read(text, version):
    assert parse_go_version(text) == version


@pytest.mark.parametrize("answer", ["echo go1.22.12", "echo nonsense", "exit 1"])
def test_an_old_or_broken_go_is_passed_over(tmp_path, answer):
    script(tmp_path / "go", f"#!/bin/sh\n{answer}\n")
    found = find_toolchain(str(tmp_path))
    assert (found.version, found.command) == (f"go{WHEEL_VERSION}", None)


def test_without_go_the_pinned_wheel_is_new_enough(tmp_path):
    found = find_toolchain(str(tmp_path))
    assert parse_go_version(found.version) >= MINIMUM


def test_the_go_on_path_is_used(tmp_path):
    script(tmp_path / "go", "#!/bin/sh\necho go1.26.8\n")
    found = find_toolchain(str(tmp_path))
    assert (found.version, found.command) == ("go1.26.8", tmp_path / "go")

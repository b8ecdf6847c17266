"""What our layers add to the base, and what they say about the image."""

import re
import stat
import tarfile
import tomllib
from pathlib import PurePosixPath

import yaml

from controlplane.build import cache_directory
from image.archive import Archive, Entry
from image.build import ROOT, admitted

LIMIT_BYTES = 120_000_000
HELPERS = (ROOT / "charts" / "toolvet" / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = re.compile(r"^[a-z0-9-]+")


def test_it_stays_small(archive: Archive, first_own_layer: int) -> None:
    size = archive.size_from(first_own_layer)
    print(f"{size / 1e6:.1f} MB above the base")
    assert size < LIMIT_BYTES


def test_the_user_is_the_chart_s_by_number(archive: Archive) -> None:
    ids = [re.findall(rf"{field}: (\d+)", HELPERS) for field in ("runAsUser", "runAsGroup")]
    assert ids == [["65532"], ["65532"]]
    assert archive.config["config"]["User"] == "65532:65532"


def test_it_starts_toolvet_and_no_shell(archive: Archive) -> None:
    config = archive.config["config"]
    assert config["Entrypoint"] == ["toolvet"]
    assert not config.get("Cmd")
    assert config["Env"][0].startswith("PATH=/opt/toolvet/bin:")
    # Authorities and settings of the build stay in the build.
    assert [item.partition("=")[0] for item in config["Env"]] == [
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
    ]


def test_labels_tell_version_and_commit(archive: Archive) -> None:
    labels = archive.config["config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == PROJECT["project"]["version"]
    assert re.fullmatch(r"(unknown|[0-9a-f]{40})(-dirty)?", labels["org.opencontainers.image.revision"])


def test_the_chart_s_default_tag_is_this_version() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "toolvet" / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == PROJECT["project"]["version"]


def test_everything_is_root_s_and_nobody_else_s_to_write(entries: list[Entry]) -> None:
    for entry in entries:
        assert entry.owner == (0, 0), entry
        assert not entry.mode & (stat.S_ISUID | stat.S_ISGID), entry
        if entry.kind != tarfile.SYMTYPE:
            assert not entry.mode & (stat.S_IWGRP | stat.S_IWOTH), entry
            assert entry.mode & stat.S_IROTH, entry
        assert entry.kind in (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE), entry


def test_only_the_environment_and_bytecode_are_added(entries: list[Entry]) -> None:
    for entry in entries:
        path = PurePosixPath(entry.path)
        if path.is_relative_to("opt/toolvet"):
            continue
        if entry.kind == tarfile.DIRTYPE:  # on the way to the others; buildah notes that it mounted in /run
            assert path.parts[0] in ("opt", "usr", "run"), entry
        else:
            assert path.match("usr/lib/python3*/**/*.pyc") or "__pycache__" in path.parts, entry


def test_the_commands_are_ours_and_python(entries: list[Entry]) -> None:
    commands = {PurePosixPath(entry.path).name for entry in entries if "/bin/" in entry.path}
    assert {"toolvet", "kubectl-toolvet", "python3"} <= commands
    assert {name for name in commands if not name.startswith("python")} == {"toolvet", "kubectl-toolvet"}
    programs = [entry.path for entry in entries if entry.kind == tarfile.REGTYPE and entry.mode & 0o111]
    # No compiler, linker or other program comes along with a package: what can be executed is a library.
    assert [path for path in programs if "/bin/" not in path and not re.search(r"\.so(\.|$)", path)] == []


def test_no_tests_caches_or_history_come_along(entries: list[Entry]) -> None:
    unwanted = {
        "test",
        "tests",
        "testing",
        "conftest.py",
        ".git",
        ".cache",
        "pip",
        "uv",
        "wheels",
        "setuptools",
    }
    for entry in entries:
        path = PurePosixPath(entry.path)
        assert not unwanted & set(path.parts), entry
        assert not path.name.startswith(".wh."), entry  # nothing of the base is removed
        assert path.suffix not in (".whl", ".gz", ".lock"), entry


def test_no_path_of_the_building_machine_is_in_it(archive: Archive, first_own_layer: int) -> None:
    paths = [str(ROOT).encode(), str(cache_directory()).encode()]
    for name, content in archive.contents_from(first_own_layer):
        assert not [path for path in paths if path in content], name
    assert not [path for path in paths if path in archive.config_bytes]


def test_only_what_the_wheel_is_made_of_enters_the_build() -> None:
    assert admitted() == ["pyproject.toml", "uv.lock", "README.md", "LICENSE", "operator/toolvet"]


def test_the_image_has_the_commands_requirements_but_for_login_plugins() -> None:
    extras, groups = PROJECT["project"]["optional-dependencies"], PROJECT["dependency-groups"]
    wanted = {item for item in extras["cli"] if NAME.match(item)[0] != "kubernetes"}
    assert wanted <= {*groups["image"], *extras["operator"]}
    assert set(groups["image"]) <= wanted


def test_the_tools_of_the_build_are_the_project_s() -> None:
    (uv,) = re.findall(r"^UV_VERSION = (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"ARG UV_VERSION={uv}\n" in DOCKERFILE

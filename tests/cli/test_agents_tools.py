"""``agents tools`` beyond its vectors: files are changed whole or not at all, and nothing else is touched."""

import os
import stat
import sys

import pytest
from tests.cli.conftest import PROGRAMS, document, record, run

EMPTY = '{"schema_version":"openmed.agent.tool_inventory.v1","tools":[]}\n'
JSON = ("agents", "tools", "--format", "json")
REFUSED = "Unable to render agent tool inventory: "


@pytest.mark.parametrize("program", [PROGRAMS / "toolvet", PROGRAMS / "kubectl-toolvet"])
def test_the_installed_programs_have_it(program):
    done = run(*JSON, program=str(program))
    assert (done.returncode, done.stdout, done.stderr) == (0, EMPTY, "")


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    target, other = tmp_path / "out.json", tmp_path / "other"
    other.touch()
    assert run(*JSON, "-o", str(target)).returncode == 0
    assert target.read_text() == EMPTY
    assert target.stat().st_mode == other.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out.json"]


def test_mode_and_link_of_an_old_file_are_kept(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    assert run(*JSON, "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert real.read_text() == EMPTY
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_device_is_written_to():
    done = run(*JSON, "-o", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, EMPTY)


def test_a_bad_document_leaves_the_old_file(tmp_path, write):
    bad = write("bad.json", document(record("a", version="canary")))
    target = tmp_path / "out.json"
    target.write_text("old")
    done = run("agents", "tools", "--inventory", bad, "-o", str(target))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{REFUSED}tools: unreadable_records\n"
    assert target.read_text() == "old"


@pytest.mark.parametrize("name", ["", "missing/out.json", "."])
def test_what_cannot_be_written_is_one_line(tmp_path, name):
    done = run(*JSON, "-o", f"{tmp_path}/{name}")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{REFUSED}output: write_failed\n")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """The limit on the size of files stands for the disk: RLIMIT_FSIZE fails a write just as ENOSPC does."""
    target = tmp_path / "out.json"
    target.write_text("old")
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
        "sys.argv[0] = 'toolvet'\n"
        "from toolvet.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = run("-c", code, *JSON, "-o", str(target), program=sys.executable, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (1, f"{REFUSED}output: write_failed\n")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]

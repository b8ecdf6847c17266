"""The image under what the chart gives a Pod: read-only root, user 65532, no capability, no new rights."""

import json

import pytest

from image.container import Container

_PROBE = """
import json, os, pathlib
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
try:
    pathlib.Path("/opt/toolvet/written").touch()
    written = "written"
except OSError as error:
    written = error.strerror
facts = {name: status[name].strip() for name in ("CapEff", "CapBnd", "NoNewPrivs")}
print(json.dumps(facts | {"ids": [os.getuid(), os.getgid(), os.getgroups()], "written": written}))
"""

# Every module that a process loads, and whether its bytecode is there and is never compared with its source.
_BYTECODE = """
import importlib, json, sys
for name in {modules}:
    importlib.import_module(name)
wrong = []
for name, module in sorted(sys.modules.items()):
    cached = getattr(getattr(module, "__spec__", None), "cached", None)
    if cached is None or not getattr(module, "__file__", None):
        continue
    try:
        with open(cached, "rb") as file:
            flags = int.from_bytes(file.read(8)[4:], "little")
    except OSError:
        flags = None
    if flags != 1:
        wrong.append([name, flags])
print(json.dumps([len(sys.modules), wrong]))
"""


def test_it_really_runs_without_rights(container: Container) -> None:
    facts = json.loads(container.python(_PROBE))
    assert facts == {
        "CapEff": "0000000000000000",
        "CapBnd": "0000000000000000",
        "NoNewPrivs": "1",
        "ids": [65532, 65532, []],
        "written": "Read-only file system",
    }


@pytest.mark.parametrize(
    "arguments", [("--version",), ("webhook", "--help"), ("controller", "--help"), ("--help",)]
)
def test_every_process_starts(container: Container, arguments: tuple[str, ...]) -> None:
    done = container.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "toolvet" in done.stdout


def test_commands_work_on_files_and_need_no_cluster(container: Container) -> None:
    done = container.run("check", "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_runs_was_compiled_at_build_time(container: Container) -> None:
    modules = ["toolvet.webhook.main", "toolvet.controller.main", "toolvet.cli.app", "kopf", "aiohttp"]
    modules += ["cryptography.x509", "orjson", "yaml", "rfc8785", "toolvet.runtime"]
    count, wrong = json.loads(container.python(_BYTECODE.format(modules=modules)))
    assert count > 500
    assert wrong == []


def test_a_login_plugin_is_refused_by_name(container: Container) -> None:
    # The image has no plugin, so it does without the package that would start it.
    program = "import importlib.util; print(importlib.util.find_spec('kubernetes'))"
    assert container.python(program) == "None\n"

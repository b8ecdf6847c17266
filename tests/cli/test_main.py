"""The entry point: names, help, exit codes, and no traceback whatever happens."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAMS, run


def python(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


def test_help_lists_commands_and_both_processes():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert {"controller", "webhook", "inventory", "catalog", "namespace"} <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("program", "usage"), [("toolvet", "toolvet"), ("kubectl-toolvet", "kubectl toolvet")]
)
def test_usage_says_what_was_typed(program, usage):
    done = run("catalog", "diff", "--help", program=str(PROGRAMS / program))
    assert done.stdout.startswith(f"Usage: {usage} catalog diff ")


def test_version():
    assert run("--version").stdout.startswith("toolvet ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["catalog", "nonsense"],
        ["catalog", "diff", "one"],
        ["catalog", "diff", "a", "b", "c"],
        ["catalog", "diff", "a", "b", "--format", "JSON"],
        ["inventory", "manifest", "x"],
        ["inventory", "from-mcp", "--name", "a"],
        ["inventory", "from-mcp", "--name", "a", "--timeout", "0", "--", "true"],
    ],
)
def test_bad_use_is_exit_2_with_nothing_on_standard_output(arguments):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


FAULT = """
import sys, types
from toolvet import __main__
module = types.ModuleType("toolvet.webhook.main")
def run(argv):
    {body}
module.run = run
sys.modules[module.__name__] = module
sys.exit(__main__.main(["webhook", *sys.argv[1:]]))
"""


@pytest.mark.parametrize(
    ("body", "code", "stderr"),
    [
        ("return len(argv)", 3, ""),
        ("raise KeyboardInterrupt", 130, ""),
        ("from toolvet.core.errors import ContractError; raise ContractError('a', 'b')", 2, "error: a: b\n"),
        ("raise RuntimeError('canary')", 3, "error: internal: RuntimeError\n"),
        ("import kopff", 2, "error: module kopff is missing: install 'toolvet[operator]'\n"),
    ],
)
def test_how_a_process_ends_is_the_exit_code(body, code, stderr):
    done = python(FAULT.format(body=body), "--port", "1", "--help")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", stderr)


def test_the_bare_package_says_which_extra_is_missing():
    done = python(
        "import sys; sys.modules['typer'] = None; from toolvet.__main__ import main; sys.exit(main(['x']))"
    )
    assert (done.returncode, done.stderr) == (2, "error: module typer is missing: install 'toolvet[cli]'\n")


def test_start_up_loads_nothing_heavy():
    heavy = [
        "aiohttp",
        "pydantic",
        "yaml",
        "rfc8785",
        "kopf",
        "kubernetes",
        "cryptography",
        "rich",
        "asyncio",
    ]
    code = f"import sys; import toolvet.cli.app; print([name for name in {heavy} if name in sys.modules])"
    assert python(code).stdout == "[]\n"


def test_a_closed_or_full_output_is_an_error_and_not_a_success(write):
    empty = write("empty.json", '{"schema_version":"openmed.agent.tool_inventory.v1","tools":[]}')
    command = [sys.executable, "-m", "toolvet", "catalog", "diff", empty, empty]
    read_end, write_end = os.pipe()
    os.close(read_end)
    targets = [write_end] + ([os.open("/dev/full", os.O_WRONLY)] if Path("/dev/full").exists() else [])
    for target in targets:
        done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
        os.close(target)
        assert (done.returncode, done.stderr) == (2, "error: output: write_failed\n")


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_only_on_a_terminal_that_wants_them(environment, coloured):
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "toolvet", "catalog", "diff", "/nowhere/a", "/nowhere/b"],
        stderr=theirs,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        | {"TERM": "xterm"}
        | environment,
    )
    os.close(theirs)
    text = os.read(ours, 4096).decode()
    os.close(ours)
    assert "baseline: unreadable_file" in text
    assert ("\x1b[" in text) is coloured

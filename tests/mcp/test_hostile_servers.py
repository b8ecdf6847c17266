"""Whatever a server does: one code, exit 2, nothing on standard output, no text of its, no process left."""

import subprocess
import sys

import pytest

CANARY = "canary"
FAULTS = {
    "dies_at_start": "server: exited",
    "dies_mid_list": "server: exited",
    "floods_one_line": "server: flood",
    "floods_notifications": "server: flood",
    "floods_pings": "server: flood",
    "endless_pages": "server: too_many_pages",
    "repeats_cursor": "server: repeated_cursor",
    "too_many_tools": "server: too_many_tools",
    "duplicate_member": "server: duplicate_member",
    "duplicate_names": "tools[2].name: duplicate_tool_name",
    "invalid_utf8": "server: invalid_encoding",
    "byte_order_mark": "server: byte_order_mark",
    "deep_nesting": "server: too_deep",
    "not_a_number": "server: non_finite_number",
    "non_object_tool": "tools[1]: invalid_type",
    "nameless_tool": "tools[1].name: missing",
    "numeric_name": "tools[0].name: invalid_type",
    "tools_is_an_object": "server: protocol_error",
    "numeric_cursor": "server: protocol_error",
    "prints_a_banner": "server: invalid_json",
    "speaks_no_jsonrpc": "server: malformed",
    "answers_another_question": "server: protocol_error",
    "answers_with_an_error": "server: error_answer",
    "has_no_tools": "server: no_tools_capability",
    "speaks_no_revision": "server: protocol_error",
    "huge_integer": "tools[0].definition: not_canonical",
    "lone_surrogate": "tools[0].definition: not_canonical",
    "text_hint": "tools[0].annotations: invalid_hint",
    "no_input_schema": "tools[1].input_schema: missing",
}


def assert_refused(bench, done, error):
    assert done.stderr.splitlines()[0] == f"error: {error}"
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert CANARY not in done.stderr
    bench.assert_all_gone()


@pytest.mark.parametrize(("fault", "error"), FAULTS.items())
def test_fault(bench, fault, error):
    assert_refused(bench, bench.list("hostile.py", fault), error)


@pytest.mark.parametrize("fault", ["never_answers", "stops_answering"])
def test_silence_ends_at_the_deadline(bench, fault):
    assert_refused(bench, bench.list("hostile.py", fault, options=("--timeout", "1")), "server: no_answer")


@pytest.mark.parametrize("command", ["/nowhere/at-all", "/", ""])
def test_a_command_that_cannot_be_run(command):
    done = subprocess.run(
        [sys.executable, "-m", "toolvet", "inventory", "from-mcp", "--name", "a", "--", command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "error: server: not_started"


def test_every_fault_of_the_script_is_tested(bench):
    script = (bench.folder.__class__(__file__).parent / "servers" / "hostile.py").read_text()
    functions = {line[4:-3] for line in script.splitlines() if line.startswith("def ")}
    assert functions == FAULTS.keys() | {"never_answers", "stops_answering", "refuses_to_go"}

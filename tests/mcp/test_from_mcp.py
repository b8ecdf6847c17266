"""``inventory from-mcp`` on a well-behaved server: the manifest, the mapping, the end."""

import json
import signal

import pytest
import yaml

SPEC_FIELDS = ["toolId", "version", "capabilityClass", "sideEffectClass", "schemaDigest", "implementationId"]


def tools_of(done):
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)["spec"]["tools"]


def test_prints_a_manifest_of_all_pages_sorted_and_content_free(bench):
    done = bench.list("honest.py", options=("-n", "team-a"))
    manifest = yaml.safe_load(done.stdout)
    assert (manifest["apiVersion"], manifest["kind"]) == ("toolvet.dev/v1alpha1", "ToolInventory")
    assert manifest["metadata"] == {"name": "assistant", "namespace": "team-a"}
    tools = tools_of(done)
    assert [list(tool) for tool in tools] == [SPEC_FIELDS] * 4
    assert [(tool["toolId"], tool["sideEffectClass"]) for tool in tools] == [
        ("tool:org.example/append", "non-idempotent-write"),
        ("tool:org.example/delete-file", "destructive"),
        ("tool:org.example/read-file", "read-only"),
        ("tool:org.example/write-file", "idempotent-write"),
    ]
    assert "canary" not in done.stdout
    assert done.stderr == ""
    bench.assert_all_gone()


def test_json_says_the_same_as_yaml(bench):
    as_json = bench.list("honest.py", options=("--output", "json"))
    as_yaml = bench.list("honest.py")
    assert json.loads(as_json.stdout) == yaml.safe_load(as_yaml.stdout)


def test_neither_listing_order_nor_key_order_changes_a_byte(bench):
    assert bench.list("honest.py").stdout == bench.list("honest.py", "--reversed").stdout


def test_server_stderr_is_shown_only_when_asked_for(bench):
    assert "canary is up" in bench.list("honest.py", options=("--show-server-stderr",)).stderr


def test_an_entry_of_the_mapping_wins_over_flags_and_flags_over_its_defaults(bench, tmp_path):
    path = tmp_path / "mapping.yaml"
    path.write_text("""
defaults:
  version: 9.9.9
  idNamespace: org.other
tools:
  delete-file:
    toolId: tool:org.example/remove
    version: 2.0.0
    capabilityClass: capability:org.example/danger@1.0.0
""")
    done = bench.list("honest.py", options=("--mapping", str(path)))
    found = {tool["toolId"]: (tool["version"], tool["capabilityClass"]) for tool in tools_of(done)}
    assert found["tool:org.example/remove"] == ("2.0.0", "capability:org.example/danger@1.0.0")
    assert found["tool:org.example/append"] == ("1.0.0", "capability:org.example/files")


def test_the_printed_mapping_is_the_one_place_with_names_and_can_be_filled_in(bench, tmp_path):
    done = bench.list("honest.py", options=("--print-mapping",), flags=())
    skeleton = yaml.safe_load(done.stdout)
    assert list(skeleton["tools"]) == ["read_file", "Write.File", "delete-file", "append"]
    assert "description" not in done.stdout
    skeleton["defaults"] = {
        "idNamespace": "org.example",
        "version": "1.0.0",
        "capabilityClass": "capability:org.example/files",
    }
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(skeleton))
    assert (
        bench.list("honest.py", options=("--mapping", str(path)), flags=()).stdout
        == bench.list("honest.py").stdout
    )


@pytest.mark.parametrize(
    ("mapping", "error"),
    [
        ("tools: {gone_tool: {}}", "mapping.tools[0]: stale_entry"),
        ("tools: {read_file: {toolId: 'tool:org.example/append'}}", "tools[3].tool_id: collision"),
        (
            "tools: {read_file: {toolId: 'tool:org.example/a@1.0.0'}}",
            "tools[0].tool_id: version_must_be_separate",
        ),
        ("tools: {read_file: {version: '1.0'}}", "tools[0].version: invalid_semver"),
        ("tools: {read_file: {version: 1.0}}", "mapping.tools[0].version: invalid_value"),
        ("tools: {read_file: {colour: red}}", "mapping.tools[0]: unknown_field"),
        ("tools: {read_file: {}, read_file: {}}", "mapping: duplicate_member"),
        ("tools: {7: {}}", "mapping: invalid_key"),
        ("tools: [read_file]", "mapping.tools: invalid_type"),
        ("names: {}", "mapping: unknown_field"),
        ("defaults: {idNamespace: ''}", "mapping.defaults.idNamespace: invalid_value"),
        ("{tools: {}}", "mapping: invalid_json"),
        ('{"tools": {"a": {}, "a": {}}}', "mapping: duplicate_member"),
        ("a: [b", "mapping: invalid_yaml"),
        ("a: &x {}\nb: *x", "mapping: alias_not_supported"),
        ("a: {}\n---\nb: {}", "mapping: multiple_documents"),
        ("\ufeffa: {}", "mapping: byte_order_mark"),
    ],
)
def test_bad_mappings(bench, tmp_path, mapping, error):
    path = tmp_path / "mapping"
    path.write_text(mapping)
    done = bench.list("honest.py", options=("--mapping", str(path)))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: {error}"


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ((), "tools[0].tool_id: missing"),
        (("--id-namespace", "org.example"), "tools[0].version: missing"),
        (("--id-namespace", "org.example", "--tool-version", "1.0.0"), "tools[0].capability_class: missing"),
        (("--id-namespace", "Org"), "id_namespace: invalid_identifier"),
        (("--id-namespace", "org.example/x", "--tool-version", "1"), "id_namespace: invalid_identifier"),
        (("--tool-version", "1.0"), "version: invalid_semver"),
        (("--capability", "tool:org.example/x"), "capability_class: invalid_identifier"),
        (("--name", "default"), "name: reserved_name"),
        (("--name", "Up"), "name: invalid_name"),
        (("--namespace", "a.b"), "namespace: invalid_name"),
        (("--mapping", "/nowhere/at-all"), "mapping: unreadable_file"),
    ],
)
def test_nothing_is_guessed(bench, flags, error):
    done = bench.list("honest.py", flags=flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: {error}"
    bench.assert_all_gone()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_us_and_the_server(bench, number, code):
    process = bench.start("hostile.py", "never_answers")
    bench.wait_for_pids(1)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, "", "")
    bench.assert_all_gone()


def test_a_server_that_will_not_go_is_killed_with_its_children(bench):
    done = bench.list("hostile.py", "refuses_to_go")
    assert len(tools_of(done)) == 1
    bench.wait_for_pids(2)
    bench.assert_all_gone()

"""``inventory manifest``: a contract document becomes a resource, or says why not."""

import json

import pytest
import yaml
from tests.cli.conftest import digest, document, record, refused, run

NAME = ("--name", "assistant")


def test_a_document_becomes_a_resource(write):
    path = write(
        "tools.json", document(record("b", "1.10.0"), record("b", "1.9.0"), record("a", side_effect="none"))
    )
    done = run("inventory", "manifest", *NAME, "-n", "team-a", "--implementation-id", digest("f"), path)
    assert (done.returncode, done.stderr) == (0, "")
    manifest = yaml.safe_load(done.stdout)
    assert manifest["metadata"] == {"name": "assistant", "namespace": "team-a"}
    # Resources are sorted as plain strings, unlike the contract's numeric order.
    assert [(tool["toolId"][-1], tool["version"]) for tool in manifest["spec"]["tools"]] == [
        ("a", "1.0.0"),
        ("b", "1.10.0"),
        ("b", "1.9.0"),
    ]
    assert manifest["spec"]["tools"][0] == {
        "toolId": "tool:org.example/a",
        "version": "1.0.0",
        "capabilityClass": "capability:org.example/x@1.0.0",
        "sideEffectClass": "none",
        "schemaDigest": digest("a"),
        "implementationId": digest("f"),
    }


def test_standard_input_and_json(write):
    text = json.dumps(document(record("a")))
    arguments = ("inventory", "manifest", *NAME, "--implementation-id", digest("f"))
    done = run(*arguments, "-o", "json", "-", input=text)
    assert json.loads(done.stdout) == yaml.safe_load(run(*arguments, write("a.json", text)).stdout)


def test_an_entry_of_the_mapping_wins_over_the_one_digest(write):
    path = write("tools.json", document(record("a"), record("b")))
    mapping = write("map.yaml", f'implementations:\n  "tool:org.example/b 1.0.0": {digest("e")}\n')
    arguments = ("inventory", "manifest", *NAME, "--mapping", mapping, path)
    refused(run(*arguments), "tools[0].implementation_id: missing")
    done = run(*arguments, "--implementation-id", digest("f"))
    found = [tool["implementationId"] for tool in yaml.safe_load(done.stdout)["spec"]["tools"]]
    assert found == [digest("f"), digest("e")]


@pytest.mark.parametrize(
    ("mapping", "error"),
    [
        (
            f"implementations: {{'tool:org.example/gone 1.0.0': {digest('a')}}}",
            "mapping.implementations[0]: stale_entry",
        ),
        (
            "implementations: {'tool:org.example/a 1.0.0': sha256:no}",
            "mapping.implementations[0]: invalid_digest",
        ),
        ("implementations: []", "mapping.implementations: invalid_type"),
        ("tools: {}", "mapping: unknown_field"),
        ("[]", "mapping: invalid_type"),
        ("", "mapping: invalid_type"),
        ("a: 2025-99-99", "mapping: invalid_yaml"),
        ("a: " + "[" * 5000 + "]" * 5000, "mapping: invalid_yaml"),
        ("- " * 100_000, "mapping: invalid_yaml"),
        ("a: !!python/object:os.system {}", "mapping: invalid_yaml"),
        ("a: {b: 1, b: 2}", "mapping: duplicate_member"),
        (b"a: \xff", "mapping: invalid_encoding"),
        ("implementations: {}\n# " + "x" * 10_485_760, "mapping: too_large"),
    ],
)
def test_bad_mappings(write, mapping, error):
    path = write("tools.json", document(record("a")))
    done = run("inventory", "manifest", *NAME, "--mapping", write("map.yaml", mapping), path)
    refused(done, error)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "inventory: invalid_json"),
        ("nonsense", "inventory: invalid_json"),
        ("[]", "inventory: invalid_type"),
        ("{}", "inventory: invalid_fields"),
        (b"\xef\xbb\xbf{}", "inventory: byte_order_mark"),
        (b'{"a": "\xff"}', "inventory: invalid_encoding"),
        ('{"tools": [], "tools": []}', "inventory: duplicate_member"),
        ("[" * 100 + "]" * 100, "inventory: too_deep"),
        ('{"schema_version": NaN}', "inventory: non_finite_number"),
        (b" " * 10_485_761, "inventory: too_large"),
        (document() | {"schema_version": "v2"}, "schema_version: unsupported_version"),
        (document() | {"tools": {}}, "tools: invalid_records"),
        (document(record("a"), record("a", schema="b")), "tools: duplicate_record"),
        (document(record("a"), record("canary", version="1.0")), "tools[1].version: invalid_semver"),
        (
            document(record("a"), record("b", side_effect="canary")),
            "tools[1].side_effect_class: invalid_class",
        ),
        (document(record("Canary")), "tools[0].tool_id: invalid_identifier"),
        (document(record("a"), record("b", canary=1)), "tools[1]: invalid_fields"),
        (document(record("a"), "canary"), "tools[1]: invalid_type"),
        (document(*(record(f"a{index}") for index in range(1001))), "tools: too_many_records"),
    ],
)
def test_bad_documents_name_the_place_and_repeat_no_value(write, content, error):
    done = run("inventory", "manifest", *NAME, "--implementation-id", digest("f"), write("x.json", content))
    refused(done, error)
    assert "canary" not in done.stderr.lower()


def test_bad_paths_and_flags(write, tmp_path):
    path = write("tools.json", document(record("a")))
    refused(run("inventory", "manifest", *NAME, "/nowhere/x"), "inventory: unreadable_file")
    refused(run("inventory", "manifest", *NAME, str(tmp_path)), "inventory: unreadable_file")
    refused(run("inventory", "manifest", *NAME, path), "tools[0].implementation_id: missing")
    refused(
        run("inventory", "manifest", *NAME, path, "--implementation-id", "x"),
        "implementation_id: invalid_digest",
    )
    refused(run("inventory", "manifest", "--name", "default", path), "name: reserved_name")
    refused(run("inventory", "manifest", "--name", "a" * 237, path), "name: name_too_long")

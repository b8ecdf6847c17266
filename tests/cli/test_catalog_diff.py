"""``catalog diff``: documents and manifests in any pairing, and the three exit codes."""

import json

import pytest
import yaml
from tests.cli.conftest import digest, document, record, refused, run

from toolvet.core.catalog_diff import diff_tool_catalogs

OLD = document(record("a"), record("b"), record("gone"))
NEW = document(record("a", schema="c"), record("b"), record("new"))


def manifest(source, kind="ToolInventory", implementation="f", **fields):
    tools = [
        {
            "toolId": item["tool_id"],
            "version": item["version"],
            "capabilityClass": item["capability_class"],
            "sideEffectClass": item["side_effect_class"],
            "schemaDigest": item["schema_digest"],
            "implementationId": digest(implementation),
        }
        for item in source["tools"]
    ]
    spec = {"tools": tools} if kind == "ToolInventory" else {"bindings": tools} | fields
    return {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "assistant"},
        "spec": spec,
    }


def snapshot(source, **more):
    return manifest(
        source, "RunToolCatalogSnapshot", inventoryName="assistant", catalogDigest=digest("0"), **more
    )


def test_text_and_json_are_the_contract_renderings(write):
    paths = write("a.json", OLD), write("b.json", NEW)
    expected = diff_tool_catalogs(OLD, NEW)
    text = run("catalog", "diff", *paths)
    assert (text.returncode, text.stdout, text.stderr) == (1, expected.to_markdown(), "")
    as_json = run("catalog", "diff", *paths, "--format", "json")
    assert (as_json.returncode, as_json.stdout, as_json.stderr) == (1, expected.to_json() + "\n", "")


FORMS = {
    "document": OLD,
    "inventory as JSON": manifest(OLD),
    "inventory as YAML": yaml.safe_dump(manifest(OLD)),
    "snapshot": yaml.safe_dump(snapshot(OLD)),
}


@pytest.mark.parametrize("before", FORMS)
@pytest.mark.parametrize("after", FORMS)
def test_equal_in_any_form_is_exit_0(write, before, after):
    done = run("catalog", "diff", write("a", FORMS[before]), write("b", FORMS[after]))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Unchanged: 3" in done.stdout


def test_what_only_runs_something_else_is_not_equal(write):
    paths = write("a", snapshot(OLD)), write("b", manifest(OLD, implementation="e"))
    text = run("catalog", "diff", *paths)
    assert (text.returncode, text.stderr) == (1, "")
    contract = diff_tool_catalogs(OLD, OLD).to_markdown()
    assert text.stdout.startswith(contract)
    assert text.stdout.removeprefix(contract).count(f"`{digest('f')}` | `{digest('e')}`") == 3
    as_json = run("catalog", "diff", *paths, "--format", "json")
    assert (as_json.returncode, as_json.stdout) == (1, diff_tool_catalogs(OLD, OLD).to_json() + "\n")
    assert "3 implementations differ" in as_json.stderr


def test_one_side_may_be_standard_input(write):
    path = write("a", OLD)
    assert run("catalog", "diff", path, "-", input=json.dumps(OLD)).returncode == 0
    assert run("catalog", "diff", "-", path, input=json.dumps(NEW)).returncode == 1
    refused(run("catalog", "diff", "-", "-", input="{}"), "candidate: standard_input_twice")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", ": unknown_document"),
        ("[]", ": unknown_document"),
        ("a: b", ": unknown_document"),
        (manifest(OLD) | {"kind": "Canary"}, ": unknown_document"),
        (manifest(OLD) | {"kind": ["ToolInventory"]}, ": unknown_document"),
        (manifest(OLD) | {"apiVersion": "v1"}, ": unknown_document"),
        (manifest(OLD) | {"spec": None}, ".spec: invalid_type"),
        (manifest(OLD) | {"spec": {}}, ".spec.tools: missing"),
        (manifest(document(record("a", version="canary"))), ".spec.tools[0].version: invalid_semver"),
        (manifest(document(record("a"), record("a"))), ".spec.tools: duplicate_record"),
        (document(record("a"), record("b", schema="canary")), ".tools[1].schema_digest: invalid_digest"),
        ("kind: ToolInventory\nkind: canary\n", ": duplicate_member"),
        ("a: &a [1]\nb: *a\n", ": alias_not_supported"),
        ("a: {}\n---\nb: {}\n", ": multiple_documents"),
        ('{"a": 1, "a": 2}', ": duplicate_member"),
        (b"\xff\xfe", ": byte_order_mark"),
    ],
)
def test_bad_input_names_its_side(write, content, code):
    good, bad = write("good", OLD), write("bad", content)
    for arguments, side in (((bad, good), "baseline"), ((good, bad), "candidate")):
        done = run("catalog", "diff", *arguments)
        refused(done, side + code)
        assert "canary" not in done.stderr.lower()


def test_the_baseline_is_judged_first(write):
    refused(run("catalog", "diff", "/nowhere/a", "/nowhere/b"), "baseline: unreadable_file")
    refused(run("catalog", "diff", write("a", OLD), "/nowhere/b"), "candidate: unreadable_file")

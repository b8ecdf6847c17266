"""The rules of the four kinds beside the grammar of a record, on the API server."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from crds.api import Resources, refusal
from crds.objects import (
    DIGEST,
    OTHER_DIGEST,
    approval,
    inventory,
    longest_records,
    policy,
    record,
    records,
    snapshot,
)

SOURCES = sorted((Path(__file__).parents[2] / "crds").glob("*.yaml"))
CANARY = "canary"


def definitions() -> list[dict]:
    return [yaml.safe_load(path.read_text()) for path in SOURCES]


def schema_nodes(schema: dict, path: str) -> list[tuple[str, dict]]:
    found = [(path, schema)]
    for name, child in schema.get("properties", {}).items():
        found += schema_nodes(child, f"{path}.{name}")
    if "items" in schema:
        found += schema_nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        found += schema_nodes(schema["additionalProperties"], f"{path}{{}}")
    return found


@pytest.mark.parametrize(
    "definition", definitions(), ids=lambda definition: definition["spec"]["names"]["kind"]
)
def test_every_string_and_list_is_bounded_and_nothing_unknown_is_preserved(definition: dict) -> None:
    (version,) = definition["spec"]["versions"]
    for path, node in schema_nodes(version["schema"]["openAPIV3Schema"], ""):
        if path in (".apiVersion", ".kind"):
            continue
        assert "x-kubernetes-preserve-unknown-fields" not in node, path
        # A map has keys of the sender's choice: there is the one of label selectors.
        assert "additionalProperties" not in node or path.endswith(".agents.matchLabels"), path
        assert "additionalProperties" not in node or "maxProperties" in node, path
        if node["type"] == "string":
            assert "maxLength" in node, path
        if node["type"] == "array":
            assert "maxItems" in node, path
            assert "x-kubernetes-list-type" in node, path
        if path.startswith(".spec"):
            # Each of them makes the API server repeat the value it refuses.
            assert not {"pattern", "enum", "format", "minimum", "maximum"} - {"format"} & set(node), path
            assert node.get("format") in (None, "int32"), path


def test_inventory_and_snapshot_hold_the_same_records() -> None:
    by_kind = {
        definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for definition in definitions()
    }
    tools = by_kind["ToolInventory"]["properties"]["spec"]["properties"]["tools"]
    bindings = by_kind["RunToolCatalogSnapshot"]["properties"]["spec"]["properties"]["bindings"]
    assert tools["items"] == bindings["items"]
    assert tools["maxItems"] == bindings["maxItems"]
    # A fact has no status, and the phase of a held call needs no condition beside it.
    statuses = [
        schema["properties"]["status"]["properties"]
        for kind, schema in by_kind.items()
        if kind not in {"ToolChange", "HeldToolCall"}
    ]
    conditions = [status["conditions"] for status in statuses]
    assert all(one == other for one, other in pairwise(conditions))


def test_a_thousand_records_of_the_greatest_length_are_stored_and_one_more_is_not(
    resources: Resources,
) -> None:
    longest = longest_records(1001)
    full = inventory(*longest[:1000])
    assert len(json.dumps(full)) > 1_150_000
    resources.create(full)
    assert len(resources.patch(full, {"spec": {"tools": longest[1:1001]}})["spec"]["tools"]) == 1000
    assert "Too many" in resources.refusal(inventory(*longest, name="more"))
    evidence = snapshot(*longest[:1000])
    resources.create(evidence)
    told = refusal(lambda: resources.patch(evidence, {"spec": {"bindings": longest[1:1001]}}))
    assert "spec: immutable" in told


def test_a_thousand_records_are_applied_by_kubectl(resources: Resources) -> None:
    text = json.dumps(inventory(*longest_records(1000)))
    for _ in range(2):
        resources.bed.kubectl(
            "apply", "--server-side", "--namespace", resources.namespace, "--filename", "-", input=text
        )


def test_no_tools_and_no_bindings_are_valid(resources: Resources) -> None:
    assert resources.accepts(inventory())
    assert resources.accepts(snapshot())


def test_an_inventory_is_not_named_default_and_leaves_room_for_the_snapshots_name(
    resources: Resources,
) -> None:
    assert "metadata.name: reserved_name" in resources.refusal(inventory(name="default"))
    assert resources.accepts(inventory(name="n" * 236))
    assert "metadata.name: name_too_long" in resources.refusal(inventory(name="n" * 237))
    assert resources.accepts(snapshot(inventoryName="n" * 236))


def test_a_snapshot_is_named_after_inventory_and_digest(resources: Resources) -> None:
    assert resources.accepts(snapshot())
    for name in (
        "assistant",
        f"assistant-{OTHER_DIGEST[7:23]}",
        f"other-{DIGEST[7:23]}",
        f"assistant-{'a' * 15}",
    ):
        assert "metadata.name: wrong_name" in resources.refusal(snapshot(name=name))
    told = resources.refusal(snapshot(catalogDigest=CANARY, name="assistant-x"))
    assert "catalog_digest: invalid_digest" in told
    assert CANARY not in told


def test_a_snapshots_run_id_has_the_contracts_form(resources: Resources) -> None:
    assert resources.accepts(snapshot(runId="run_" + "0a" * 16))
    for bad in ("act_" + "0a" * 16, "run_" + "0A" * 16, "run_" + "0a" * 15, CANARY):
        told = resources.refusal(snapshot(runId=bad))
        assert "run_id: invalid_identifier" in told
        assert bad not in told


def test_a_snapshots_spec_never_changes_and_its_metadata_may(resources: Resources) -> None:
    evidence = snapshot(record())
    resources.create(evidence)
    for change in ({"bindings": []}, {"runId": "run_" + "0a" * 16}, {"capturedBy": "admin"}):
        assert "spec: immutable" in refusal(lambda change=change: resources.patch(evidence, {"spec": change}))
    resources.patch(evidence, {"metadata": {"labels": {"team": "a"}}})
    resources.patch(evidence, {"spec": {"bindings": [record()]}})


def test_an_approval_changes_only_from_given_to_revoked(resources: Resources) -> None:
    given = approval(expiresAt="2030-01-31T12:00:00Z")
    assert resources.create(given)["spec"]["revoked"] is False
    for change in (
        {"approvedBy": "other"},
        {"expiresAt": "2031-01-31T12:00:00Z"},
        {"expiresAt": None},
        {"snapshotDigest": DIGEST},
        {"catalogDigest": OTHER_DIGEST, "snapshotName": f"assistant-{OTHER_DIGEST[7:23]}"},
        {"inventoryName": "other", "snapshotName": f"other-{DIGEST[7:23]}"},
    ):
        assert "spec: immutable" in refusal(lambda change=change: resources.patch(given, {"spec": change}))
    assert resources.patch(given, {"spec": {"revoked": True}})["spec"]["revoked"] is True
    for back in (False, None):
        told = refusal(lambda back=back: resources.patch(given, {"spec": {"revoked": back}}))
        assert "revoked: immutable" in told


def test_an_approval_names_its_snapshot_by_the_digest(resources: Resources) -> None:
    for bad in ("assistant", f"other-{DIGEST[7:23]}", f"assistant-{OTHER_DIGEST[7:23]}"):
        assert "snapshot_name: wrong_name" in resources.refusal(approval(snapshotName=bad))
    for field, code in (("snapshotDigest", "snapshot_digest"), ("catalogDigest", "catalog_digest")):
        told = resources.refusal(approval(**{field: CANARY}))
        assert f"{code}: invalid_digest" in told
        assert CANARY not in told


def test_expiry_is_a_moment_that_exists_in_utc(resources: Resources) -> None:
    for good in (
        "2030-01-31T12:00:00Z",
        "2030-01-31T12:00:00.123456Z",
        "2028-02-29T23:59:59Z",
        "2000-02-29T00:00:00Z",
    ):
        assert resources.accepts(approval(expiresAt=good))
    for bad in (
        "canary",
        "2031-01-31",
        "2031-01-31T12:00:00",
        "2031-01-31T12:00:00+02:00",
        "2031-01-31t12:00:00z",
        "2031-01-31 12:00:00Z",
        "2027-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2031-04-31T00:00:00Z",
        "2031-13-01T00:00:00Z",
        "2031-01-31T24:00:00Z",
        "2031-01-31T12:00:60Z",
        "0000-01-01T00:00:00Z",
        "2031-01-31T12:00:00Z\n",
        "",
    ):
        told = resources.refusal(approval(expiresAt=bad))
        assert "expires_at: invalid_time" in told, bad
        assert not bad or bad not in told


def test_approvals_are_listed_by_snapshot_and_by_inventory(resources: Resources) -> None:
    resources.create(approval("first"))
    resources.create(approval("second", inventoryName="other", snapshotName=f"other-{DIGEST[7:23]}"))
    base = resources.path(approval()).partition("?")[0]
    for selector, name in (
        (f"spec.snapshotName=assistant-{DIGEST[7:23]}", "first"),
        ("spec.inventoryName=other", "second"),
    ):
        found = resources.bed.api("GET", f"{base}?fieldSelector={selector}&limit=64")
        assert [item["metadata"]["name"] for item in found["items"]] == [name]


def test_there_is_one_policy_and_its_numbers_are_bounded(resources: Resources) -> None:
    assert resources.create(policy(), dry_run=True)["spec"] == {
        "requiredApprovals": 1,
        "reviewOn": "AnyChange",
    }
    assert resources.accepts(
        policy(requiredApprovals=10, overrides=[{"namespaces": ["a"], "requiredApprovals": 2}])
    )
    assert "metadata.name: wrong_name" in resources.refusal(policy("other"))
    for number in (0, -1, 11, 4711):
        told = resources.refusal(policy(requiredApprovals=number))
        assert "required_approvals: out_of_range" in told
        assert f"{number} " not in told.replace("1 to 10", "").replace("422 ", "")
        override = {"namespaces": ["a"], "requiredApprovals": number}
        assert "spec.overrides[0]" in resources.refusal(policy(overrides=[override]))


def test_a_namespace_is_overridden_once(resources: Resources) -> None:
    def overrides(*lists: list[str]) -> dict:
        return policy(overrides=[{"namespaces": names, "requiredApprovals": 2} for names in lists])

    assert resources.accepts(overrides(["a", "b"], ["c"]))
    told = resources.refusal(overrides(["a", CANARY], ["c"], ["d", CANARY]))
    assert "overrides: duplicate_namespace" in told
    assert CANARY not in told
    assert "namespaces: empty" in resources.refusal(overrides([]))
    for bad in ("Canary", "canary.a", "-canary", "canary\n", ""):
        told = resources.refusal(overrides([bad]))
        assert "namespaces: invalid_name" in told
        assert not bad or bad not in told
    # The most there can be, and no two alike until their ends: it must fit the API server's cost limit.
    full = [[f"{'n' * 58}-{row:02d}{column:02d}" for column in range(64)] for row in range(16)]
    assert resources.accepts(overrides(*full))
    assert "Too many" in resources.refusal(overrides(*full, ["one-more"]))


def test_columns_and_names_are_what_kubectl_shows(resources: Resources) -> None:
    one, evidence, given = inventory(record()), snapshot(record()), approval(expiresAt="2030-01-31T12:00:00Z")
    for obj in (one, evidence, given):
        resources.create(obj)

    def condition(kind: str) -> dict:
        return {
            "type": kind,
            "status": "True",
            "reason": "approved",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }

    resources.patch(
        one,
        {
            "status": {
                "toolCount": 1,
                "digest": "a" * 12,
                "workloads": {"governed": 3, "eligible": 1, "drifted": 2},
                "conditions": [condition("Approved")],
            }
        },
        "status",
    )
    resources.patch(
        evidence,
        {
            "status": {
                "digest": "a" * 12,
                "reasons": ["schema_changed"],
                "conditions": [condition("Approved"), condition("Eligible")],
            }
        },
        "status",
    )
    resources.patch(given, {"status": {"conditions": [condition("Valid")]}}, "status")

    def table(names: str) -> list[list[str]]:
        shown = resources.bed.kubectl("get", names, "--namespace", resources.namespace).stdout
        return [line.split() for line in shown.splitlines()]

    assert table("tvinv")[0] == ["NAME", "TOOLS", "DIGEST", "APPROVED", "DRIFTED", "AGE"]
    assert table("tvinv")[1][:5] == ["assistant", "1", "a" * 12, "True", "2"]
    assert table("tvsnap")[0] == ["NAME", "INVENTORY", "DIGEST", "APPROVED", "ELIGIBLE", "REASONS", "AGE"]
    assert table("tvsnap")[1][1:6] == ["assistant", "a" * 12, "True", "True", '["schema_changed"]']
    assert table("tvappr")[0] == ["NAME", "SNAPSHOT", "BY", "EXPIRES", "REVOKED", "VALID", "AGE"]
    assert table("tvappr")[1][2:6] == ["admin", "2030-01-31T12:00:00Z", "false", "True"]
    shown = resources.bed.kubectl(
        "get", "toolvet", "--namespace", resources.namespace, "--output", "name"
    ).stdout
    assert len(shown.split()) == 3


def test_a_status_write_cannot_touch_the_spec_and_a_spec_write_not_the_status(resources: Resources) -> None:
    one = inventory(*records(2))
    resources.create(one)
    changed = resources.patch(one, {"spec": {"tools": []}, "status": {"toolCount": 2}}, "status")
    assert len(changed["spec"]["tools"]) == 2
    assert resources.patch(one, {"status": {"toolCount": 9}})["status"]["toolCount"] == 2

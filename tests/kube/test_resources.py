"""Stored objects to core records and back: a place and a code for every fault, and never a value."""

import traceback
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.build import KEYS, binding, catalog, digest, random_catalog, seeded
from toolvet.core.approval import snapshot_name
from toolvet.core.errors import ContractError
from toolvet.core.policy import AgentSelector, Policy
from toolvet.kube.manifest import json_text, read_document, yaml_text
from toolvet.kube.names import INVENTORIES, POLICIES, SNAPSHOTS
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    catalog_from_snapshot,
    manifest,
    policies_from_object,
    run_id_of,
    snapshot_from_object,
    timestamp,
    tools_to_spec,
)
from toolvet.kube.shapes import MAX_TOOLS

CANARY = "canary"
UID = "01234567-89ab-cdef-0123-456789ABCDEF"
TOOL = {
    "toolId": "tool:org.example/search",
    "version": "1.0.0",
    "capabilityClass": "capability:org.example/text@1.0.0",
    "sideEffectClass": "read-only",
    "schemaDigest": digest("schema"),
    "implementationId": digest("implementation"),
}
SNAPSHOT = {"inventoryName": "assistant", "catalogDigest": digest("claimed"), "bindings": [TOOL]}
APPROVAL = {
    "inventoryName": "assistant",
    "snapshotName": snapshot_name("assistant", digest("catalog")),
    "snapshotDigest": digest("snapshot"),
    "catalogDigest": digest("catalog"),
    "approvedBy": "alice",
}
CREATED = datetime(2030, 1, 1, tzinfo=UTC)


def stored(spec: object) -> dict[str, Any]:
    created = "2030-01-01T00:00:00Z"
    return {"metadata": {"name": "stored", "uid": UID, "creationTimestamp": created}, "spec": spec}


def approval(spec: object, guarded_since: datetime | None = CREATED - timedelta(seconds=1)):
    return approval_from_object(stored(spec), guarded_since)


def inventory(spec: object):
    return catalog_from_inventory(stored(spec))


def snapshot(spec: object):
    return snapshot_from_object(stored(spec))


def policies(spec: object):
    return policies_from_object(stored(spec))


def one_tool(**members: object) -> dict[str, Any]:
    """An inventory whose second tool has these members; None takes one away."""
    tool = {key: value for key, value in {**TOOL, "version": "2.0.0", **members}.items() if value is not None}
    return {"tools": [TOOL, tool]}


FAULTS = [
    (inventory, None, "spec: invalid_type"),
    (inventory, [CANARY], "spec: invalid_type"),
    (inventory, {}, "spec.tools: missing"),
    (inventory, {"tools": CANARY}, "spec.tools: invalid_type"),
    (inventory, {"tools": {CANARY: 1}}, "spec.tools: invalid_type"),
    (inventory, {"tools": [], CANARY: 1}, "spec: unknown_field"),
    (inventory, {"tools": [TOOL, CANARY]}, "spec.tools[1]: invalid_type"),
    (inventory, {"tools": [TOOL] * (MAX_TOOLS + 1)}, "spec.tools: too_many_items"),
    (inventory, {"tools": [TOOL, TOOL]}, "spec.tools: duplicate_record"),
    (inventory, {"tools": [TOOL, TOOL | {"version": "0.9.0"}]}, "spec.tools: unsorted_records"),
    (
        inventory,
        {"tools": [TOOL, TOOL | {"schemaDigest": digest("other")}]},
        "spec.tools: duplicate_record",
    ),
    (inventory, one_tool(**{CANARY: CANARY}), "spec.tools[1]: unknown_field"),
    (inventory, one_tool(tool_id=CANARY), "spec.tools[1]: unknown_field"),
    (inventory, one_tool(toolId=CANARY), "spec.tools[1].tool_id: invalid_identifier"),
    (inventory, one_tool(toolId="tool:a.b/canary@1.0.0"), "spec.tools[1].tool_id: version_must_be_separate"),
    (inventory, one_tool(version=CANARY), "spec.tools[1].version: invalid_semver"),
    (inventory, one_tool(capabilityClass=CANARY), "spec.tools[1].capability_class: invalid_identifier"),
    (inventory, one_tool(sideEffectClass=CANARY), "spec.tools[1].side_effect_class: invalid_class"),
    (inventory, one_tool(schemaDigest=CANARY), "spec.tools[1].schema_digest: invalid_digest"),
    (inventory, one_tool(implementationId=CANARY), "spec.tools[1].implementation_id: invalid_digest"),
    *((inventory, one_tool(**{name: None}), f"spec.tools[1].{name}: missing") for name in TOOL),
    *((inventory, one_tool(**{name: 1}), f"spec.tools[1].{name}: invalid_type") for name in TOOL),
    *((inventory, one_tool(**{name: [CANARY]}), f"spec.tools[1].{name}: invalid_type") for name in TOOL),
    (snapshot, SNAPSHOT | {"bindings": [TOOL, TOOL]}, "spec.bindings: duplicate_record"),
    (
        snapshot,
        SNAPSHOT | {"bindings": [TOOL | {"version": CANARY}]},
        "spec.bindings[0].version: invalid_semver",
    ),
    (snapshot, SNAPSHOT | {"runId": CANARY}, "run_id: invalid_identifier"),
    (snapshot, SNAPSHOT | {"runId": "act_" + "0" * 32}, "run_id: wrong_identifier_kind"),
    (snapshot, SNAPSHOT | {CANARY: CANARY}, "spec: unknown_field"),
    (snapshot, SNAPSHOT | {"inventoryName": 1}, "spec.inventoryName: invalid_type"),
    (approval, APPROVAL | {"expiresAt": CANARY}, "spec.expiresAt: invalid_time"),
    (approval, APPROVAL | {"expiresAt": "2030-01-01T00:00:00"}, "spec.expiresAt: invalid_time"),
    (approval, APPROVAL | {"expiresAt": 1}, "spec.expiresAt: invalid_type"),
    (approval, APPROVAL | {"revoked": "true"}, "spec.revoked: invalid_type"),
    (approval, APPROVAL | {"revoked": 1}, "spec.revoked: invalid_type"),
    *((approval, {**APPROVAL, name: None}, f"spec.{name}: invalid_type") for name in APPROVAL),
    (policies, {"requiredApprovals": 0}, "spec.requiredApprovals: out_of_range"),
    (policies, {"requiredApprovals": 11}, "spec.requiredApprovals: out_of_range"),
    (policies, {"requiredApprovals": True}, "spec.requiredApprovals: invalid_type"),
    (policies, {"requiredApprovals": 1.0}, "spec.requiredApprovals: invalid_type"),
    (policies, {"maxApprovalAge": CANARY}, "spec.maxApprovalAge: invalid_duration"),
    (policies, {"maxApprovalAge": "0h"}, "spec.maxApprovalAge: invalid_duration"),
    (policies, {"maxApprovalAge": "9" * 30 + "h"}, "spec.maxApprovalAge: invalid_duration"),
    (policies, {"deliverySubjects": [CANARY, 1]}, "spec.deliverySubjects[1]: invalid_type"),
    (policies, {"agents": {"matchLabels": {CANARY: 1}}}, "spec.agents.matchLabels: invalid_type"),
    (policies, {"agents": {"matchLabels": {1: CANARY}}}, "spec.agents.matchLabels: invalid_type"),
    (policies, {"agents": {CANARY: 1}}, "spec.agents: unknown_field"),
    (policies, {"overrides": [{"namespaces": []}]}, "spec.overrides[0].namespaces: too_few_items"),
    (
        policies,
        {"overrides": [{"namespaces": [CANARY]}, {"namespaces": ["b", CANARY]}]},
        "spec.overrides[1].namespaces: duplicate_namespace",
    ),
    (
        policies,
        {"overrides": [{"namespaces": ["a"], "maxApprovalAge": CANARY}]},
        "spec.overrides[0].maxApprovalAge: invalid_duration",
    ),
    (policies, {"overrides": [{"namespaces": ["a"], CANARY: 1}]}, "spec.overrides[0]: unknown_field"),
]


@pytest.mark.parametrize(("read", "spec", "text"), FAULTS)
def test_every_fault_has_a_place_and_a_code_and_no_value(read, spec, text) -> None:
    with pytest.raises(ContractError) as caught:
        read(spec)
    assert str(caught.value) == text
    assert caught.value.__context__ is None
    shown = [line for line in traceback.format_exception(caught.value) if not line.startswith("  File")]
    assert CANARY not in "".join(shown)


# What is understood


def test_an_inventory_is_its_catalog() -> None:
    found = inventory({"tools": [TOOL | {"toolId": "tool:a.b/z"}, TOOL]})
    assert [item.tool.tool_id for item in found.bindings] == ["tool:a.b/z", TOOL["toolId"]]
    assert found.bindings[1] == binding("search")
    assert inventory({"tools": []}).bindings == ()


def test_inventories_and_snapshots_of_one_list_have_one_digest() -> None:
    random = seeded(21)
    for _ in range(300):
        held = random_catalog(random, KEYS)
        tools = tools_to_spec(held)
        assert tools == sorted(tools, key=lambda tool: f"{tool['toolId']} {tool['version']}")
        assert inventory({"tools": tools}).bindings == held.bindings
        taken = snapshot(SNAPSHOT | {"bindings": tools})
        assert taken.catalog.digest == held.digest
        assert catalog_from_snapshot({"spec": SNAPSHOT | {"bindings": tools}}).digest == held.digest


def test_a_snapshot_claims_nothing() -> None:
    found = snapshot(SNAPSHOT)
    assert (found.name, found.inventory_name) == ("stored", "assistant")
    assert found.catalog.digest == catalog().digest != SNAPSHOT["catalogDigest"]


def test_the_run_id_is_the_declared_one_or_the_uid() -> None:
    declared = "run_" + "f" * 32
    assert str(run_id_of(stored({}), declared)) == declared
    assert str(run_id_of(stored({}), None)) == "run_0123456789abcdef0123456789abcdef"
    assert snapshot(SNAPSHOT).evidence.digest != snapshot(SNAPSHOT | {"runId": declared}).evidence.digest
    recreated = stored(SNAPSHOT)
    recreated["metadata"]["uid"] = UID.replace("0", "f")
    assert snapshot_from_object(recreated).evidence.digest != snapshot(SNAPSHOT).evidence.digest
    for uid in ("", "x" * 32):
        with pytest.raises(ContractError):
            run_id_of({"metadata": {"uid": uid}}, None)


def test_an_approval_is_read_whole() -> None:
    found = approval(APPROVAL | {"expiresAt": "2030-06-01T00:00:00Z", "revoked": True})
    assert found.name == "stored"
    assert (found.inventory_name, found.snapshot_name) == ("assistant", APPROVAL["snapshotName"])
    assert (found.snapshot_digest, found.catalog_digest) == (digest("snapshot"), digest("catalog"))
    assert found.approved_by == "alice"
    assert found.expires_at == datetime(2030, 6, 1, tzinfo=UTC)
    assert found.revoked
    plain = approval(APPROVAL | {"expiresAt": None, "revoked": None})
    assert (plain.expires_at, plain.revoked, plain.created_at) == (None, False, CREATED)


@pytest.mark.parametrize(
    ("since", "verified"),
    [
        (None, False),
        (CREATED + timedelta(seconds=1), False),
        (CREATED, False),  # time stamps are whole seconds
        (CREATED - timedelta(seconds=1), True),
    ],
)
def test_an_approval_is_vouched_for_by_an_older_guard(since, verified) -> None:
    assert approval(APPROVAL, since).origin_verified is verified


def test_policies_are_completed_from_the_cluster_wide_rules() -> None:
    found = policies(
        {
            "requiredApprovals": 2,
            "maxApprovalAge": "1h30m",
            "deliverySubjects": ["flux"],
            "overrides": [
                {"namespaces": ["a", "b"], "requiredApprovals": 3},
                {"namespaces": ["c"], "deliverySubjects": [], "agents": {"all": True}},
            ],
        }
    )
    base = Policy(2, timedelta(hours=1, minutes=30), frozenset({"flux"}))
    assert found.for_namespace("other") == base
    assert found.for_namespace("a") == found.for_namespace("b")
    assert found.for_namespace("b") == Policy(3, base.max_approval_age, base.delivery_subjects)
    everything = AgentSelector(everything=True)
    assert found.for_namespace("c") == Policy(2, base.max_approval_age, frozenset(), everything)
    assert policies({}).for_namespace("any") == Policy()


@pytest.mark.parametrize(
    "text", ["2030-01-01", "2030-01-01T00:00:00", "", "now", "2030-13-01T00:00:00Z", "1e9", "\u0662030-01-01"]
)
def test_a_time_without_a_zone_is_none(text) -> None:
    with pytest.raises(ContractError) as caught:
        timestamp(text, "spec.expiresAt")
    assert str(caught.value) == "spec.expiresAt: invalid_time"


# As text


def test_manifests_survive_both_forms() -> None:
    random = seeded(22)
    for _ in range(100):
        held = random_catalog(random, KEYS)
        obj = manifest(INVENTORIES, "assistant", "team-a", {"tools": tools_to_spec(held)})
        assert list(obj) == ["apiVersion", "kind", "metadata", "spec"]
        for text in (yaml_text(obj), json_text(obj)):
            assert text.isascii()
            assert read_document(text.encode(), field="manifest") == obj
            assert catalog_from_inventory(obj).digest == held.digest


def test_a_manifest_has_a_namespace_where_it_is_given_one() -> None:
    assert manifest(SNAPSHOTS, "a", None, {})["metadata"] == {"name": "a"}
    assert manifest(POLICIES, "default", None, {})["kind"] == "CatalogPolicy"
    assert manifest(INVENTORIES, "a", "b", {})["metadata"] == {"name": "a", "namespace": "b"}

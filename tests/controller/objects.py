"""Our resources as a team would write them, with digests computed by the core."""

from __future__ import annotations

from typing import Any

from toolvet.core.approval import snapshot_name
from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.inventory import ToolInventoryRecord
from toolvet.core.side_effect import SideEffectClass
from toolvet.kube.names import APPROVALS, INVENTORIES, POLICIES, SNAPSHOTS
from toolvet.kube.resources import manifest, snapshot_from_object, tools_to_spec

AGENT = "assistant"


def digest(seed: int | str) -> str:
    return "sha256:" + f"{seed:x}".rjust(64, "0") if isinstance(seed, int) else "sha256:" + seed * 64


def binding(
    name: str,
    *,
    schema: int | str = "a",
    implementation: int | str = "b",
    side_effect: SideEffectClass = SideEffectClass.READ_ONLY,
    capability: str = "text",
    domain: str = "org.example",
) -> ToolBinding:
    record = ToolInventoryRecord(
        f"tool:{domain}/{name}",
        "1.0.0",
        f"capability:org.example/{capability}@1.0.0",
        side_effect,
        digest(schema),
    )
    return ToolBinding(record, digest(implementation))


def catalog(*bindings: ToolBinding) -> Catalog:
    return Catalog(tuple(bindings))


def inventory(found: Catalog, name: str = AGENT, namespace: str | None = None) -> dict[str, Any]:
    return manifest(INVENTORIES, name, namespace, {"tools": tools_to_spec(found)})


def snapshot(found: Catalog, name: str = AGENT, namespace: str | None = None) -> dict[str, Any]:
    spec = {
        "inventoryName": name,
        "catalogDigest": found.digest,
        "bindings": tools_to_spec(found),
        "runId": "run_" + "0" * 31 + "1",
    }
    return manifest(SNAPSHOTS, snapshot_name(name, found.digest), namespace, spec)


def approval(
    of: dict[str, Any],
    by: str = "admin",
    *,
    name: str = "yes",
    expires_at: str | None = None,
    revoked: bool = False,
) -> dict[str, Any]:
    reviewed = snapshot_from_object(of)
    spec: dict[str, Any] = {
        "inventoryName": reviewed.inventory_name,
        "snapshotName": reviewed.name,
        "snapshotDigest": reviewed.evidence.digest,
        "catalogDigest": reviewed.catalog.digest,
        "approvedBy": by,
        "revoked": revoked,
    }
    if expires_at is not None:
        spec["expiresAt"] = expires_at
    return manifest(APPROVALS, name, of["metadata"].get("namespace"), spec)


def policy(required: int) -> dict[str, Any]:
    return manifest(POLICIES, "default", None, {"requiredApprovals": required})


def deployment(
    name: str = AGENT, account: str = AGENT, kind: str = "Deployment", **annotations: str
) -> dict[str, Any]:
    binds = {f"toolvet.dev/{key}": value for key, value in annotations.items()}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": binds},
        "spec": {
            "serviceAccountName": account,
            "containers": [{"name": "agent", "image": "example.org/agent:1"}],
        },
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

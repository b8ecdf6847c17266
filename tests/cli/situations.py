"""Random situations of one agent each: what is stored already, what the manifests add, and its workload."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from story.team import inventory, tool, workload
from toolvet.kube.kinds import KINDS
from toolvet.kube.names import API_VERSION
from toolvet.kube.resources import catalog_from_inventory, snapshot_from_object

APPROVERS = ("reviewer", "second", "robot")
PAST = "2001-01-01T00:00:00Z"
TOOLS = (
    (tool("read"),),
    (tool("read"), tool("write", side_effect="destructive")),
    (tool("read", schema="c"),),
    (),
)
RULES: tuple[dict[str, Any], ...] = (
    {},
    {"reviewOn": "MaterialChange"},
    {"requiredApprovals": 2},
    {"deliverySubjects": ["robot"], "agents": {"serviceAccountNames": ["default"]}},
    {"agents": {"all": True}, "maxApprovalAge": "720h", "reviewOn": "MaterialChange"},
)
"""Of the namespaces, one each."""


@dataclass(slots=True)
class Situation:
    """``stored`` is in the cluster before the check, ``files`` are checked and applied after it."""

    namespace: str
    workload: dict[str, Any]
    stored: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def manifests(self) -> list[dict[str, Any]]:
        return [*self.files, self.workload]

    @property
    def waits_for_approvers(self) -> bool:
        return any(item["kind"] == "CatalogApproval" for item in self.files)


def policy(namespaces: list[str]) -> dict[str, Any]:
    overrides = [
        {"namespaces": [name], **rules} for name, rules in zip(namespaces, RULES, strict=True) if rules
    ]
    return _object("CatalogPolicy", "default", None, {"overrides": overrides})


def _object(kind: str, name: str, namespace: str | None, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def situations(seed: int, count: int, namespaces: list[str]) -> Iterator[Situation]:
    draw = random.Random(seed)  # noqa: S311  # nothing secret is drawn
    for index in range(count):
        yield _situation(draw, f"agent-{index}", namespaces[index % len(namespaces)])


def _situation(draw: random.Random, name: str, namespace: str) -> Situation:
    other = f"{name}-other"
    account = draw.choices([name, "default"], [9, 1])[0]
    annotations: dict[str, str] = {}
    if draw.random() < 0.3:
        annotations["toolvet.dev/inventory"] = draw.choice([name, other, other, f"{name}-none", "No Name"])
    found = Situation(namespace, {})
    snapshots: list[dict[str, Any]] = []
    for inventory_name in (name, other):
        if draw.random() < (0.85 if inventory_name == name else 0.5):
            snapshots += _inventory(draw, found, inventory_name)
    if draw.random() < 0.25:
        pins = [item["metadata"]["name"] for item in snapshots]
        annotations["toolvet.dev/snapshot"] = draw.choice([*pins, *pins, f"{name}-0123456789abcdef", ""])
    kind = draw.choice(KINDS).resource.kind
    found.workload = workload(kind, name=name, account=account, annotations=annotations)
    found.workload["metadata"]["namespace"] = namespace
    if kind != "Pod" and draw.random() < 0.05:
        found.workload["metadata"]["annotations"] = {"toolvet.dev/inventory": name}
    if account == "default" and draw.random() < 0.3:
        metadata = found.workload["metadata"]
        metadata["generateName"] = f"{metadata.pop('name')}-"
    return found


def _inventory(draw: random.Random, found: Situation, name: str) -> list[dict[str, Any]]:
    """Add an inventory, with snapshots of its present and perhaps another catalog; returns the snapshots."""
    now, before = draw.choice(TOOLS), draw.choice(TOOLS)
    live = _placed(inventory(*now, name=name), found.namespace)
    kept = _placed(inventory(*before, name=name), found.namespace)
    judged = _listing(draw, live, kept)
    where = draw.choice(["stored", "stored", "files", "both", "changed"])
    if where in {"stored", "both"}:
        found.stored.append(judged)
    if where == "changed":
        found.stored.append(kept)
    if where == "both":
        found.files.append(live)
    elif where != "stored":
        found.files.append(judged)
    snapshots: list[dict[str, Any]] = []
    sources = (live, kept) if judged is live else (kept, live)
    for source in sources[: draw.choice([0, 1, 1, 1, 2])]:
        snapshot = _snapshot(draw, source)
        if snapshot["metadata"]["name"] in {item["metadata"]["name"] for item in snapshots}:
            continue
        snapshots.append(snapshot)
        places = draw.choice([(found.stored,), (found.stored,), (found.files,), (found.stored, found.files)])
        for place in places:
            place.append(snapshot)
        _approve(draw, found, snapshot, reviewed=found.stored in places)
    return snapshots


def _listing(draw: random.Random, live: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Return an inventory as the collector would write it half the time, with a list of minor changes."""
    if draw.random() < 0.3:
        return live
    before, other = (catalog_from_inventory(item).digest for item in (kept, inventory(*draw.choice(TOOLS))))
    digests = draw.choice([[], [before], [before], [before, other], [other, before]])
    return {**live, "spec": {**live["spec"], "minorChangeOf": digests}}


def _placed(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    obj["metadata"]["namespace"] = namespace
    return obj


def _snapshot(draw: random.Random, source: dict[str, Any]) -> dict[str, Any]:
    digest = catalog_from_inventory(source).digest
    name = source["metadata"]["name"]
    spec = {"inventoryName": name, "catalogDigest": digest, "bindings": source["spec"]["tools"]}
    if draw.random() < 0.85:
        spec["runId"] = f"run_{draw.getrandbits(128):032x}"
    stored = f"{name}-{digest.removeprefix('sha256:')[:16]}"
    return _object("RunToolCatalogSnapshot", stored, source["metadata"]["namespace"], spec)


def _approve(draw: random.Random, found: Situation, snapshot: dict[str, Any], *, reviewed: bool) -> None:
    """Add approvals of a snapshot whose digest can be told before it is stored; others nobody approves."""
    if "runId" not in snapshot["spec"]:
        return
    evidence = snapshot_from_object({**snapshot, "metadata": {**snapshot["metadata"], "uid": ""}}).evidence
    for number, approver in enumerate(APPROVERS):
        if draw.random() < 0.4:
            continue
        spec = {
            "inventoryName": snapshot["spec"]["inventoryName"],
            "snapshotName": snapshot["metadata"]["name"],
            "snapshotDigest": evidence.digest,
            "catalogDigest": snapshot["spec"]["catalogDigest"],
            "approvedBy": approver,
        }
        if draw.random() < 0.15:
            spec["expiresAt"] = PAST
        if draw.random() < 0.1:
            spec["snapshotDigest"] = "sha256:" + "0" * 64
        if draw.random() < 0.15:
            spec["revoked"] = True
        name = f"{snapshot['metadata']['name']}-{number}"
        approval = _object("CatalogApproval", name, snapshot["metadata"]["namespace"], spec)
        places = draw.choice([(found.stored,)] * 4 + [(found.files,), (found.stored, found.files)])
        for place in places if reviewed else (found.files,):
            place.append(approval)

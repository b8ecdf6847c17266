"""The people of the story, each with no more rights than the chart's roles and Kubernetes' own give."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.bed import ControlPlane

RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class People:
    """Kubeconfigs, by what their owner does."""

    engineer: Path
    """Runs the platform: edits every namespace and its labels, holds toolvet-policy-admin."""
    producer: Path
    """The pipeline that says what the live catalog is: toolvet-producer in the namespace."""
    reviewer: Path
    """toolvet-reviewer in the namespace."""
    developer: Path
    """Kubernetes' own ``edit`` and toolvet-viewer in the namespace."""


def invite(bed: ControlPlane, fullname: str, namespace: str) -> People:
    """Bind the roles in a namespace and return everybody's kubeconfig."""
    labels = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "patch", "update"]}
    objects = [_object("ClusterRole", "namespace-labeller", None, rules=[labels])]
    objects += [
        _binding("engineer", role, None)
        for role in ("edit", "namespace-labeller", f"{fullname}-policy-admin", f"{fullname}-viewer")
    ]
    local = {
        "producer": (f"{fullname}-producer",),
        "reviewer": (f"{fullname}-reviewer",),
        "developer": ("edit", f"{fullname}-viewer"),
    }
    objects += [_binding(user, role, namespace) for user, roles in local.items() for role in roles]
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    bed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(whole))
    return People(*(bed.kubeconfig(user) for user in ("engineer", "producer", "reviewer", "developer")))


def _object(kind: str, name: str, namespace: str | None, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, **rest}


def _binding(user: str, role: str, namespace: str | None) -> dict[str, Any]:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    return _object(
        kind,
        f"{user}-{role}",
        namespace,
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        subjects=[{"apiGroup": RBAC, "kind": "User", "name": user}],
    )

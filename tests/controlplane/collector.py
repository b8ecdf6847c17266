"""The collector's account, which alone says what is a minor change; played here with its token."""

import json
from pathlib import Path

from controlplane.bed import ControlPlane

_RBAC = "rbac.authorization.k8s.io"


def collector(bed: ControlPlane, namespace: str, fullname: str) -> Path:
    """Return a kubeconfig of the release's collector, which may write inventories everywhere.

    ``namespace`` and ``fullname`` are the release's. Its account is made where the chart has not made it.
    """
    name = f"{fullname}-collector"
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    }
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"test-{name}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"{fullname}-producer"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    whole = {"apiVersion": "v1", "kind": "List", "items": [account, binding]}
    bed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(whole))
    return bed.service_account_kubeconfig(namespace, name)

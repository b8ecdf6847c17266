"""What kubeadm would put into a new cluster for kube-proxy and DNS: roles, and the Service kube-dns."""

from typing import Any

from node.configuration import DNS_SERVICE_ADDRESS
from node.inside import ADDRESS

PROXY_USER = "system:kube-proxy"
DNS_USER = "system:coredns"
_RBAC = "rbac.authorization.k8s.io"
_PORTS = [{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "dns-tcp", "protocol": "TCP", "port": 53}]


def cluster_services() -> dict[str, Any]:
    """Return the objects as a List."""
    reads = {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]}
    slices = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}
    dns_role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": DNS_USER},
        "rules": [reads, slices],
    }
    objects = [
        _binding(PROXY_USER, "system:node-proxier"),
        dns_role,
        _binding(DNS_USER, DNS_USER),
        # No selector: CoreDNS is a process of the node, as the API server is behind ``kubernetes``.
        _dns("v1", "Service", spec={"clusterIP": DNS_SERVICE_ADDRESS, "ports": _PORTS}),
        _dns(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            labels={"kubernetes.io/service-name": "kube-dns"},
            addressType="IPv4",
            endpoints=[{"addresses": [ADDRESS]}],
            ports=_PORTS,
        ),
    ]
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def _dns(version: str, kind: str, labels: dict[str, str] | None = None, **rest: Any) -> dict[str, Any]:
    metadata = {"name": "kube-dns", "namespace": "kube-system", "labels": labels or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _binding(user: str, role: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
    }

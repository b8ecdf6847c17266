"""Kinds of other systems that say where a server is, as custom resources with just what is read of them."""

from typing import Any

from toolvet.kube.names import Resource

KAGENT = Resource("kagent.dev", "v1alpha2", "remotemcpservers", "RemoteMCPServer")
KMCP = Resource("kagent.dev", "v1alpha1", "mcpservers", "MCPServer")
TOOLHIVE = Resource("toolhive.stacklok.dev", "v1beta1", "mcpservers", "MCPServer")


def definitions() -> list[dict[str, Any]]:
    """Return a CustomResourceDefinition for each kind."""
    return [_definition(kind) for kind in (KAGENT, KMCP, TOOLHIVE)]


def _definition(kind: Resource) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {**anything, "properties": {"spec": anything, "status": anything}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [version],
        },
    }

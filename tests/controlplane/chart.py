"""Install the chart into a control plane without a node: helm as ever, then a Service that leads here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.bed import ControlPlane

CHART = Path(__file__).resolve().parent.parent.parent / "charts" / "toolvet"


@dataclass(frozen=True, slots=True)
class Installed:
    """A release, and what its Deployments as they are in the cluster say how to run the two processes."""

    namespace: str
    release: str
    fullname: str
    webhook_args: list[str]
    controller_args: list[str]
    webhook_service_account: str
    controller_service_account: str
    collector_args: list[str] | None = None
    """None where the release has no collector."""


def install_chart(
    bed: ControlPlane,
    *,
    namespace: str = "toolvet-system",
    release: str = "toolvet",
    gate_port: int,
    values: Mapping[str, Any] | None = None,
) -> Installed:
    """Install the release or upgrade it, and let its webhook Service lead to ``gate_port`` of localhost.

    The webhook configuration stays as Helm made it; its port is the value ``webhook.servicePort``.
    Errors: CommandError where helm or the API server refuses.
    """
    settings: dict[str, Any] = dict(values or {})
    settings["webhook"] = {**settings.get("webhook", {}), "servicePort": gate_port}
    # An earlier call's ExternalName Service is nobody's: helm is to make its own again.
    selector = f"app.kubernetes.io/instance={release}"
    bed.kubectl("delete", "service", "--namespace", namespace, "--selector", selector)
    bed.helm(
        *("upgrade", "--install", release, CHART),
        *("--namespace", namespace, "--create-namespace", "--values", "-"),
        input=json.dumps(settings),
    )
    if settings.get("crds", {}).get("enabled", True):
        bed.kubectl("wait", "--for=condition=Established", "crd", "--selector", selector, "--timeout=30s")
    fullname = _fullname(bed, selector)
    _lead_to_localhost(bed, namespace, f"{fullname}-webhook", gate_port)
    webhook = _pod_spec(bed, namespace, f"{fullname}-webhook")
    controller = _pod_spec(bed, namespace, f"{fullname}-controller")
    return Installed(
        namespace=namespace,
        release=release,
        fullname=fullname,
        webhook_args=webhook["containers"][0]["args"],
        controller_args=controller["containers"][0]["args"],
        webhook_service_account=webhook["serviceAccountName"],
        controller_service_account=controller["serviceAccountName"],
        collector_args=_collector_args(bed, namespace, fullname, settings),
    )


def _collector_args(
    bed: ControlPlane, namespace: str, fullname: str, settings: Mapping[str, Any]
) -> list[str] | None:
    if not settings.get("collector", {}).get("enabled"):
        return None
    arguments: list[str] = _pod_spec(bed, namespace, f"{fullname}-collector")["containers"][0]["args"]
    return arguments


def _fullname(bed: ControlPlane, selector: str) -> str:
    found = bed.kubectl(
        *("get", "validatingwebhookconfigurations", "--selector", selector),
        *("--output", "jsonpath={.items[*].metadata.name}"),
    )
    return found.stdout.strip()


def _lead_to_localhost(bed: ControlPlane, namespace: str, name: str, port: int) -> None:
    services = f"/api/v1/namespaces/{namespace}/services"
    of_helm = bed.api("GET", f"{services}/{name}")["metadata"]
    # By its annotations Helm knows that it is the release's, and uninstalls it.
    metadata = {"name": name, "labels": of_helm["labels"], "annotations": of_helm["annotations"]}
    bed.api("DELETE", f"{services}/{name}")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ExternalName",
            "externalName": "localhost",
            "ports": [{"name": "https", "port": port}],
        },
    }
    bed.api("POST", services, service)


def _pod_spec(bed: ControlPlane, namespace: str, deployment: str) -> dict[str, Any]:
    found = bed.api("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}")
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec

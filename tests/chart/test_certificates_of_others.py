"""Certificates that somebody else makes: the controller leaves them alone, and the gate serves them."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from chart.rights import NAMESPACE
from controlplane.bed import ControlPlane
from controlplane.certificates import CertificateAuthority
from controlplane.chart import install_chart
from controlplane.installation import Installation
from controlplane.ports import free_port
from controlplane.waiting import wait_until

CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/toolvet"


@pytest.fixture
def cluster() -> Iterator[ControlPlane]:
    with ControlPlane(audit=True) as bed:
        yield bed


def definition(plural: str, kind: str) -> dict[str, Any]:
    """A stand-in for cert-manager's own definitions, which take what the chart makes."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


@dataclass(frozen=True)
class Maker:
    """Whoever makes the certificates: a pair in the Secret, and the authority that signed it."""

    bed: ControlPlane
    authority: CertificateAuthority

    def write_secret(self) -> None:
        pair = self.authority.issue("gate", dns=[f"toolvet-webhook.{NAMESPACE}.svc"])
        data = {"tls.crt": pair.certificate, "tls.key": pair.key}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "toolvet-tls"},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        self.bed.kubectl("apply", "--server-side", "-n", NAMESPACE, "-f", "-", input=json.dumps(secret))

    def inject(self) -> None:
        """As cert-manager's CA injector does: an update of the whole object."""
        found = self.bed.api("GET", CONFIGURATION)
        reference = found["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert reference == f"{NAMESPACE}/toolvet-webhook"
        namespace, name = reference.split("/")
        path = f"/apis/cert-manager.io/v1/namespaces/{namespace}/certificates/{name}"
        assert self.bed.api("GET", path)["spec"]["secretName"] == "toolvet-tls"
        for hook in found["webhooks"]:
            hook["clientConfig"]["caBundle"] = base64.b64encode(self.authority.certificate).decode()
        self.bed.api("PUT", CONFIGURATION, found)


def provided(maker: Maker) -> dict[str, Any]:
    maker.bed.kubectl("create", "namespace", NAMESPACE)
    maker.write_secret()
    bundle = maker.authority.certificate.decode()
    return {"mode": "provided", "existingSecret": "toolvet-tls", "caBundle": bundle}


def by_cert_manager(maker: Maker) -> dict[str, Any]:
    for plural, kind in (("certificates", "Certificate"), ("issuers", "Issuer")):
        maker.bed.kubectl("apply", "-f", "-", input=json.dumps(definition(plural, kind)))
    maker.bed.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    chosen = {"mode": "cert-manager"}
    install_chart(maker.bed, gate_port=free_port(), values={"webhook": {"certificates": chosen}})
    maker.write_secret()
    maker.inject()
    return chosen


def requests(bed: ControlPlane, account: str) -> list[tuple[str, str]]:
    """Verb and resource of every request of a service account so far."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    entries = [json.loads(line) for line in bed.audit_log.read_text().splitlines() if line.endswith("}")]
    return [
        (entry["verb"], entry["objectRef"]["resource"])
        for entry in entries
        if entry["user"]["username"] == user and "objectRef" in entry
    ]


@pytest.mark.parametrize("mode", [provided, by_cert_manager])
def test_the_gate_gets_ready_and_the_controller_touches_no_certificate(
    cluster: ControlPlane, mode: Any
) -> None:
    maker = Maker(cluster, CertificateAuthority("theirs", datetime.now(UTC)))
    values = {"webhook": {"certificates": mode(maker)}}
    with Installation(cluster, values):
        wait_until(
            lambda: cluster.api("GET", CONFIGURATION)["metadata"].get("ownerReferences"), 30, "no owner"
        )
        found = cluster.api("GET", CONFIGURATION)
        # The upgrade that Installation made left what was injected, and so did the controller.
        bundle = base64.b64encode(maker.authority.certificate).decode()
        assert {hook["clientConfig"]["caBundle"] for hook in found["webhooks"]} == {bundle}
        assert not any(entry["manager"] == "toolvet-ca" for entry in found["metadata"]["managedFields"])
        (owner,) = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Namespace", NAMESPACE)
    made = requests(cluster, "toolvet-controller")
    assert ("create", "leases") in made
    assert not any(resource == "secrets" for _, resource in made)
    names = cluster.kubectl("get", "secrets", "-n", NAMESPACE, "--output", "name").stdout
    assert "toolvet-ca" not in names

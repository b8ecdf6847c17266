"""``helm install --wait`` from nothing: what runs is our image, restricted, reached through its Service."""

import json

import pytest

from controlplane.waiting import wait_until
from node.agent import Crew, deployment, is_ready
from node.release import COMPONENTS, NAME, NAMESPACE, Release, install

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

# Asked inside of the containers: what the kernel says of the process, and whether a file can be made.
PROBE = """
import json, pathlib
status = dict(line.split(":\\t", 1) for line in open("/proc/1/status"))
try:
    pathlib.Path("/opt/new").write_text("")
    writable = True
except OSError:
    writable = False
print(json.dumps({
    "user": status["Uid"].split(), "capabilities": int(status["CapBnd"], 16),
    "no_new_privileges": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(),
    "writable": writable,
}))
"""
RESOLVE = """
import json, socket, sys
print(json.dumps(sorted({found[4][0] for name in sys.argv[1:] for found in socket.getaddrinfo(name, 443)})))
"""


def test_everything_is_ready_when_helm_returns(first_install: Release) -> None:
    print(f"helm install --wait: {first_install.seconds:.1f} s")
    for component, count in (("webhook", 2), ("controller", 1)):
        pods = first_install.pods(component)
        assert len(pods) == count
        assert all(is_ready(pod) for pod in pods)
        for pod in pods:
            (status,) = pod["status"]["containerStatuses"]
            assert status["image"] == first_install.image
            assert status["restartCount"] == 0


def test_the_api_server_reaches_the_gate_through_its_service(crew: Crew) -> None:
    bed, chart = crew.bed, crew.product.chart
    service = bed.api("GET", f"/api/v1/namespaces/{NAMESPACE}/services/{chart.fullname}-webhook")
    assert service["spec"]["type"] == "ClusterIP"
    crew.publish_agent()
    assert crew.refusal(deployment(crew.image)).startswith("not_approved: ")


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_container_runs_under_the_restricted_level(release: Release, component: str) -> None:
    # The namespace takes no other Pods; this is what has become of their settings.
    namespace = release.bed.api("GET", f"/api/v1/namespaces/{NAMESPACE}")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for pod in release.pods(component):
        assert {"initContainers", "ephemeralContainers"}.isdisjoint(pod["spec"])
        assert len(pod["spec"]["containers"]) == 1
        told = release.kubectl("exec", pod["metadata"]["name"], "--", "python", "-c", PROBE)
        assert json.loads(told) == {
            "user": ["65532"] * 4,
            "capabilities": 0,
            "no_new_privileges": "1",
            "seccomp": "2",
            "writable": False,
        }


def test_names_of_services_resolve_in_pods(release: Release) -> None:
    service = release.bed.api("GET", f"/api/v1/namespaces/{NAMESPACE}/services/{NAME}-webhook")
    name = f"{NAME}-webhook.{NAMESPACE}.svc"
    for asked in ((name, f"{name}.cluster.local"), (f"{NAME}-webhook",)):
        ask = ("exec", f"deployment/{NAME}-controller", "--", "python", "-c", RESOLVE, *asked)
        assert json.loads(release.kubectl(*ask)) == [service["spec"]["clusterIP"]]


def test_network_policies_leave_the_product_working(crew: Crew) -> None:
    """The CNI plugin of this node enforces none: that they keep anything out is not shown here."""
    bed = crew.bed
    install(bed, crew.image, {"networkPolicy": {"enabled": True}})
    try:
        policies = bed.api("GET", f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies")[
            "items"
        ]
        assert {policy["metadata"]["name"] for policy in policies} == {
            f"{NAME}-{part}" for part in COMPONENTS
        }
        for policy in policies:
            selected = policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            ports = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
            for pod in crew.product.pods(selected):
                assert ports == {port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
        crew.publish_agent()
        assert crew.refusal(deployment(crew.image)).startswith("not_approved: ")
    finally:
        install(bed, crew.image)


def test_the_controllers_certificates_are_trusted_without_a_restart(release: Release) -> None:
    path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{NAME}"

    def trusted() -> bool:
        hooks = release.bed.api("GET", path)["webhooks"]
        return all(hook["clientConfig"].get("caBundle") for hook in hooks)

    wait_until(trusted, 10, "the webhook configuration has no authority")
    assert all(
        status["restartCount"] == 0
        for component in COMPONENTS
        for pod in release.pods(component)
        for status in pod["status"]["containerStatuses"]
    )

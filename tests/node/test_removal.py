"""The end of an installation on a node: nothing left, nothing blocked, nothing stuck."""

import json

import pytest

from controlplane.waiting import wait_until
from node.agent import Crew, deployment
from node.bed import Node
from node.release import NAME, NAMESPACE
from story.team import AGENT

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

GONE_SECONDS = 120.0
KEPT = {"CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
EVERYWHERE = (
    *("customresourcedefinitions", "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    *("validatingwebhookconfigurations", "clusterroles", "clusterrolebindings"),
    *("flowschemas", "prioritylevelconfigurations"),
)
IN_NAMESPACE = (
    *("deployments", "replicasets", "pods", "services", "endpointslices", "serviceaccounts", "secrets"),
    *("leases", "roles", "rolebindings", "poddisruptionbudgets", "networkpolicies", "configmaps"),
)
OF_KUBERNETES = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt"}


def objects(bed: Node, kinds: tuple[str, ...], *options: str) -> list[dict]:
    return json.loads(bed.kubectl("get", ",".join(kinds), *options, "--output", "json").stdout)["items"]


def left(bed: Node) -> set[str]:
    """Everything in the release's namespace that a new namespace does not have."""
    found = {
        f"{obj['kind']}/{obj['metadata']['name']}" for obj in objects(bed, IN_NAMESPACE, "-n", NAMESPACE)
    }
    return found - OF_KUBERNETES


def configured(bed: Node) -> bool:
    command = ("get", "validatingwebhookconfigurations", NAME, "--ignore-not-found", "--output", "name")
    return bool(bed.kubectl(*command).stdout)


def deploy_agent(crew: Crew) -> None:
    """An approved agent runs, and its next release is refused."""
    crew.publish_agent(1)
    crew.review()
    crew.deploy(1)
    crew.publish_agent(2)
    assert crew.refusal(deployment(crew.image, 2)).startswith("not_approved: ")


def passes(crew: Crew) -> None:
    """The release that was refused is admitted and runs; what the team has is kept."""
    wait_until(
        lambda: crew.apply(deployment(crew.image, 2), check=False).returncode == 0, 10, "still blocked"
    )
    crew.rolled_out()
    assert crew.get("tvinv", AGENT)["spec"]["tools"]


def delete_namespace(bed: Node, name: str) -> None:
    limit = f"--timeout={GONE_SECONDS:.0f}s"
    bed.kubectl("delete", "namespace", name, limit, seconds=GONE_SECONDS + 10)


def test_uninstalling_leaves_nothing_and_blocks_nothing(crew: Crew) -> None:
    bed = crew.bed
    deploy_agent(crew)
    bed.helm("uninstall", NAME, "--namespace", NAMESPACE, "--wait", "--timeout", "120s", seconds=150)
    assert not configured(bed)
    wait_until(lambda: not left(bed), GONE_SECONDS, "something is left")
    ours = objects(bed, EVERYWHERE, "--selector", f"app.kubernetes.io/instance={NAME}")
    assert {obj["kind"] for obj in ours} == KEPT
    passes(crew)
    delete_namespace(bed, NAMESPACE)
    delete_namespace(bed, crew.namespace)


def test_deleting_the_releases_namespace_blocks_nothing(crew: Crew) -> None:
    bed = crew.bed
    deploy_agent(crew)
    delete_namespace(bed, NAMESPACE)
    wait_until(lambda: not configured(bed), GONE_SECONDS, "the webhook configuration is left")
    passes(crew)
    delete_namespace(bed, crew.namespace)

"""The end of an installation: nothing stuck, nothing blocked, nothing left that refuses."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chart.rights import NAMESPACE
from chart.test_release import helm_install
from controller.objects import approval, binding, catalog, deployment, inventory, snapshot
from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from controlplane.waiting import wait_until

# Far more than needed: the namespace controller looks every 5 s, the garbage collector follows at once.
GONE_SECONDS = 90.0
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/toolvet"
OURS = ("toolinventories", "runtoolcatalogsnapshots", "catalogapprovals")


@pytest.fixture
def product() -> Iterator[Installation]:
    """An installation of the test's own, on a control plane of its own."""
    with ControlPlane() as bed, Installation(bed) as installed:
        wait_until(lambda: owners(bed), 30, "the webhook configuration belongs to nobody")
        yield installed


def exists(bed: ControlPlane, path: str) -> bool:
    try:
        bed.api("GET", path)
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True


def owners(bed: ControlPlane) -> list[dict[str, Any]]:
    return bed.api("GET", CONFIGURATION)["metadata"].get("ownerReferences", [])


def end_all(installed: Installation) -> None:
    for process in [*installed.gates, *installed.controllers]:
        process.kill()


def govern(bed: ControlPlane, namespace: str) -> None:
    """Put an approved agent into an enforce namespace, with Pods."""
    live = catalog(binding("read"))
    apply(bed, namespace, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "assistant"}})
    for obj in (inventory(live), snapshot(live)):
        apply(bed, namespace, obj)
    stored = bed.api("GET", f"/apis/toolvet.dev/v1alpha1/namespaces/{namespace}/runtoolcatalogsnapshots")
    apply(bed, namespace, approval(stored["items"][0]))
    running = deployment()
    running["spec"]["replicas"] = 1
    apply(bed, namespace, running)
    wait_until(lambda: pods(bed, namespace), 30, "no Pod was made")


def apply(bed: ControlPlane, namespace: str, obj: dict[str, Any]) -> None:
    bed.kubectl("apply", "--server-side", "--namespace", namespace, "-f", "-", input=json.dumps(obj))


def pods(bed: ControlPlane, namespace: str) -> list[str]:
    return bed.kubectl("get", "pods", "--namespace", namespace, "--output", "name").stdout.split()


def refused(bed: ControlPlane, namespace: str) -> bool:
    """Tell whether a governed change is refused, with a gate or without."""
    done = bed.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--namespace", namespace, "-f", "-"),
        input=json.dumps(deployment("another")),
        check=False,
    )
    assert done.returncode == 0 or "enforce.toolvet.dev" in done.stderr, done.stderr
    return done.returncode != 0


def delete_namespace(bed: ControlPlane, name: str) -> None:
    # No node finishes a Pod's end here.
    for pod in pods(bed, name):
        bed.kubectl("delete", pod, "--namespace", name, "--grace-period=0", "--force")
    bed.kubectl("delete", "namespace", name, "--wait=false")
    wait_until(lambda: not exists(bed, f"/api/v1/namespaces/{name}"), GONE_SECONDS, f"{name} is stuck")


def test_with_everything_down_namespaces_go_and_the_releases_takes_the_webhook_along(
    product: Installation,
) -> None:
    bed = product.bed
    labels = {"toolvet.dev/mode": "enforce"}
    team, other = bed.create_namespace("team-", labels), bed.create_namespace("other-", labels)
    govern(bed, team)
    govern(bed, other)
    end_all(product)
    delete_namespace(bed, team)
    assert refused(bed, other)
    delete_namespace(bed, NAMESPACE)
    wait_until(lambda: not exists(bed, CONFIGURATION), GONE_SECONDS, "the webhook is left")
    wait_until(lambda: not refused(bed, other), 10, "governed changes are blocked")
    # What a team has is kept, and the same release takes over what is left in the cluster.
    for kind in OURS:
        assert bed.kubectl("get", kind, "--namespace", other, "--output", "name").stdout
    helm_install(bed)
    wait_until(lambda: refused(bed, other), 10, "the new gate does not refuse")
    delete_namespace(bed, other)


def test_uninstalling_leaves_nothing_of_the_processes_behind(product: Installation) -> None:
    bed = product.bed
    team = bed.create_namespace("team-", {"toolvet.dev/mode": "enforce"})
    govern(bed, team)
    made = [
        f"/api/v1/namespaces/{NAMESPACE}/secrets/toolvet-ca",
        f"/api/v1/namespaces/{NAMESPACE}/secrets/toolvet-tls",
        f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/toolvet-controller",
    ]
    assert all(exists(bed, path) for path in made)
    # The processes go on running, as Pods do while they are told to end.
    bed.helm("uninstall", "toolvet", "--namespace", NAMESPACE)
    assert not exists(bed, CONFIGURATION)
    wait_until(lambda: not any(exists(bed, path) for path in made), GONE_SECONDS, "something is left")
    end_all(product)
    assert not any(exists(bed, path) for path in made)
    wait_until(lambda: not refused(bed, team), 10, "governed changes are blocked")
    delete_namespace(bed, NAMESPACE)
    delete_namespace(bed, team)

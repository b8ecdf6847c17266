"""The gate is dead or hangs: governed changes are refused, everything else goes on (issue of every gate)."""

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.installation import Installation
from controlplane.waiting import wait_until
from story.team import AGENT, Team, gathered, tool, workload

TIMEOUT_SECONDS = 5.0  # timeoutSeconds of the webhook configuration
RECREATED_SECONDS = 15.0
FINALIZER = "example.org/hold"
NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "probe-node"}}


@pytest.fixture
def running(product: Installation) -> Iterator[Team]:
    """A team whose agent runs on an approved catalog that has since changed."""
    with gathered(product) as team:
        team.kubectl("create", "serviceaccount", AGENT, as_user=team.people.developer)
        team.publish(tool("read"))
        team.review()
        held = workload()
        held["metadata"]["finalizers"] = [FINALIZER]
        held["spec"]["replicas"] = 2
        team.apply(held)
        wait_until(lambda: len(_pods(team)) == 2, RECREATED_SECONDS, "no Pods were made")
        team.publish(tool("read", schema="c"))
        yield team
        patch = json.dumps({"metadata": {"finalizers": None}})
        team.kubectl(
            "patch", f"deployment/{AGENT}", "--patch", patch, as_user=team.people.developer, check=False
        )


@pytest.fixture
def gate_down(running: Team, product: Installation) -> Iterator[None]:
    for gate in product.gates:
        gate.kill()
        gate.wait(10)
    product.gates.clear()
    yield
    product.start_gate()


@pytest.fixture
def gate_hangs(running: Team, product: Installation) -> Iterator[None]:
    for gate in product.gates:
        gate.send_signal(signal.SIGSTOP)
    yield
    for gate in product.gates:
        gate.send_signal(signal.SIGCONT)


def _pods(team: Team) -> set[str]:
    found = team.kubectl("get", "pods", "-o", "name", as_user=team.people.developer)
    return set(found.stdout.split())


def _refused(team: Team, *arguments: str, given: object = None) -> None:
    done = team.kubectl(*arguments, as_user=team.people.developer, given=given, check=False)
    assert done.returncode == 1
    assert 'failed calling webhook "enforce.toolvet.dev"' in done.stderr


def _apply_elsewhere(team: Team, namespace: str, obj: dict[str, Any]) -> None:
    team.bed.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", input=json.dumps(obj))


@pytest.mark.usefixtures("gate_down")
def test_what_does_not_change_the_pods_goes_on(running: Team) -> None:
    developer = running.people.developer
    target = f"deployment/{AGENT}"
    running.kubectl("label", target, "team=a", as_user=developer)
    running.kubectl("annotate", target, "note=a", as_user=developer)
    running.kubectl("scale", target, "--replicas=1", as_user=developer)
    wait_until(lambda: len(_pods(running)) == 1, RECREATED_SECONDS, "not scaled down")
    before = _pods(running)
    running.kubectl("delete", *before, "--grace-period=0", "--force", as_user=developer)
    wait_until(lambda: _pods(running) and _pods(running) != before, RECREATED_SECONDS, "Pod not made again")
    running.kubectl("delete", target, "--wait=false", as_user=developer)
    patch = json.dumps({"metadata": {"finalizers": None}})
    running.kubectl("patch", target, "--patch", patch, as_user=developer)
    wait_until(
        lambda: running.kubectl("get", target, as_user=developer, check=False).returncode == 1,
        RECREATED_SECONDS,
        "the Deployment was not deleted",
    )


@pytest.mark.usefixtures("gate_down")
def test_governed_changes_are_refused(running: Team) -> None:
    _refused(running, "apply", "--server-side", "-f", "-", given=workload(name="another"))
    _refused(running, "apply", "--server-side", "-f", "-", given=workload("Pod", name="bare"))
    _refused(running, "rollout", "restart", f"deployment/{AGENT}")
    running.kubectl("scale", f"deployment/{AGENT}", "--replicas=0", as_user=running.people.developer)
    _refused(running, "scale", f"deployment/{AGENT}", "--replicas=1")


@pytest.mark.usefixtures("gate_down")
def test_elsewhere_everything_goes_on(running: Team) -> None:
    bed = running.bed
    with bed.namespace() as free, gathered(running.product, mode=None) as ungoverned:
        _apply_elsewhere(running, free, workload())
        _apply_elsewhere(running, ungoverned.namespace, workload("Pod", account="default"))
    _apply_elsewhere(running, "kube-system", workload(name="critical"))
    _apply_elsewhere(running, running.product.namespace, workload(name="ours"))
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "probe"},
        "spec": {},
    }
    _apply_elsewhere(running, running.namespace, lease)
    bed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(NODE))
    bed.kubectl("delete", "node", "probe-node")
    for name, namespace in (("critical", "kube-system"), ("ours", running.product.namespace)):
        bed.kubectl("delete", "deployment", name, "-n", namespace, "--wait=false")
    deployments = ("rollout", "restart", "deployment", "--namespace", running.product.namespace)
    bed.kubectl(*deployments)


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_warn_and_audit_let_everything_pass(product: Installation, gate_down: None, mode: str) -> None:
    with product.bed.namespace(prefix="team-", labels={"toolvet.dev/mode": mode}) as namespace:
        obj = json.dumps(workload())
        product.bed.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", input=obj)


@pytest.mark.usefixtures("gate_hangs")
def test_a_hanging_gate_costs_no_more_than_its_timeout(running: Team) -> None:
    begun = time.monotonic()
    _refused(running, "apply", "--server-side", "-f", "-", given=workload(name="another"))
    assert time.monotonic() - begun < TIMEOUT_SECONDS + 1
    begun = time.monotonic()
    running.kubectl("label", f"deployment/{AGENT}", "team=b", as_user=running.people.developer)
    assert time.monotonic() - begun < TIMEOUT_SECONDS

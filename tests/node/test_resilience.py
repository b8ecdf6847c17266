"""What breaks and comes back on a node: Pods of the gate, Pods of agents, the node itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controlplane.waiting import wait_until
from node.agent import Crew, deployment
from node.daemons import NODE_NAME
from node.release import COMPONENTS, NAME, Release
from story.team import AGENT, DENIED

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

BACK_SECONDS = 120.0
DOWN = 'failed calling webhook "enforce.toolvet.dev"'


def verdict(crew: Crew) -> str:
    """What becomes of a rollout of tools nobody has approved: ``not_approved``, ``down`` or ``admitted``."""
    told = crew.apply(deployment(crew.image, name="other"), check=False).stderr
    if f"{DENIED}not_approved: " in told:
        return "not_approved"
    return "down" if DOWN in told else f"admitted: {told}"


def judges_again(crew: Crew) -> None:
    """Wait for verdicts; nothing may be admitted on the way."""
    seen = []

    def back() -> bool:
        seen.append(verdict(crew))
        return seen[-1] == "not_approved"

    wait_until(back, BACK_SECONDS, "no verdicts")
    assert set(seen) <= {"down", "not_approved"}, seen


@contextmanager
def without_gate(release: Release) -> Iterator[None]:
    """No Pod of the gate at all while the block runs."""
    scale = ("scale", f"deployment/{NAME}-webhook")
    release.kubectl(*scale, "--replicas=0")
    try:
        release.kubectl("wait", "--for=delete", "pod", "-l", "app.kubernetes.io/component=webhook")
        yield
    finally:
        release.kubectl(*scale, "--replicas=2")
        release.rolled_out("webhook")


def drifted(crew: Crew, replicas: int = 1) -> set[str]:
    """An agent that runs tools nobody has approved any more; returns its Pods."""
    crew.publish_agent()
    crew.review()
    crew.deploy(replicas=replicas)
    crew.publish_agent(2)
    return crew.ready_pods()


def test_both_pods_of_the_gate_killed_and_back(crew: Crew) -> None:
    crew.publish_agent()
    release = crew.product
    before = {pod["metadata"]["name"] for pod in release.pods("webhook")}
    assert len(before) == 2
    release.kubectl("delete", "pods", *before, "--grace-period=0", "--force")
    judges_again(crew)
    release.rolled_out("webhook")
    after = {pod["metadata"]["name"] for pod in release.pods("webhook")}
    assert len(after) == 2
    assert after.isdisjoint(before)


def test_pods_of_a_drifted_agent_come_back_while_the_gate_is_down(crew: Crew) -> None:
    before = drifted(crew, replicas=2)
    with without_gate(crew.product):
        assert verdict(crew) == "down"
        crew.kubectl("delete", "pods", "--selector", f"app={AGENT}", as_user=crew.people.developer)
        wait_until(
            lambda: len(crew.ready_pods()) == 2 and crew.ready_pods().isdisjoint(before),
            BACK_SECONDS,
            "the Pods did not come back",
        )
    judges_again(crew)


def test_the_node_drained_and_uncordoned(crew: Crew) -> None:
    before = drifted(crew, replicas=2)
    release = crew.product
    drain = ("drain", NODE_NAME, "--ignore-daemonsets", "--delete-emptydir-data")
    try:
        # No other node takes the evicted Pods: the budget keeps one of the gate's here, and it judges.
        held = crew.bed.kubectl(*drain, "--timeout=25s", check=False)
        assert held.returncode == 1
        assert f"{NAME}-webhook" in held.stderr
        assert "violate the pod's disruption budget" in held.stderr
        assert verdict(crew) == "not_approved"
        assert not crew.ready_pods()
        # By deletion, as who has to empty a node at once does.
        crew.bed.kubectl(*drain, "--disable-eviction", "--timeout=90s")
        assert verdict(crew) == "down"
    finally:
        crew.bed.kubectl("uncordon", NODE_NAME)
    for component in COMPONENTS:
        release.rolled_out(component)
    judges_again(crew)
    wait_until(
        lambda: len(crew.ready_pods()) == 2 and crew.ready_pods().isdisjoint(before),
        BACK_SECONDS,
        "the agent did not come back",
    )

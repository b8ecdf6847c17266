"""DESIGN 1 with agents that really run, through ``kubectl`` under the chart's roles."""

import json

import pytest

from controlplane.waiting import wait_until
from node.agent import Crew, deployment
from story.team import AGENT, DENIED

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

NOTICED_SECONDS = 5.0  # what the design promises
LOG_SECONDS = 30.0


def last_words(crew: Crew) -> dict:
    """What the agent said last: which release it is, and whether all is as reviewed."""
    logs = crew.kubectl("logs", f"deployment/{AGENT}", "--tail=1", as_user=crew.people.developer).stdout
    return json.loads(logs) if logs else {}


def says(crew: Crew, release: int) -> None:
    said = {"release": release, "eligibility": "eligible", "told": {"text": "Bread and salt."}}
    wait_until(lambda: last_words(crew) == said, LOG_SECONDS, "the agent does not run as reviewed")


def test_the_story_with_running_agents(crew: Crew) -> None:
    # 2, 3: the pipeline publishes, the first rollout is refused, a reviewer approves.
    crew.publish_agent(1)
    assert crew.refusal(deployment(crew.image, 1)).startswith("not_approved: ")
    first = crew.review()
    # 4: the same apply; a Pod of the agent runs.
    crew.deploy(1)
    says(crew, 1)
    running = crew.ready_pods()
    assert len(running) == 1

    # 5: the catalog changes; the Pod goes on.
    crew.publish_agent(2)
    wait_until(
        lambda: crew.get("tvsnap", first)["status"]["eligibility"] == "re-review-required",
        NOTICED_SECONDS,
        "the snapshot is still eligible",
    )
    wait_until(
        lambda: crew.get("tvinv", AGENT)["status"]["workloads"].get("drifted") == 1,
        NOTICED_SECONDS,
        "the workload is not drifted",
    )
    assert crew.ready_pods() == running

    # 6: the next rollout is refused, in kubectl's own words.
    restart = ("rollout", "restart", f"deployment/{AGENT}")
    refused = crew.kubectl(*restart, as_user=crew.people.developer, check=False)
    print(f"$ kubectl {' '.join(restart)}\n{refused.stderr}")
    assert refused.returncode == 1
    assert f"error: failed to patch: {DENIED}not_approved: inventory {AGENT}, " in refused.stderr
    assert f"since {first}: 1 added, 0 removed, 1 changed" in refused.stderr
    assert f"kubectl toolvet capture {AGENT} -n {crew.namespace}" in refused.stderr
    assert crew.refusal(deployment(crew.image, 2)).startswith("not_approved: ")
    assert crew.ready_pods() == running

    # 7: approved; the same apply passes at once, and the new agent runs as reviewed.
    crew.review()
    crew.deploy(2)
    says(crew, 2)
    wait_until(
        lambda: crew.get("tvinv", AGENT)["status"]["workloads"].get("eligible") == 1,
        NOTICED_SECONDS,
        "the workload is still drifted",
    )
    assert crew.ready_pods().isdisjoint(running)


def test_scale_restart_and_undo_of_an_approved_agent(crew: Crew) -> None:
    crew.publish_agent()
    crew.review()
    crew.deploy(replicas=1)
    target, developer = f"deployment/{AGENT}", crew.people.developer
    for count in (3, 0, 2):
        crew.kubectl("scale", target, f"--replicas={count}", as_user=developer)
        wait_until(lambda count=count: len(crew.ready_pods()) == count, 60, f"not {count} Pods")
        wait_until(lambda count=count: len(crew.pods()) == count, 60, f"not {count} Pods")
    for change in ("restart", "undo"):
        before = crew.ready_pods()
        crew.kubectl("rollout", change, target, as_user=developer)
        crew.rolled_out()
        wait_until(
            lambda before=before: len(crew.ready_pods()) == 2 and crew.ready_pods().isdisjoint(before),
            60,
            f"no new Pods after {change}",
        )


def test_scale_restart_and_undo_of_a_drifted_agent(crew: Crew) -> None:
    crew.publish_agent()
    crew.review()
    crew.deploy()
    crew.roll()
    crew.rolled_out()
    crew.publish_agent(2)
    target, developer = f"deployment/{AGENT}", crew.people.developer

    def scale(count: int):
        return crew.kubectl("scale", target, f"--replicas={count}", as_user=developer, check=False)

    for change in ("restart", "undo"):
        refused = crew.kubectl("rollout", change, target, as_user=developer, check=False)
        assert crew.denial(refused).startswith("not_approved: ")
    # More and fewer of what runs is no new catalog; running again what was stopped is.
    for count in (2, 0):
        assert scale(count).returncode == 0
        wait_until(lambda count=count: len(crew.ready_pods()) == count, 60, f"not {count} Pods")
    assert crew.denial(scale(1)).startswith("not_approved: ")

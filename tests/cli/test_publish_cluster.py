"""``publish`` on the installed product: with the chart's producer role, and without any right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controlplane.commands import Completed
from controlplane.installation import Installation
from story.team import AGENT, Team, digest, gathered, workload

EXAMPLES = Path(__file__).parents[2] / "examples"
REGISTRY = "publish_registry:registry"


@pytest.fixture(scope="module")
def team(product: Installation) -> Iterator[Team]:
    with gathered(product) as found:
        yield found


@pytest.fixture(autouse=True)
def in_the_examples_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)


def publish(team: Team, *arguments: str, as_user: Path, runs: str = "c") -> Completed:
    options = ["--name", AGENT, "--id-namespace", "org.example", "--implementation-id", digest(runs)]
    options += ["--capability", "capability:org.example/notes", "-n", team.namespace, *arguments]
    return team.toolvet("publish", REGISTRY, *options, as_user=as_user, check=False)


def stored(team: Team) -> dict:
    path = f"/apis/toolvet.dev/v1alpha1/namespaces/{team.namespace}/toolinventories/{AGENT}"
    return team.bed.api("GET", path)


def test_the_producer_role_publishes_and_publishes_again(team: Team) -> None:
    done = publish(team, as_user=team.people.producer)
    assert (done.returncode, done.stdout) == (0, f"toolinventory.toolvet.dev/{AGENT}\n"), done.stderr
    assert f"published 2 tools of inventory {AGENT} in namespace {team.namespace}" in done.stderr
    first = stored(team)
    expected = publish(team, "--dry-run", as_user=team.people.producer)
    assert first["spec"] == yaml.safe_load(expected.stdout)["spec"]
    managers = {
        entry["manager"] for entry in first["metadata"]["managedFields"] if not entry.get("subresource")
    }
    assert managers == {"toolvet-publish"}

    # The same again is no change; another image is one.
    assert publish(team, as_user=team.people.producer).returncode == 0
    assert stored(team)["metadata"]["generation"] == first["metadata"]["generation"]
    done = publish(team, "-o", "yaml", as_user=team.people.producer, runs="d")
    assert yaml.safe_load(done.stdout)["spec"] == stored(team)["spec"] != first["spec"]
    assert stored(team)["metadata"]["generation"] == first["metadata"]["generation"] + 1


def test_what_was_published_is_reviewed_and_admitted(team: Team) -> None:
    assert publish(team, as_user=team.people.producer).returncode == 0
    team.review()
    team.apply(workload())


@pytest.mark.parametrize("who", ["developer", "reviewer"])
def test_without_the_right_the_api_server_refuses_and_nothing_is_stored(team: Team, who: str) -> None:
    assert publish(team, as_user=team.people.producer).returncode == 0
    before = stored(team)["spec"]
    done = publish(team, as_user=getattr(team.people, who), runs="e")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert stored(team)["spec"] == before

"""``history`` and ``catalog diff --from --to`` on the installed product: what was, and where a gap is."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.commands import Completed
from controlplane.installation import Installation
from controlplane.waiting import wait_until
from story.team import AGENT, Team, gathered, tool
from toolvet.kube.resources import catalog_from_inventory

GENERATIONS = (
    (tool("read"),),
    (tool("read"), tool("write")),
    (tool("read", schema="c"), tool("write")),
    (tool("write"),),
)
RECORDED_SECONDS = 20.0


@pytest.fixture(scope="module")
def team(product: Installation) -> Iterator[Team]:
    """A namespace whose inventory has had four generations, each of them recorded."""
    with gathered(product) as found:
        for number, tools in enumerate(GENERATIONS, start=1):
            found.publish(*tools)
            wait_until(lambda number=number: _recorded(found, number), RECORDED_SECONDS, "it is not recorded")
        yield found


def _revisions(team: Team) -> list[dict[str, Any]]:
    path = f"/apis/apps/v1/namespaces/{team.namespace}/controllerrevisions"
    items: list[dict[str, Any]] = team.bed.api("GET", path)["items"]
    return [item for item in items if "toolvet.dev/inventory-uid" in item["metadata"].get("labels", {})]


def _recorded(team: Team, generation: int) -> bool:
    return any(item["revision"] == generation for item in _revisions(team))


def _run(team: Team, *arguments: str, check: bool = False) -> Completed:
    developer = team.people.developer
    done = team.toolvet(*arguments, "-n", team.namespace, as_user=developer, check=check)
    assert "Traceback" not in done.stderr
    return done


def _diff(team: Team, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = _run(team, "catalog", "diff", *arguments, "--format", "json")
    return done.returncode, json.loads(done.stdout)


def test_every_generation_with_its_digest_and_its_changes(team: Team) -> None:
    found = json.loads(_run(team, "history", AGENT, "-o", "json", check=True).stdout)
    assert found["gaps"] == []
    items = found["generations"]
    live = team.get("tvinv", AGENT)
    assert [item["generation"] for item in items] == [1, 2, 3, 4]
    assert [item["toolCount"] for item in items] == [1, 2, 2, 1]
    assert [item["live"] for item in items] == [False, False, False, True]
    assert all(item["recorded"] and item["readable"] for item in items)
    assert items[-1]["catalogDigest"] == catalog_from_inventory(live).digest
    counts = [item["changes"] and tuple(item["changes"].values()) for item in items]
    assert counts == [None, (1, 0, 0), (0, 0, 1), (0, 1, 0)]


def test_the_text_is_a_table(team: Team) -> None:
    lines = _run(team, "history", AGENT, check=True).stdout.splitlines()
    assert lines[0].split() == ["GENERATION", "CATALOG", "TOOLS", "CHANGES"]
    assert len(lines) == 5
    assert lines[2].endswith("1 added, 0 removed, 0 changed")
    assert lines[-1].endswith("0 added, 1 removed, 0 changed, live")


def test_any_two_versions_can_be_compared(team: Team) -> None:
    reviewer = team.people.reviewer
    captured = team.toolvet("capture", AGENT, "-n", team.namespace, as_user=reviewer).stdout
    snapshot = captured.strip().rpartition("/")[2]
    code, found = _diff(team, AGENT, "--from", "1", "--to", "2")
    assert (code, [item["tool_id"] for item in found["added"]]) == (1, ["tool:org.example/write"])
    code, found = _diff(team, AGENT, "--from", "2", "--to", "3")
    assert (code, [item["tool_id"] for item in found["changed"]]) == (1, ["tool:org.example/read"])
    code, found = _diff(team, AGENT, "--from", "3")
    assert (code, [item["tool_id"] for item in found["removed"]]) == (1, ["tool:org.example/read"])
    for same in (("--from", snapshot), ("--from", "4", "--to", snapshot), ("--from", "live", "--to", "4")):
        code, found = _diff(team, AGENT, *same)
        assert (code, len(found["unchanged"])) == (0, 1), same
    text = _run(team, "catalog", "diff", AGENT, "--from", "1", "--to", "2")
    assert (text.returncode, "tool:org.example/write" in text.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("history", "nobody"), "inventory: not_found"),
        (("history", "No/Name"), "inventory: not_found"),
        (("catalog", "diff", AGENT, "--from", "99"), "from: not_kept"),
        (("catalog", "diff", AGENT, "--from", "1", "--to", "nothing"), "to: not_found"),
        (("catalog", "diff", "nobody", "--from", "live"), "inventory: not_found"),
    ],
)
def test_what_is_not_there_is_bad_input(team: Team, arguments: tuple[str, ...], error: str) -> None:
    done = _run(team, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {error}\n")


@pytest.mark.parametrize(
    "arguments", [("a",), ("a", "b", "--from", "1"), ("a", "b", "c")], ids=["one", "both", "three"]
)
def test_either_two_documents_or_an_inventory_and_a_version(team: Team, arguments: tuple[str, ...]) -> None:
    done = _run(team, "catalog", "diff", *arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_whoever_may_not_read_revisions_is_told_so(team: Team) -> None:
    done = team.toolvet(
        "history", AGENT, "-n", team.namespace, as_user=team.people.reviewer, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "controllerrevisions" in done.stderr


def test_a_gap_shows_as_a_gap_and_damage_as_damage(product: Installation) -> None:
    """Revisions are edited here as anybody with the role edit could."""
    with gathered(product) as team:
        for number, tools in enumerate(GENERATIONS, start=1):
            team.publish(*tools)
            wait_until(lambda number=number: _recorded(team, number), RECORDED_SECONDS, "it is not recorded")
        by_number = {item["revision"]: item["metadata"]["name"] for item in _revisions(team)}
        path = f"/apis/apps/v1/namespaces/{team.namespace}/controllerrevisions"
        damaged = team.bed.api("GET", f"{path}/{by_number[2]}")
        # The data of a revision never changes: another one is made in its place.
        for number in (1, 2, 3):
            team.bed.api("DELETE", f"{path}/{by_number[number]}")
        kept = {key: damaged["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        broken = {"encoding": "zlib+base64", "tools": "Canary text 4f1c"}
        team.bed.api("POST", path, {**damaged, "metadata": kept, "data": broken})
        forged = {**damaged, "metadata": {**kept, "name": "forged"}, "revision": 99, "data": broken}
        team.bed.api("POST", path, forged)
        done = _run(team, "history", AGENT, "-o", "json", check=True)
        found = json.loads(done.stdout)
        assert found["gaps"] == [{"from": 1, "to": 1}, {"from": 3, "to": 3}]
        states = [(item["generation"], item["readable"], item["changes"]) for item in found["generations"]]
        assert states == [(2, False, None), (4, True, None)]
        text = _run(team, "history", AGENT, check=True).stdout
        assert [line.split()[0] for line in text.splitlines()[1:]] == ["1", "2", "3", "4"]
        assert (text.count("not kept"), text.count("unreadable")) == (2, 1)
        refused = _run(team, "catalog", "diff", AGENT, "--from", "2")
        assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, "error: from: unreadable")
        assert "Canary" not in done.stdout + text + refused.stdout + refused.stderr

"""DESIGN 1, steps 1 to 7, through ``kubectl apply --server-side`` under the chart's roles."""

from controlplane.waiting import wait_until
from story.team import AGENT, Team, tool, workload

NOTICED_SECONDS = 5.0  # what the design promises for status, Event and drift


def test_the_story(team: Team) -> None:
    # 2: the live catalog is published; nobody has looked at it.
    team.publish(tool("read"), tool("search"))
    text = team.refusal(workload())
    assert text.startswith(f"not_approved: inventory {AGENT}, live catalog ")
    # 3: a reviewer captures and approves; both commands are the ones the refusal gave.
    first = team.review()
    assert f"kubectl toolvet approve {first} -n {team.namespace}" in text
    # 4: the same apply, with no sleep.
    team.apply(workload())
    wait_until(
        lambda: _workloads(team) == {"governed": 1, "eligible": 1, "drifted": 0},
        NOTICED_SECONDS,
        "the workload is not counted",
    )
    assert _condition(team, "tvinv", AGENT, "Approved") == "True"

    # 5: the inventory changes; the controller says so.
    team.publish(tool("read", schema="c"), tool("search", side_effect="destructive"), tool("write"))
    wait_until(
        lambda: team.get("tvsnap", first)["status"].get("eligibility") == "re-review-required",
        NOTICED_SECONDS,
        "the snapshot is still eligible",
    )
    status = team.get("tvsnap", first)["status"]
    assert status["reasons"] == ["schema_changed", "side_effect_changed", "tool_added"]
    assert (status["previewValid"], status["resumeEligible"]) == (False, False)
    assert status["differences"] == [
        {"toolId": "tool:org.example/read", "version": "1.0.0", "codes": ["schema_changed"]},
        {"toolId": "tool:org.example/search", "version": "1.0.0", "codes": ["side_effect_changed"]},
        {"toolId": "tool:org.example/write", "version": "1.0.0", "codes": ["tool_added"]},
    ]
    wait_until(lambda: team.events("Deployment"), NOTICED_SECONDS, "no Warning Event on the Deployment")
    wait_until(lambda: _workloads(team)["drifted"] == 1, NOTICED_SECONDS, "the workload is not drifted")
    change = team.get("tvinv", AGENT)["status"]["lastChange"]
    assert (change["added"], change["removed"], change["changed"], change["unchanged"]) == (1, 0, 2, 0)

    # 6: the next rollout is refused, with what changed and the command to review.
    restart = ("rollout", "restart", f"deployment/{AGENT}")
    done = team.kubectl(*restart, as_user=team.people.developer, check=False)
    text = done.stderr.partition("denied the request: ")[2]
    assert done.returncode == 1
    assert text.startswith("not_approved: ")
    assert f"since {first}: 1 added, 0 removed, 2 changed" in text
    assert "  tool:org.example/search 1.0.0: side_effect_changed\n" in text
    assert f"kubectl toolvet capture {AGENT} -n {team.namespace}" in text

    # 7: the new catalog is approved; the same rollout passes at once.
    second = team.review()
    assert second != first
    team.kubectl(*restart, as_user=team.people.developer)
    wait_until(lambda: _workloads(team)["eligible"] == 1, NOTICED_SECONDS, "the workload is still drifted")


def _workloads(team: Team) -> dict[str, int]:
    found: dict[str, int] = team.get("tvinv", AGENT).get("status", {}).get("workloads", {})
    return found


def _condition(team: Team, kind: str, name: str, wanted: str) -> str:
    conditions = team.get(kind, name)["status"]["conditions"]
    return next(item["status"] for item in conditions if item["type"] == wanted)

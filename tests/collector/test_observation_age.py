"""Nobody looks any more: what was observed stops to count by the readers' own clocks, and comes back."""

import json
from datetime import datetime, timedelta

from collector.mcp_server import RewritingServer
from collector.watching import (
    admin_apply,
    condition,
    definition,
    inventory,
    source,
    wait,
)
from story.team import AGENT, Team, workload

AGE = 25
LONGER = 2.0 * AGE


def test_what_a_dead_collector_saw_stops_to_count(team: Team, collected) -> None:
    with RewritingServer(definition("read")) as server:
        admin_apply(team, source(server, maxObservationAge=f"{AGE}s"))
        wait(lambda: inventory(team), "no inventory")
        wait(lambda: "digest" in team.get("tvinv", AGENT).get("status", {}), "not judged")
        first = team.review()
        team.apply(workload())
        generation = team.get("tvinv", AGENT)["metadata"]["generation"]
        stated = lambda: team.get("tvinv", AGENT)["metadata"]["annotations"]["toolvet.dev/observed-until"]  # noqa: E731
        before = stated()
        wait(lambda: stated() > before, "the looks do not renew it")
        assert team.get("tvinv", AGENT)["metadata"]["generation"] == generation, "a look makes no history"
        snapshot = lambda: team.get("tvsnap", first)["status"]  # noqa: E731
        assert snapshot()["eligibility"] == "eligible"

        collected.stop_collectors()
        wait(lambda: snapshot()["eligibility"] == "unknown", "a dead collector's word still counts", LONGER)
        assert snapshot()["reasons"] == ["observation_expired"]
        assert "observation_expired: inventory assistant" in team.denial(team.roll())
        wait(lambda: team.get("tvinv", AGENT)["status"]["workloads"]["drifted"] == 1, "not drifted")
        told = team.toolvet(
            *("explain", f"deployment/{AGENT}", "-n", team.namespace, "-o", "json"),
            as_user=team.bed.kubeconfig(),
            check=False,
        )
        found = json.loads(told.stdout)
        assert (told.returncode, found["verdict"], found["code"]) == (1, "denied", "observation_expired")

        collected.start_collector("--lease-duration", "5")
        wait(lambda: snapshot()["eligibility"] == "eligible", "it does not come back", LONGER)
        assert team.roll().returncode == 0


def test_a_server_that_is_down_ends_it_at_the_same_moment_for_all(team: Team) -> None:
    with RewritingServer(definition("read")) as server:
        admin_apply(team, source(server, maxObservationAge="10m"))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        seen = team.get("mcpsource", "files")["status"]["observedAt"]
        later = lambda: team.get("mcpsource", "files")["status"]["observedAt"]  # noqa: E731
        wait(lambda: later() > seen, "no second look")
        server.down = True
        wait(lambda: condition(team, "Observed").get("status") == "False", "the failure is not shown")
        observed = team.get("mcpsource", "files")["status"]["observedAt"]
        until = team.get("tvinv", AGENT)["metadata"]["annotations"]["toolvet.dev/observed-until"]
        assert datetime.fromisoformat(until) - datetime.fromisoformat(observed) == timedelta(minutes=10)

"""Public servers change by themselves, by a dependency and by a release; the chart's product and its people.

Counted, and nothing of what the servers say is kept. A release is brought about as it is in a cluster: the
process behind the address is another one from some moment on.
"""

import contextlib
from collections import Counter

import pytest
from tests.mcp.http_servers import free_port, proxied
from tests.mcp.public_servers import atlassian, commands

from collector.watching import admin_apply, condition, listed, looked, wait
from story.team import AGENT, Team, workload

RELEASES = ("git", "fetch", "time", "memory", "filesystem", "everything")


class Places:
    """Addresses that stay, with servers behind them that do not."""

    def __init__(self, folder):
        self._folder = folder
        self._port = free_port()
        self._running = contextlib.ExitStack()

    def serve(self, servers):
        """Have these servers answer from now on, and no others; returns the URL of each."""
        self.close()
        return self._running.enter_context(proxied(servers, self._folder, self._port))

    def close(self):
        self._running.close()


@pytest.fixture
def places(tmp_path):
    found = Places(tmp_path)
    yield found
    found.close()


def source(url, name="files", inventory=AGENT, **spec):
    defaults = {
        "idNamespace": "org.example",
        "capabilityClass": "capability:org.example/public@1.0.0",
        "version": "1.0.0",
    }
    return {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "MCPSource",
        "metadata": {"name": name},
        "spec": {
            "url": url,
            "inventoryName": inventory,
            "intervalSeconds": 10,
            "mapping": {"defaults": defaults},
            **spec,
        },
    }


def recorded(team, name="files"):
    """Count the changes of a source by event, severity and reasons."""
    specs = [item["spec"] for item in listed(team, "toolchange") if item["spec"]["sourceName"] == name]
    return Counter((spec["event"], spec["severity"], ",".join(spec["reasons"])) for spec in specs)


def published(team):
    metadata = team.get("tvinv", AGENT)["metadata"]
    return metadata["uid"], metadata["generation"]


def judged(team):
    found = team.get("tvinv", AGENT)
    return (found.get("status") or {}).get("observedGeneration") == found["metadata"]["generation"]


@pytest.mark.timeout(600)
def test_a_default_in_random_order_is_called_unstable_and_ignored_by_its_owner(team: Team, places) -> None:
    url = places.serve({"s": atlassian(1)})["s"]
    admin_apply(team, source(url))
    wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
    assert condition(team, "UnstableDefinition")["status"] == "False"
    assert team.get("mcpsource", "files")["status"]["toolCount"] == 63
    wait(lambda: judged(team), "not judged")
    team.review()
    team.apply(workload())

    for start in (2, 3):
        places.serve({"s": atlassian(start)})
        looked(team)
    wait(lambda: condition(team, "UnstableDefinition").get("status") == "True", "it is not called unstable")
    assert condition(team, "UnstableDefinition")["message"].count("(fingerprint, contract)") == 4
    looked(team)  # the second one to show what the third start says
    changes = recorded(team)
    assert set(changes) == {("Changed", "Material", "default_changed")}
    assert changes.total() in {4, 8}, "one for each tool and each start that was seen twice"
    assert "implementation_changed" in team.denial(team.roll())

    # Not a hole in the gate: one member of four definitions, named by whoever owns the source.
    admin_apply(team, source(url, ignorePaths=[{"path": "/inputSchema/properties/fields/default"}]))
    looked(team, 2)
    assert condition(team, "UnstableDefinition")["status"] == "False"
    assert team.get("mcpsource", "files")["status"]["ignoredPaths"] == [
        {"path": "/inputSchema/properties/fields/default"}
    ]
    wait(lambda: judged(team), "not judged")
    team.review()
    assert team.roll().returncode == 0

    before = published(team)
    for start in (4, 5, 6):
        places.serve({"s": atlassian(start)})
        looked(team)  # one look is enough to withdraw an approval
        assert published(team) == before
    assert condition(team, "UnstableDefinition")["status"] == "False"
    assert recorded(team) == changes
    assert team.roll().returncode == 0


def test_schemas_that_vanish_under_a_newer_dependency_need_a_new_approval(
    team: Team, places, tmp_path
) -> None:
    before, after = commands(str(tmp_path))["filesystem, dependency"]
    url = places.serve({"s": before})["s"]
    admin_apply(team, source(url))
    wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
    wait(lambda: judged(team), "not judged")
    first = team.review()
    team.apply(workload())
    assert team.roll().returncode == 0

    places.serve({"s": after})
    looked(team, 2)
    wait(lambda: recorded(team).total() == 8, "the changes are not recorded")
    found = [item["spec"] for item in listed(team, "toolchange")]
    assert {spec["severity"] for spec in found} == {"Material"}
    assert all("schema_erased" in spec["reasons"] for spec in found)
    # The seed's own reading calls inputs that are gone minor.
    assert Counter(spec["literalSeverity"] for spec in found) == {"Minor": 8}
    wait(lambda: team.get("tvsnap", first)["status"]["eligibility"] == "re-review-required", "still eligible")
    assert "schema_changed" in team.denial(team.roll())

    wait(lambda: judged(team), "not judged")
    second = team.review()
    assert second != first
    assert team.roll().returncode == 0
    assert recorded(team).total() == 8


# By event and severity; what comes later is at its first sight, and no change.
EXPECTED = {
    "git": {("Changed", "Material"): 12, ("Removed", "Material"): 1},
    "fetch": {("Changed", "Material"): 1},
    "time": {("Changed", "Material"): 2},
    "memory": {("Changed", "Material"): 9},
    "filesystem": {("Changed", "Material"): 14},
    "everything": {("Changed", "Material"): 2, ("Removed", "Material"): 9},
}
TOOLS = {"git": 12, "fetch": 1, "time": 2, "memory": 9, "filesystem": 14, "everything": 13}


@pytest.mark.timeout(600)
def test_another_release_of_each_server_is_recorded_beside_the_others(team: Team, places, tmp_path) -> None:
    pairs = {name: commands(str(tmp_path))[name] for name in RELEASES}
    urls = places.serve({name: pair[0] for name, pair in pairs.items()})
    for name, url in urls.items():
        admin_apply(team, source(url, name, f"agent-{name}"))

    def tool_counts():
        return {
            item["metadata"]["name"]: item.get("status", {}).get("toolCount")
            for item in listed(team, "mcpsource")
        }

    wait(lambda: None not in tool_counts().values(), "not all are observed")
    assert recorded(team).total() == 0
    places.serve({name: pair[1] for name, pair in pairs.items()})

    def found():
        counts = {name: Counter() for name in RELEASES}
        for item in listed(team, "toolchange"):
            spec = item["spec"]
            counts[spec["sourceName"]][spec["event"], spec["severity"]] += 1
        return counts

    wait(lambda: found() == EXPECTED, "other changes are recorded", 90)
    assert tool_counts() == TOOLS
    for name in RELEASES:
        looked(team, 1, name)
    assert found() == EXPECTED

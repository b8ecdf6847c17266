"""A team that reviews material changes alone: the collector's judgement, and what the gate makes of it."""

import json

from collector.mcp_server import RewritingServer
from collector.watching import admin_apply, definition, inventory, listed, looked, source, wait
from story.team import AGENT, Team, workload

POLICY = {
    "apiVersion": "toolvet.dev/v1alpha1",
    "kind": "CatalogPolicy",
    "metadata": {"name": "default"},
}


def bounded(**bounds):
    return definition("read", count={"type": "integer", **bounds})


def test_minor_changes_pass_with_a_warning_until_a_material_one(team: Team) -> None:
    override = {"namespaces": [team.namespace], "reviewOn": "MaterialChange"}
    apply = ("apply", "--server-side", "-f", "-")
    policy = {**POLICY, "spec": {"overrides": [override]}}
    team.bed.kubectl(*apply, input=json.dumps(policy), kubeconfig=team.people.engineer)
    try:
        _minor_then_material(team)
    finally:
        team.bed.kubectl("delete", "catalogpolicy", "default", kubeconfig=team.people.engineer)


def _minor_then_material(team: Team) -> None:
    def minor_of():
        return team.get("tvinv", AGENT)["spec"].get("minorChangeOf")

    with RewritingServer(bounded(minimum=1)) as server:
        admin_apply(team, source(server))
        wait(lambda: len(inventory(team)) == 1, "no inventory")
        wait(lambda: "digest" in team.get("tvinv", AGENT).get("status", {}), "not judged")
        first = team.review()
        approved = team.get("tvsnap", first)["spec"]["catalogDigest"]
        assert "Warning" not in team.apply(workload()).stderr
        looked(team, 2)  # looks that know what was approved

        # Two minor changes, one after the other: each is compared with what was approved.
        for number, bounds in enumerate([{"minimum": 2}, {"minimum": 2, "maximum": 9}], 1):
            server.tools = [bounded(**bounds)]
            wait(lambda number=number: len(listed(team, "toolchange")) == number, "not recorded")
            wait(lambda: minor_of() == [approved], "the collector does not list what was approved")
            rolled = team.roll()
            assert rolled.returncode == 0, rolled.stderr
            assert "Warning: toolvet: minor_change: inventory assistant, live catalog " in rolled.stderr
            assert f"admitted as a minor change of {first}" in rolled.stderr
            assert "schema_changed" in rolled.stderr
        assert {item["spec"]["severity"] for item in listed(team, "toolchange")} == {"Minor"}

        server.tools = [bounded(minimum=2, maximum=9, description="Tell all.")]
        wait(lambda: minor_of() == [], "a material change is still called minor")
        assert "schema_changed" in team.denial(team.roll())
        team.review()
        assert "Warning" not in team.roll().stderr

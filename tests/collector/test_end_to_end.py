"""A live server rewrites its tools; the chart's collector, gate and controller do the rest."""

import base64
import json
from datetime import UTC, datetime, timedelta

from collector.mcp_server import RewritingServer
from collector.watching import (
    CANARY,
    admin_apply,
    condition,
    definition,
    inventory,
    listed,
    source,
    status,
    wait,
)
from story.team import AGENT, Team, workload


def test_a_rewritten_description_stops_the_next_rollout(team: Team, collected) -> None:
    tools = [definition(f"read_{CANARY}"), definition("search.files")]
    with RewritingServer(*tools) as server:
        admin_apply(team, source(server))
        wait(lambda: len(inventory(team)) == 2, "no inventory")
        before = inventory(team)
        assert {tool["version"] for tool in before.values()} == {"1.2.3"}
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        assert not listed(team, "toolchange"), "first sight is a baseline"
        wait(lambda: "digest" in team.get("tvinv", AGENT).get("status", {}), "not judged")
        first = team.review()
        team.apply(workload())
        looks = server.listings
        wait(lambda: server.listings > looks, "no look after the approval")

        server.tools[0]["description"] = f"Reads a file and sends it. {CANARY}d2"
        moved = f"tool:org.example/read-{CANARY}"
        wait(lambda: inventory(team)[moved] != before[moved], "the inventory did not move")
        now = inventory(team)
        assert now[moved]["schemaDigest"] == before[moved]["schemaDigest"]
        assert now[moved]["implementationId"] != before[moved]["implementationId"]
        wait(lambda: listed(team, "toolchange"), "no change recorded")
        (change,) = listed(team, "toolchange")
        spec = change["spec"]
        assert (spec["event"], spec["severity"], spec["literalSeverity"]) == (
            "Changed",
            "Material",
            "Material",
        )
        assert (spec["toolId"], spec["reasons"]) == (moved, ["description_changed"])
        snapshot = lambda: team.get("tvsnap", first)["status"]  # noqa: E731
        wait(lambda: snapshot()["eligibility"] == "re-review-required", "the snapshot is still eligible")
        assert snapshot()["reasons"] == ["implementation_changed"]
        denied = team.denial(team.roll())
        assert "implementation_changed" in denied

        evidence = team.get("secret", spec["evidenceSecretName"])
        assert evidence["type"] == "toolvet.dev/tool-change-evidence"
        assert f"{CANARY}d2" in base64.b64decode(evidence["data"]["after.json"]).decode()

        team.review()
        assert team.roll().returncode == 0
        assert team.get("mcpsource", "files")["status"]["toolCount"] == 2
        check_content_free(team, collected)


def check_content_free(team: Team, collected) -> None:
    """No text of a definition stands in an object, an Event or a log. A mapped name is an id."""
    texts = [f"{CANARY}d1", f"{CANARY}d2", f"{CANARY}p", "Reads a file"]
    for kind in (
        "mcpsource",
        "toolchange",
        "toolinventory",
        "tvsnap",
        "tvappr",
        "events",
        "controllerrevision",
    ):
        shown = json.dumps(listed(team, kind))
        assert not [text for text in texts if text in shown], kind
    logs = "".join(process.log.read_text() for process in [*collected.collectors, *collected.controllers])
    assert not [text for text in [*texts, CANARY] if text in logs]


def test_unknown_is_not_removed_and_a_restart_keeps_baselines(team: Team, collected) -> None:
    with RewritingServer(definition("read"), definition("write")) as server:
        admin_apply(team, source(server))
        wait(lambda: len(inventory(team)) == 2, "no inventory")
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        before = inventory(team)

        server.down = True
        wait(lambda: status(team).get("unknownReason") == "refused", "the failure is not shown")
        assert inventory(team) == before
        assert condition(team, "Observed")["status"] == "False"
        observed_at = status(team)["observedAt"]
        assert status(team)["attemptedAt"] >= observed_at

        collected.stop_collectors()
        server.tools[0] = definition("read", reach={"type": "string"})
        server.down = False
        collected.start_collector("--lease-duration", "5")
        wait(lambda: listed(team, "toolchange"), "the new process took what it saw for a baseline")
        (change,) = listed(team, "toolchange")
        assert change["spec"]["reasons"] == ["input_added"]
        assert "unknownReason" not in status(team)


def test_removed_and_back_it_meets_its_old_baseline(team: Team) -> None:
    with RewritingServer(definition("read"), definition("write")) as server:
        admin_apply(team, source(server))
        wait(lambda: len(inventory(team)) == 2, "no inventory")
        gone = server.tools.pop()
        wait(lambda: len(inventory(team)) == 1, "the removal is not published")
        wait(
            lambda: [item["spec"]["event"] for item in listed(team, "toolchange")] == ["Removed"],
            "not recorded",
        )
        server.tools.append({**gone, "description": "Another one."})
        wait(lambda: len(listed(team, "toolchange")) == 2, "the return is not recorded")
        back = next(
            item["spec"] for item in listed(team, "toolchange") if item["spec"]["event"] == "Returned"
        )
        assert (back["severity"], back["reasons"]) == ("Material", ["description_changed"])


def test_credentials_go_to_the_host_of_their_secret_only(team: Team) -> None:
    with RewritingServer(definition("read")) as server:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "login"},
            "type": "toolvet.dev/mcp-credentials",
            "stringData": {"host": "elsewhere.example:443", "headers": f"Authorization: Bearer {CANARY}"},
        }
        admin_apply(team, secret)
        admin_apply(team, source(server, credentialsSecretName="login"))
        wait(lambda: condition(team, "Stalled").get("reason") == "credentials_other_host", "not refused")
        assert not server.seen_headers
        secret["stringData"]["host"] = f"127.0.0.1:{server.port}"
        admin_apply(team, secret)
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        assert server.seen_headers[0]["Authorization"] == f"Bearer {CANARY}"
        assert not condition(team, "Stalled")


def test_an_inventory_of_somebody_else_is_not_taken(team: Team) -> None:
    from story.team import tool  # noqa: PLC0415

    team.publish(tool("mine"))
    with RewritingServer(definition("read")) as server:
        admin_apply(team, source(server))
        wait(lambda: condition(team, "Stalled").get("reason") == "inventory_not_ours", "not refused")
        assert list(inventory(team)) == ["tool:org.example/mine"]


def test_a_change_waits_for_accounts_enabled_before_it(team: Team) -> None:
    def enablement(subject, *acknowledged):
        return {
            "apiVersion": "toolvet.dev/v1alpha1",
            "kind": "ToolEnablement",
            "metadata": {"name": f"files.{subject}"},
            "spec": {
                "subject": subject,
                "sourceName": "files",
                "defaultRule": "Allowed",
                "acknowledged": list(acknowledged),
            },
        }

    def standing(subject):
        found = team.get("toolenablement", f"files.{subject}").get("status", {})
        return found.get("pendingCount"), [rule["rule"] for rule in found.get("effectiveRules", [])]

    with RewritingServer(definition("read")) as server:
        admin_apply(team, source(server))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        for subject in ("ann", "bob"):
            admin_apply(team, enablement(subject))
        wait(lambda: standing("ann") == standing("bob") == (0, ["Allowed"]), "the accounts have no rules")
        server.tools[0] = definition("read", "Sends.")
        wait(lambda: standing("ann") == standing("bob") == (1, ["AskFirst"]), "the change does not wait")
        (change,) = listed(team, "toolchange")
        seen = {
            "changeName": change["metadata"]["name"],
            "fingerprint": change["spec"]["after"]["fingerprint"],
        }
        admin_apply(team, enablement("ann", seen))
        # The API server's clock has whole seconds, and in the same one it would wait.
        at = datetime.fromisoformat(change["metadata"]["creationTimestamp"])
        wait(lambda: datetime.now(UTC) > at + timedelta(seconds=1), "time stands still")
        admin_apply(team, enablement("cid"))
        wait(lambda: standing("ann") == standing("cid") == (0, ["Allowed"]), "it still waits")
        assert standing("bob") == (1, ["AskFirst"])

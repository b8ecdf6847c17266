"""A thousand changes of a source are kept, whatever waits for somebody always, and the rest is counted."""

import asyncio
import hashlib

from collector.mcp_server import RewritingServer
from collector.watching import (
    admin_apply,
    condition,
    definition,
    inventory,
    listed,
    looked,
    source,
    status,
    wait,
)
from crds.objects import change, enablement
from story.team import Team
from toolvet.core.change_history import MAX_HISTORY
from toolvet.kube import kubeconfig
from toolvet.kube.client import connect
from toolvet.kube.names import SECRETS, TOOL_CHANGES

AT_ONCE = 25


async def write_history(team: Team, *severities: str) -> None:
    """Write changes as the collector, the oldest first, with what the first ten showed."""
    product = team.product
    account = f"{product.chart.fullname}-collector"
    login = kubeconfig.load(team.bed.service_account_kubeconfig(product.namespace, account), None)
    uid = team.get("mcpsource", "files")["metadata"]["uid"]
    objects = [
        change(
            f"past-{number:04d}", sourceName="files", sourceUid=uid, severity=severity, toolId="tool:a.b/c"
        )
        for number, severity in enumerate(severities)
    ]
    async with connect(login.credentials, user_agent="test") as api:
        for obj in objects[:10]:
            shown = {"apiVersion": "v1", "kind": "Secret", "metadata": obj["metadata"]}
            await api.create(SECRETS, team.namespace, {**shown, "type": "toolvet.dev/tool-change-evidence"})
        for first in range(0, len(objects), AT_ONCE):
            some = objects[first : first + AT_ONCE]
            await asyncio.gather(*(api.create(TOOL_CHANGES, team.namespace, obj) for obj in some))


def by_age(team: Team):
    found = [item["metadata"] | item["spec"] for item in listed(team, "toolchange")]
    return sorted(found, key=lambda item: (item["creationTimestamp"], item["name"]))


async def test_the_oldest_that_nobody_waits_for_are_dropped_and_counted(team: Team) -> None:
    tools = [definition(name) for name in ("read", "write", "send")]
    with RewritingServer(*tools) as server:
        admin_apply(team, source(server))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        await write_history(team, *["Material"] * 2, *["Minor"] * (MAX_HISTORY - 2))
        dropped = [item["name"] for item in by_age(team) if item["severity"] == "Minor"][:3]
        server.tools = [{**tool, "description": "Another."} for tool in tools]
        wait(lambda: status(team).get("droppedChanges", {}).get("count") == 3, "nothing is dropped")
        wait(lambda: len(listed(team, "toolchange")) == MAX_HISTORY, "what was counted is still there")
        digest = ""
        for name in dropped:
            digest = "sha256:" + hashlib.sha256(f"{digest}\n{name}".encode()).hexdigest()
        assert status(team)["droppedChanges"] == {"count": 3, "chainDigest": digest}
        left = {item["name"]: item["severity"] for item in by_age(team)}
        assert not left.keys() & set(dropped)
        assert list(left.values()).count("Material") == 5
        secrets = {item["metadata"]["name"] for item in listed(team, "secret")}
        assert {"past-0000", "past-0001"} <= secrets
        assert not secrets & set(dropped)
        looked(team)
        assert status(team)["droppedChanges"]["count"] == 3


async def test_where_all_of_it_waits_nothing_is_recorded_until_somebody_looked(team: Team) -> None:
    with RewritingServer(definition("read")) as server:
        admin_apply(team, source(server))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        admin_apply(team, enablement("ann", "files", defaultRule="Allowed"))
        await write_history(team, *["Material"] * MAX_HISTORY)
        before = inventory(team)
        server.tools = [definition("read", "Another.")]
        wait(lambda: condition(team, "Recorded").get("reason") == "history_full", "it does not say so")
        looked(team)
        assert len(listed(team, "toolchange")) == MAX_HISTORY
        assert inventory(team) != before, "the approval must not go on matching"

        oldest = by_age(team)[0]["name"]
        seen = {"changeName": oldest, "fingerprint": change()["spec"]["after"]["fingerprint"]}
        admin_apply(team, enablement("ann", "files", defaultRule="Allowed", acknowledged=[seen]))
        wait(lambda: status(team).get("droppedChanges", {}).get("count") == 1, "nothing moves")
        wait(lambda: oldest not in {item["name"] for item in by_age(team)}, "the oldest is still there")
        assert [item["name"] for item in by_age(team) if not item["name"].startswith("past-")]

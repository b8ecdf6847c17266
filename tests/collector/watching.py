"""What a test of the collector asks for and looks at, through kubectl with an admin's rights."""

import json

from controlplane.waiting import wait_until
from story.team import AGENT, Team

CANARY = "zqcanary7"
SECONDS = 40.0  # two looks of ten seconds and what they cause


def definition(name, description=f"Reads a file. {CANARY}d1", **schema):
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": f"{CANARY}p"}, **schema},
        },
        "annotations": {"readOnlyHint": True},
    }


def source(server, **spec):
    return {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "MCPSource",
        "metadata": {"name": "files"},
        "spec": {
            **({} if server is None else {"url": server.url}),
            "inventoryName": AGENT,
            "intervalSeconds": 10,
            "mapping": {
                "defaults": {
                    "idNamespace": "org.example",
                    "capabilityClass": "capability:org.example/files@1.0.0",
                },
                "unlisted": "Name",
            },
            **spec,
        },
    }


def admin_apply(team: Team, obj):
    team.kubectl("apply", "--server-side", "-f", "-", as_user=team.bed.kubeconfig(), given=obj)


def listed(team: Team, kind):
    out = team.kubectl("get", kind, "--output", "json", as_user=team.bed.kubeconfig()).stdout
    return json.loads(out)["items"]


def status(team: Team):
    return team.get("mcpsource", "files").get("status", {})


def condition(team: Team, kind):
    return next((item for item in status(team).get("conditions", []) if item["type"] == kind), {})


def inventory(team: Team):
    found = [item for item in listed(team, "toolinventory") if item["metadata"]["name"] == AGENT]
    return {tool["toolId"]: tool for tool in found[0]["spec"]["tools"]} if found else {}


def looked(team: Team, times=1, name="files"):
    """Wait for this many complete listings that began after now."""

    def observed_at():
        return team.get("mcpsource", name).get("status", {}).get("observedAt")

    for _ in range(times):
        before = observed_at()
        wait(lambda before=before: observed_at() != before, "no complete listing")


def wait(what, message, seconds=SECONDS):
    wait_until(what, seconds, message, 0.2)

"""No text of a live server stands anywhere but in the two kinds of Secrets, whatever happens."""

from collections.abc import Iterator
from typing import Any

import pytest

from collector.canaries import KINDS, NAMED, SECRET_TYPES, WORD, SayingServer, definition, says, text, told
from collector.test_commands import Person
from collector.test_end_to_end import admin_apply, condition, inventory, listed, source, status, wait
from controlplane.installation import Installation
from crds.objects import enablement, held_call
from story.team import AGENT, Team, workload

MAPPING = {
    "defaults": {
        "idNamespace": "org.example",
        "version": "1.0.0",
        "capabilityClass": "capability:org.example/files@1.0.0",
    }
}

NAME_REACHES = set(KINDS) - {"CatalogApproval", "HeldToolCall", "Deployment", "Lease", "ConfigMap"}
"""Where a name comes to stand that may be shown."""


@pytest.fixture(scope="module")
def collected(product: Installation) -> Iterator[Installation]:
    """The product with every process of it at its most talkative."""
    product.controllers[-1].stop()
    product.gates[-1].stop()
    product.start_controller("--verbose")
    product.start_gate("--verbose")
    collector = product.start_collector("--lease-duration", "5", "--verbose")
    yield product
    collector.stop()


class Onlooker:
    """Everybody who looks on and may not read Secrets, and what they were shown."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.admin = Person(team, "admin", kubeconfig=team.bed.kubeconfig())
        self.ann = Person(team, f"ann-{team.namespace}", "account-holder")
        self.agent = Person(team, f"agent-{team.namespace}", "agent")
        self.shown: list[object] = []

    def look(self) -> None:
        assert told(self.team) <= SECRET_TYPES
        for words in (("changes", "list"), ("calls", "list"), ("explain", f"deployment/{AGENT}")):
            self.shown += [self.admin.run(*words), self.admin.run(*words, "-o", "json")]
        self.shown.append(self.admin.run("history", AGENT))
        product = self.team.product
        processes = [*product.collectors, *product.controllers, *product.gates]
        self.shown += [process.log.read_text() for process in processes]
        assert not says([str(item) for item in self.shown])

    def standing(self) -> dict[str, Any]:
        name = enablement(self.ann.name, "files")["metadata"]["name"]
        found: dict[str, Any] = self.team.get("toolenablement", name).get("status", {})
        return found

    def hold(self, rule: dict[str, str]) -> None:
        """Ask for a call of a tool, as an agent does."""
        name = enablement(self.agent.name, "files")["metadata"]["name"]
        spec = {"toolId": rule["toolId"], "definitionFingerprint": rule["definitionFingerprint"]}
        self.agent.create(held_call(self.agent.name, enablementName=name, **spec))


def first_sight(team: Team, on: Onlooker) -> None:
    wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
    found = inventory(team)
    assert len([name for name in found if name.startswith("tool:org.example/t-")]) == 3
    assert any(tool.get("flags") for tool in status(team)["tools"]), "what it hides is flagged"
    wait(lambda: "digest" in team.get("tvinv", AGENT).get("status", {}), "not judged")
    team.review()
    team.apply(workload())
    on.ann.create(enablement(on.ann.name, "files", defaultRule="Allowed"))
    wait(lambda: "effectiveRules" in on.standing(), "no rules")


def rewrite(team: Team, on: Onlooker, server: SayingServer) -> None:
    server.tools[0] = definition(NAMED, text("rewritten"))
    server.tools[0]["inputSchema"]["properties"][text("newparam")] = {"type": "string"}
    server.instructions = text("newinstructions")
    wait(lambda: len(listed(team, "toolchanges")) == 2, "the changes are not recorded")
    wait(lambda: on.standing()["pendingCount"], "nothing waits")
    on.hold(next(rule for rule in on.standing()["effectiveRules"] if rule["rule"] == "AskFirst"))
    refused = team.roll().stderr
    assert "implementation_changed" in refused
    on.shown.append(refused)


def remove(team: Team, on: Onlooker, server: SayingServer) -> None:
    del server.tools[1]
    wait(lambda: len(listed(team, "toolchanges")) == 3, "the removal is not recorded")
    wait(lambda: on.standing()["pendingCount"], "nothing waits")
    on.shown.append(on.ann.run("changes", "ack", "--all", "--source", "files"))
    wait(lambda: not on.standing()["pendingCount"], "it still waits")
    for item in listed(team, "toolchanges"):
        on.shown.append(on.ann.run("changes", "show", item["metadata"]["name"]))


def fail(team: Team, server: SayingServer) -> None:
    headers = server.headers
    for minutes, (code, body, more) in enumerate(server.failures(), 10):
        server.headers, server.failure = headers | more, (code, body)
        before = len(server.seen_headers)
        admin_apply(team, source(server, mapping=MAPPING, maxObservationAge=f"{minutes}m"))
        generation = team.get("mcpsource", "files")["metadata"]["generation"]
        wait(lambda want=generation: status(team)["observedGeneration"] == want, "it does not look")
        assert len(server.seen_headers) > before
        assert status(team).get("unknownReason"), "that was an answer"
    server.headers, server.failure = headers, None
    admin_apply(team, source(server, mapping=MAPPING))
    wait(lambda: "unknownReason" not in status(team), "it does not come back")


def test_a_servers_texts_stand_in_secrets_alone(team: Team, collected: Installation) -> None:
    on = Onlooker(team)
    with SayingServer() as server:
        admin_apply(team, source(server, mapping=MAPPING))
        first_sight(team, on)
        on.look()
        rewrite(team, on, server)
        on.look()
        remove(team, on, server)
        on.look()
        fail(team, server)
        on.look()
        assert told(team) == SECRET_TYPES, "the scan sees what is there"

        # The scan can fail: the same texts, and an owner who says that names may be shown.
        admin_apply(team, source(server, mapping={**MAPPING, "unlisted": "Name"}))
        wait(lambda: any(WORD in name for name in inventory(team)), "the name is no id")
        server.tools[0] = definition(NAMED, text("again"))
        wait(lambda: "ToolChange" in told(team), "nothing is recorded")
        team.review()
        wait(lambda: told(team) - SECRET_TYPES >= NAME_REACHES, "the scan does not see all of it")
        assert told(team) - SECRET_TYPES <= set(KINDS)

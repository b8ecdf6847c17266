"""``toolvet changes`` and ``toolvet calls`` as people run them, each with the chart's roles and no more."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collector.mcp_server import RewritingServer
from collector.watching import CANARY, condition, definition, listed, source, wait
from crds.objects import enablement, held_call, in_seconds
from crds.rights import bind
from story.team import AGENT, Team

TOOL = "tool:org.example/read"
MAPPING = {
    "defaults": {"idNamespace": "org.example", "capabilityClass": "capability:org.example/files@1.0.0"},
    "tools": [{"name": "read", "toolId": TOOL}, {"name": "write", "toolId": "tool:org.example/write"}],
}


class Person:
    """Somebody with some roles, who runs commands in the team's namespace."""

    def __init__(self, team: Team, name: str, *roles: str, kubeconfig: Path | None = None) -> None:
        self.team = team
        self.name = name
        for role in roles:
            bind(team.bed, name, f"{team.product.chart.fullname}-{role}", team.namespace)
        self.kubeconfig = kubeconfig or team.bed.kubeconfig(name)

    def run(self, *words: str) -> tuple[int, str, str]:
        done = self.team.toolvet(*words, "-n", self.team.namespace, as_user=self.kubeconfig, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    def json(self, *words: str) -> Any:
        code, out, said = self.run(*words, "-o", "json")
        assert code == 0, said
        return json.loads(out)

    def create(self, obj: dict[str, Any]) -> None:
        self.team.kubectl("create", "-f", "-", as_user=self.kubeconfig, given=obj)


@contextmanager
def changed(team: Team, *people: Person) -> Iterator[dict[str, Any]]:
    """A server whose description was rewritten after these people had enabled it; gives the ToolChange."""
    with RewritingServer(definition("read"), definition("write")) as server:
        admin = Person(team, "admin", kubeconfig=team.bed.kubeconfig())
        admin.create(source(server, mapping=MAPPING))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        for person in people:
            person.create(enablement(person.name, "files", defaultRule="Allowed"))
        server.tools[0] = definition("read", f"Sends. {CANARY}\x1b[2J")
        wait(lambda: listed(team, "toolchange"), "no change recorded")
        (found,) = listed(team, "toolchange")
        yield found


def test_a_change_is_looked_at_and_acknowledged_by_each_for_themselves(team: Team) -> None:
    ann, bob = (Person(team, f"{name}-{team.namespace}", "account-holder") for name in ("ann", "bob"))
    late = Person(team, f"late-{team.namespace}", "account-holder")
    with changed(team, ann, bob) as change:
        name = change["metadata"]["name"]
        for person, waits in ((ann, True), (bob, True), (late, False)):
            (shown,) = person.json("changes", "list")["changes"]
            expected = (name, TOOL, "Changed", "Material", ["description_changed"], waits)
            assert tuple(
                shown[key] for key in ("name", "toolId", "event", "severity", "reasons", "waits")
            ) == (expected)
        code, out, said = ann.run("changes", "list", "--waiting", "--class", "material", "--source", "files")
        assert (code, out.split()[:3], name in out, CANARY in out + said) == (
            0,
            ["NAME", "TOOL", "VERSION"],
            True,
            False,
        )
        for words in (("--class", "minor"), ("--tool", "tool:org.example/write"), ("--source", "other")):
            assert ann.json("changes", "list", *words) == {"changes": []}
        assert late.json("changes", "list", "--waiting") == {"changes": []}

        # Nothing is written by a dry run, nor for whoever has no enablement of their own.
        code, out, said = ann.run("changes", "ack", name, "--dry-run")
        assert (code, out) == (0, f"toolchange.toolvet.dev/{name}\n")
        assert f"acknowledging as {ann.name}: {name}: {TOOL} 1.2.3: Changed, Material" in said
        assert late.run("changes", "ack", name)[0] == 2
        assert "enablement: not_found" in late.run("changes", "ack", name)[2]
        assert all(not each["spec"].get("acknowledged") for each in listed(team, "toolenablement"))

        assert ann.json("changes", "ack", name) == {"acknowledged": [name], "waiting": 0}
        assert ann.json("changes", "list", "--waiting") == {"changes": []}
        assert ann.json("changes", "ack", name) == {"acknowledged": [], "waiting": 0}
        assert f"{name} does not wait for {ann.name}" in ann.run("changes", "ack", name)[2]
        (waiting,) = bob.json("changes", "list", "--waiting")["changes"]
        assert waiting["name"] == name
        assert bob.json("changes", "ack", "--all", "--source", "files")["acknowledged"] == [name]
        assert bob.run("changes", "ack", "--all")[0] == bob.run("changes", "ack")[0] == 2
        assert bob.run("changes", "ack", "--all", "--source", "files", name)[0] == 2
        assert "change: not_found" in bob.run("changes", "ack", "nothing")[2]


def test_the_texts_are_for_who_may_read_their_secret(team: Team) -> None:
    ann = Person(team, f"ann-{team.namespace}", "account-holder")
    owner = Person(team, f"owner-{team.namespace}", "source-owner")
    admin = Person(team, "admin", kubeconfig=team.bed.kubeconfig())
    with changed(team, ann) as change:
        name = change["metadata"]["name"]
        code, out, said = ann.run("changes", "show", name)
        assert (code, "description_changed" in out, CANARY in out + said) == (0, True, False)
        code, out, said = ann.run("changes", "show", name, "--evidence")
        assert (code, out, CANARY in said, "secrets" in said) == (1, "", False, True)
        code, out, said = admin.run("changes", "show", name, "--evidence")
        assert (code, out.count(CANARY) > 1, "\x1b" in out) == (0, True, False)
        assert "before (" in out
        assert "after (" in out
        sides = admin.json("changes", "show", name, "--evidence")["sides"]
        assert sides["before"]["hiddenBytes"] == sides["after"]["hiddenBytes"] == 0
        assert sides["after"]["text"] != sides["before"]["text"]
        # A source's owner sees changes and no enablements: what waits is unknown to them.
        assert owner.json("changes", "show", name)["waits"] is None
        assert "not known what waits" in owner.run("changes", "list")[2]
        assert ann.run("changes", "show", "nothing")[0] == 2


@pytest.fixture
def agent(team: Team) -> Person:
    """The process of an agent: its service account with the agent role."""
    team.kubectl("create", "serviceaccount", AGENT, as_user=team.bed.kubeconfig())
    path = team.bed.service_account_kubeconfig(team.namespace, AGENT)
    return Person(team, f"system:serviceaccount:{team.namespace}:{AGENT}", "agent", kubeconfig=path)


def call(agent: Person, number: int, **spec: Any) -> tuple[str, dict[str, Any]]:
    obj = held_call(agent.name, number, **spec)
    return obj["metadata"]["name"], obj


def test_a_call_is_decided_once_by_somebody_else(team: Team, agent: Person) -> None:
    decider = Person(team, f"decider-{team.namespace}", "call-decider")
    other = Person(team, f"other-{team.namespace}", "call-decider")
    viewer = Person(team, f"viewer-{team.namespace}", "viewer")
    (first, one), (second, two), (third, three) = (call(agent, number) for number in range(3))
    three["spec"]["expiresAt"] = in_seconds(6)
    for obj in (one, two, three):
        agent.create(obj)
    shown = viewer.json("calls", "list", "--phase", "Held", "--requested-by", agent.name)["calls"]
    assert sorted(each["name"] for each in shown) == [first, second, third]
    assert viewer.json("calls", "list", "--requested-by", "nobody") == {"calls": []}
    assert viewer.run("calls", "list")[1].split()[:2] == ["NAME", "TOOL"]

    def phases() -> list[str]:
        return [team.get("heldtoolcall", name)["status"]["phase"] for name in (first, second)]

    assert viewer.run("calls", "approve", first)[0] == 1
    code, _, said = agent.run("calls", "approve", first)
    assert (code, "decide" in said or "cannot update" in said) == (1, True)
    bind(team.bed, agent.name, f"{team.product.chart.fullname}-call-decider", team.namespace)
    code, _, said = agent.run("calls", "approve", first)
    assert (code, "not_independent" in said) == (1, True)
    assert decider.run("calls", "approve", first, "--dry-run")[0] == 0
    assert phases() == ["Held", "Held"]

    code, out, said = decider.run("calls", "approve", first)
    assert (code, out) == (0, f"heldtoolcall.toolvet.dev/{first}\n")
    expires = next(each["expiresAt"] for each in shown if each["name"] == first)
    assert f"requested by {agent.name}, expires {expires}" in said
    assert decider.json("calls", "deny", second)["phase"] == "Denied"
    assert phases() == ["Approved", "Denied"]
    # Again by the same person is no fault; another way, or by somebody else, is too late.
    assert decider.run("calls", "approve", first)[0] == 0
    for person, verdict, name in (
        (decider, "deny", first),
        (other, "approve", first),
        (other, "approve", second),
    ):
        code, out, said = person.run("calls", verdict, name)
        assert (code, out, "call: decided_before" in said) == (1, "", True)
    wait(
        lambda: viewer.json("calls", "list", "--phase", "Held")["calls"][0]["expired"], "it does not run out"
    )
    code, out, said = decider.run("calls", "approve", third)
    assert (code, out, "call: expired" in said) == (1, "", True)
    assert "call: not_found" in decider.run("calls", "approve", "nothing")[2]

"""An agent asks before it calls: the chart's roles, the real collector's rules, people who decide."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collector.mcp_server import RewritingServer
from collector.watching import condition, definition, inventory, listed, source, wait
from crds.objects import enablement
from crds.rights import bind
from story.team import AGENT, Team
from toolvet.kube.call_store import HeldCallStore
from toolvet.kube.client import connect
from toolvet.kube.kubeconfig import load
from toolvet.runtime import BlockReason, CallGate, CallStoreError, CallVerdict, ContractError

CANARY = "zqcanary7"
READ, WRITE, DROP = (f"tool:org.example/{name}" for name in ("read", "write", "drop"))
MAPPING = {
    "defaults": {"idNamespace": "org.example", "capabilityClass": "capability:org.example/files@1.0.0"},
    "tools": [{"name": name, "toolId": f"tool:org.example/{name}"} for name in ("drop", "read", "write")],
}


@dataclass
class Agent:
    """The process of an agent: a service account with the chart's role ``agent`` and no other right."""

    team: Team
    name: str
    kubeconfig: Path

    @classmethod
    def of(cls, team: Team, account: str) -> "Agent":
        team.kubectl("create", "serviceaccount", account, as_user=team.bed.kubeconfig())
        name = f"system:serviceaccount:{team.namespace}:{account}"
        bind(team.bed, name, f"{team.product.chart.fullname}-agent", team.namespace)
        return cls(team, name, team.bed.service_account_kubeconfig(team.namespace, account))

    @asynccontextmanager
    async def gate(self, **options: Any) -> AsyncIterator[CallGate]:
        async with connect(load(self.kubeconfig, None).credentials, user_agent="agent") as api:
            yield CallGate(HeldCallStore(api, self.team.namespace, "files"), **options)

    def enabled(self, **rules: str) -> None:
        """Enabled by whoever may delegate: an agent enables nothing."""
        listed_rules = [
            {"toolId": f"tool:org.example/{tool}", "rule": rule} for tool, rule in sorted(rules.items())
        ]
        obj = enablement(self.name, "files", rules=listed_rules)
        self.team.apply(obj, as_user=self.team.people.engineer)
        name = obj["metadata"]["name"]
        wait(
            lambda: self.team.get("toolenablement", name).get("status", {}).get("effectiveRules"), "no rules"
        )


@pytest.fixture
def decider(team: Team) -> Path:
    name = f"decider-{team.namespace}"
    bind(team.bed, name, f"{team.product.chart.fullname}-call-decider", team.namespace)
    return team.bed.kubeconfig(name)


def decide(team: Team, decider: Path, verdict: str, name: str | None) -> None:
    assert name is not None
    team.toolvet("calls", verdict, name, "-n", team.namespace, as_user=decider)


@contextmanager
def served(team: Team, **spec: Any) -> Iterator[RewritingServer]:
    with RewritingServer(definition("read"), definition("write"), definition("drop")) as server:
        team.kubectl(
            *("create", "-f", "-"),
            as_user=team.bed.kubeconfig(),
            given=source(server, mapping=MAPPING, **spec),
        )
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        yield server


async def test_an_agent_calls_what_it_may_and_asks_for_the_rest(
    team: Team, decider: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    agent, other = Agent.of(team, AGENT), Agent.of(team, "other")
    read, write, drop = definition("read"), definition("write"), definition("drop")
    first, second = {"path": f"/{CANARY}"}, {"path": f"/{CANARY}/b"}
    with served(team):
        async with agent.gate() as gate, other.gate() as others:
            blocked = await gate.decide(READ, first, definition=read)
            assert (blocked.verdict, blocked.reason) == (CallVerdict.BLOCKED, BlockReason.ENABLEMENT_MISSING)
            agent.enabled(read="Allowed", drop="Blocked")
            other.enabled(write="AskFirst")

            assert (await gate.decide(READ, first, definition=read)).allowed
            assert (await gate.decide(DROP, first, definition=drop)).reason is BlockReason.RULE_BLOCKED
            unknown = await gate.decide("tool:org.example/else", first, definition=read)
            assert unknown.reason is BlockReason.UNKNOWN_TOOL
            elsewhere = await gate.decide(READ, first, definition=definition("read", "Another text."))
            assert elsewhere.reason is BlockReason.DEFINITION_MISMATCH
            assert listed(team, "heldtoolcall") == []

            # AskFirst, the default: one held call, however often it is asked for.
            held = await gate.decide(WRITE, first, definition=write)
            assert (held.verdict, bool(held)) == (CallVerdict.HELD, False)
            assert await gate.decide(WRITE, {**first}, definition=write) == held
            apart = await gate.decide(WRITE, second, definition=write)
            foreign = await others.decide(WRITE, first, definition=write)
            assert len({held.call_name, apart.call_name, foreign.call_name}) == 3

            # A yes is for that call of that agent, and for one.
            decide(team, decider, "approve", held.call_name)
            assert not await others.decide(WRITE, first, definition=write)
            assert not await gate.decide(WRITE, second, definition=write)
        async with agent.gate() as gate:  # as after a restart
            assert (await gate.decide(WRITE, first, definition=write)).call_name == held.call_name
            again = await gate.decide(WRITE, first, definition=write)
            assert again.verdict is CallVerdict.HELD
            assert again.call_name not in {held.call_name, apart.call_name}
            decide(team, decider, "deny", apart.call_name)
            denied = await gate.decide(WRITE, second, definition=write)
            assert (denied.verdict, denied.reason) == (CallVerdict.BLOCKED, BlockReason.DENIED)
            decide(team, decider, "approve", again.call_name)
            waited = await gate.decide_within(20, WRITE, first, definition=write, poll=0.2)
            assert waited.allowed
        stored = json.dumps(listed(team, "heldtoolcall"))
        assert CANARY not in stored
        assert CANARY not in caplog.text


async def test_a_tool_under_review_is_asked_for(team: Team, decider: Path) -> None:
    agent = Agent.of(team, AGENT)
    before, after = definition("read"), definition("read", "Reads a file and sends it.")
    with served(team) as server:
        agent.enabled(read="Allowed")
        async with agent.gate() as gate:
            assert await gate.decide(READ, {}, definition=before)
            moved = inventory(team)[READ]
            server.tools[0] = after
            wait(lambda: inventory(team)[READ] != moved, "the inventory did not move")
            wait(lambda: listed(team, "toolchange"), "no change recorded")
            wait(
                lambda: (
                    listed(team, "toolenablement")[0]["status"]["effectiveRules"][1]["rule"] == "AskFirst"
                ),
                "still allowed",
            )
            # What the agent saw is not what is served; and what is served was not looked at.
            assert (await gate.decide(READ, {}, definition=before)).reason is BlockReason.DEFINITION_MISMATCH
            held = await gate.decide(READ, {}, definition=after)
            assert held.verdict is CallVerdict.HELD
            decide(team, decider, "approve", held.call_name)
            assert await gate.decide(READ, {}, definition=after)
            # The tool stays under review.
            assert (await gate.decide(READ, {}, definition=after)).verdict is CallVerdict.HELD


async def test_nothing_is_allowed_on_what_is_not_known(team: Team, tmp_path: Path) -> None:
    agent = Agent.of(team, AGENT)
    with served(team, maxObservationAge="25s") as server:
        agent.enabled(read="Allowed")
        async with agent.gate() as gate:
            assert await gate.decide(READ, {}, definition=definition("read"))
            server.down = True
            until = datetime.fromisoformat(team.get("mcpsource", "files")["status"]["observedAt"])
            wait(lambda: datetime.now(UTC) > until + timedelta(seconds=26), "time stands still", 60)
            unseen = await gate.decide(READ, {}, definition=definition("read"))
            assert unseen.reason in {BlockReason.NOT_OBSERVED, BlockReason.RULES_NOT_READY}
        nowhere = tmp_path / "nowhere.kubeconfig"
        nowhere.write_text(agent.kubeconfig.read_text().replace(f":{team.bed.port}", ":1"))
        async with Agent(team, agent.name, nowhere).gate() as gate:
            with pytest.raises(CallStoreError, match="account: unreachable"):
                await gate.decide(READ, {}, definition=definition("read"))
        stranger = team.bed.kubeconfig(f"stranger-{team.namespace}")
        async with Agent(team, "stranger", stranger).gate() as gate:
            with pytest.raises(CallStoreError, match="rules: not_permitted"):
                await gate.decide(READ, {}, definition=definition("read"))


@pytest.mark.parametrize(
    ("tool", "options", "error"),
    [
        (f"tool:{CANARY}", {}, "identifier: invalid_identifier"),
        (f"{READ}@1.0.0", {}, "tool_id: version_must_be_separate"),
        (READ, {"definition": None}, "definition: one_of"),
        (READ, {"definition_fingerprint": "sha256:" + "a" * 64}, "definition: one_of"),
        (
            READ,
            {"definition": None, "definition_fingerprint": CANARY},
            "definition_fingerprint: invalid_digest",
        ),
        (READ, {"definition": [CANARY]}, "definition: invalid_type"),
    ],
)
async def test_a_question_that_cannot_be_is_an_error(
    tool: str, options: dict[str, Any], error: str, product: Any, tmp_path: Path
) -> None:
    path = product.bed.kubeconfig("nobody")
    async with connect(load(path, None).credentials, user_agent="agent") as api:
        gate = CallGate(HeldCallStore(api, "default", "files"))
        with pytest.raises(ContractError) as caught:
            await gate.decide(tool, {}, **{"definition": definition("read"), **options})
    assert str(caught.value).startswith(error)
    assert CANARY not in str(caught.value)

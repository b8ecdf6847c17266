"""One approval lets exactly one call through, however many consumers ask at once.

TOOLVET_FULL=1 runs 100 rounds; by default they are 5. The first test is of the library that agents use,
the others are of consumers that go by themselves.
"""

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from crds.api import Resources
from crds.objects import DIGEST, call_name, enablement, held_call, in_seconds, source
from crds.rights import bind, give
from toolvet.core.held_call import SLOTS
from toolvet.kube.call_store import HeldCallStore
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import HELD_TOOL_CALLS
from toolvet.runtime import CallDecision, CallGate, CallStoreError, CallVerdict

ROUNDS = 100 if os.environ.get("TOOLVET_FULL") == "1" else 5
CONSUMERS = 200
CONNECTIONS = 20
TOOL = "tool:org.example/summarize"


Consume = Callable[[ApiClient, str, dict[str, Any]], Awaitable[str]]


async def by_version(api: ApiClient, namespace: str, approved: dict) -> str:
    """Consume it as it was read: a compare-and-swap of the resourceVersion."""
    status = {**approved["status"], "phase": "Consumed", "consumptionId": secrets.token_hex(16)}
    await api.replace(HELD_TOOL_CALLS, namespace, {**approved, "status": status}, subresource="status")
    return str(status["consumptionId"])


async def by_patch(api: ApiClient, namespace: str, approved: dict) -> str:
    """Consume it whatever was read, as no consumer should: the API server applies a patch to what it has."""
    status = {"phase": "Consumed", "consumptionId": secrets.token_hex(16)}
    name = approved["metadata"]["name"]
    await api.merge(HELD_TOOL_CALLS, namespace, name, {"status": status}, subresource="status")
    return status["consumptionId"]


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[ApiClient]:
    async with connect(load(path, None).credentials, user_agent="consumers", call_timeout=60.0) as api:
        yield api


async def outcome(attempt: Awaitable[str]) -> str | int:
    """What one consumer consumed it with, or the status of the refusal."""
    try:
        return await attempt
    except ApiError as error:
        refused = error
    assert refused.status == HTTPStatus.CONFLICT or "immutable" in refused.message, refused
    return refused.status


@asynccontextmanager
async def party(
    resources: Resources, account: str
) -> AsyncIterator[tuple[str, str, ApiClient, list[ApiClient]]]:
    """An agent and somebody who decides: their names, and connections as either."""
    bed, namespace = resources.bed, resources.namespace
    agent, decider = f"system:serviceaccount:{namespace}:{account}", f"decider-{namespace}"
    bind(bed, agent, "toolvet-agent", namespace)
    bind(bed, decider, "toolvet-call-decider", namespace)
    groups = ("system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    async with AsyncExitStack() as stack:
        deciding = await stack.enter_async_context(connected(bed.kubeconfig(decider)))
        asking = [
            await stack.enter_async_context(connected(bed.kubeconfig(agent, groups)))
            for _ in range(CONNECTIONS)
        ]
        yield agent, decider, deciding, asking


async def outcome_of(question: Awaitable[CallDecision]) -> CallDecision | None:
    """The decision; None where there is no answer, as from an API server that has too much to do.

    What is not answered lets nothing through, and takes nothing from whoever is answered.
    """
    try:
        return await question
    except CallStoreError as error:
        print(f"no answer: {error}")
    return None


def ready(resources: Resources, agent: str) -> None:
    """The agent asks first for one tool of an observed source, as the collector would say."""
    collector = "system:serviceaccount:toolvet-system:toolvet-collector"
    plurals = ["mcpsources/status", "toolenablements/status"]
    give(resources.bed, collector, resources.namespace, {"resources": plurals, "verbs": ["patch"]})
    saying = resources.as_user(collector)
    saying.patch(source(), {"status": {"observedAt": in_seconds(0)}}, "status")
    made = resources.create(enablement(agent))
    generation = made["metadata"]["generation"]
    known = {
        "type": "Ready",
        "status": "True",
        "reason": "Known",
        "message": "",
        "observedGeneration": generation,
    }
    rule = {"toolId": TOOL, "version": "1.9.0", "rule": "AskFirst", "definitionFingerprint": DIGEST}
    status = {
        "observedGeneration": generation,
        "conditions": [{**known, "lastTransitionTime": in_seconds(0)}],
        "effectiveRules": [rule],
    }
    saying.patch(made, {"status": status}, "status")


@pytest.mark.timeout(1800)
async def test_two_hundred_gates_and_one_approval(resources: Resources) -> None:
    namespace, left, account = resources.namespace, ROUNDS, 0
    resources.create(source())
    while left:
        account, rounds = account + 1, min(left, SLOTS - 2)  # an account has only so many calls an hour
        left -= rounds
        async with party(resources, f"assistant-{account}") as (agent, decider, deciding, asking):
            ready(resources, agent)
            gates = [CallGate(HeldCallStore(api, namespace, "notes")) for api in asking]

            async def ask(number: int, gates: list[CallGate] = gates) -> CallDecision:
                gate = gates[number % CONNECTIONS]
                return await gate.decide(TOOL, {"path": "/a"}, definition_fingerprint=DIGEST)

            for _ in range(rounds):
                held = None
                async with asyncio.timeout(60):
                    while held is None:
                        held = await outcome_of(ask(0))
                assert held.verdict is CallVerdict.HELD, held
                stored = await deciding.get(HELD_TOOL_CALLS, namespace, str(held.call_name))
                status = {"phase": "Approved", "decidedBy": decider}
                await deciding.replace(
                    HELD_TOOL_CALLS, namespace, {**stored, "status": status}, subresource="status"
                )
                found = await asyncio.gather(*[outcome_of(ask(number)) for number in range(CONSUMERS)])
                decided = [each for each in found if each is not None]
                assert [each.call_name for each in decided if each.allowed] == [held.call_name]
                # All others ask again, and for one call: the next round's.
                others = Counter((each.verdict, each.call_name) for each in decided if not each.allowed)
                assert len(others) == 1, others


@pytest.mark.timeout(900)
@pytest.mark.parametrize("consume", [by_version, by_patch])
async def test_two_hundred_consumers_of_one_approval(resources: Resources, consume: Consume) -> None:
    namespace = resources.namespace
    async with party(resources, "assistant") as (agent, decider, deciding, asking):
        # More than the role gives: who may patch must not get a second call either.
        give(resources.bed, agent, namespace, {"resources": ["heldtoolcalls/status"], "verbs": ["patch"]})
        for number in range(min(ROUNDS, SLOTS)):
            name = call_name(agent, number)
            await asking[0].create(HELD_TOOL_CALLS, namespace, held_call(agent, number))
            held = await asking[0].get(HELD_TOOL_CALLS, namespace, name)
            status = {"phase": "Approved", "decidedBy": decider}
            approved = await deciding.replace(
                HELD_TOOL_CALLS, namespace, {**held, "status": status}, subresource="status"
            )
            tries = [outcome(consume(asking[i % CONNECTIONS], namespace, approved)) for i in range(CONSUMERS)]
            found = await asyncio.gather(*tries)
            winners = [item for item in found if isinstance(item, str)]
            assert len(winners) == 1, Counter(map(type, found))
            stored = await asking[0].get(HELD_TOOL_CALLS, namespace, name)
            assert stored["status"] == {**status, "phase": "Consumed", "consumptionId": winners[0]}

"""One approval lets exactly one call through, however many consumers ask at once.

TOOLVET_FULL=1 runs 100 rounds; by default they are 5.
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
from crds.objects import held_call
from crds.rights import bind, give
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import HELD_TOOL_CALLS

ROUNDS = 100 if os.environ.get("TOOLVET_FULL") == "1" else 5
CONSUMERS = 200
CONNECTIONS = 20


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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("consume", [by_version, by_patch])
async def test_two_hundred_consumers_of_one_approval(resources: Resources, consume: Consume) -> None:
    bed, namespace = resources.bed, resources.namespace
    agent = f"system:serviceaccount:{namespace}:assistant"
    decider = f"decider-{namespace}"
    bind(bed, agent, "toolvet-agent", namespace)
    bind(bed, decider, "toolvet-call-decider", namespace)
    # More than the role gives: who may patch must not get a second call either.
    give(bed, agent, namespace, {"resources": ["heldtoolcalls/status"], "verbs": ["patch"]})
    groups = ("system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    async with AsyncExitStack() as stack:
        deciding = await stack.enter_async_context(connected(bed.kubeconfig(decider)))
        asking = [
            await stack.enter_async_context(connected(bed.kubeconfig(agent, groups)))
            for _ in range(CONNECTIONS)
        ]
        for number in range(ROUNDS):
            name = f"call-{number}"
            await asking[0].create(HELD_TOOL_CALLS, namespace, held_call(agent, name))
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

"""A pass of which the API server refuses one write is made again, and what it had read is not lost."""

import itertools
from datetime import UTC, datetime

import pytest

from collector.watching import admin_apply, definition, inventory, listed, source
from crds.rights import await_right
from story.team import Team
from toolvet.collector.passes import Collector, SourceKey
from toolvet.core.listing_change import read_listing
from toolvet.kube import kubeconfig
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.mcp.observation import Listing

READ = "tool:org.example/read"


class Refusing(ApiClient):
    """A client one of whose writes the API server is too busy for."""

    def __init__(self, inner):
        self._inner = inner
        self.refused = None
        self.left = 0

    async def _call(self, method, path, *arguments, **keywords):
        if method != "GET":
            if self.left == 0 and self.refused is None:
                self.refused = f"{method} {path.rpartition('/')[2]}"
                raise ApiError(429, "TooManyRequests", "busy")
            self.left -= 1
        return await self._inner._call(method, path, *arguments, **keywords)


@pytest.mark.parametrize("served_twice", [False, True])
async def test_whichever_write_fails_the_change_is_found(uncollected: Team, served_twice) -> None:
    team = uncollected
    product = team.product
    account = f"{product.chart.fullname}-collector"
    user = f"system:serviceaccount:{product.namespace}:{account}"
    await_right(team.bed, user, "patch", "secrets", team.namespace)
    login = kubeconfig.load(team.bed.service_account_kubeconfig(product.namespace, account), None)
    for kind in ("toolchange", "toolenablement"):
        listed(
            team, kind
        )  # a kind that was just installed is answered for by 429 at first; kubectl asks again
    hours = itertools.count(step=3600)
    served = {}

    async def lists(url, _login):
        tools = [definition("read", served[url])]
        return Listing("2026-07-28", tuple(tools), read_listing(tools, None), "1.0.0")

    class Place:
        url = "https://mcp.example/mcp"

    async with connect(login.credentials, user_agent="test") as api:
        for writes in itertools.count():
            name = f"files-{writes}"
            obj = source(Place, inventoryName=name)
            url = obj["spec"]["url"] = f"https://mcp.example/{writes}"
            obj["metadata"]["name"] = name
            admin_apply(team, obj)
            refusing = Refusing(api)
            clock = {"monotonic": lambda: float(next(hours)), "now": lambda: datetime.now(UTC)}
            collector = Collector(api, refusing, lists, instance="test", **clock)
            key = SourceKey(team.namespace, name)
            refusing.left = 1000
            served[url] = "Reads."
            await collector.step(key)
            served[url] = "Sends."
            if served_twice:
                await collector.step(key)
            refusing.left = writes
            failed = 0
            for _ in range(4):
                try:
                    await collector.step(key)
                except ApiError:
                    failed += 1
            changes = [item for item in listed(team, "toolchange") if item["spec"]["sourceName"] == name]
            assert [item["spec"]["reasons"] for item in changes] == [["description_changed"]], (
                refusing.refused
            )
            if not failed:
                break
    assert writes > 5, "no write was refused"
    assert not inventory(team)

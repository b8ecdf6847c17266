"""No right too many, of the collector: each one is taken away, and something must fail.

As in test_rbac.py. The rules about what only the release's own collector writes are taken out of force here:
accounts that lack a right have another name.
"""

import itertools
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chart.rights import LIVE, NAMESPACE, OURS, Outcome, Place, Recording, Right, unused
from controller.objects import inventory
from controlplane.api import ApiError as AdminError
from controlplane.bed import ControlPlane
from controlplane.chart import install_chart
from controlplane.ports import free_port
from controlplane.waiting import wait_until
from crds.address_books import KAGENT, KMCP, TOOLHIVE, definitions
from crds.objects import change, enablement, held_call, source
from toolvet.collector.address_book import url_of
from toolvet.collector.finished_calls import delete_finished_calls
from toolvet.collector.passes import Collector, SourceKey
from toolvet.collector.writing import delete_change
from toolvet.core.errors import ContractError
from toolvet.core.listing_change import read_listing
from toolvet.core.tool_source import SourceReference
from toolvet.kube.client import ApiError
from toolvet.kube.lease import Elector, LeaseLostError
from toolvet.kube.names import MCP_SOURCES, OBSERVED_UNTIL_ANNOTATION, TOOL_ENABLEMENTS
from toolvet.mcp.observation import Listing

BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
SECRETS = [Right("ClusterRole", "", "secrets", None, verb) for verb in ("get", "create", "patch", "delete")]


@pytest.fixture(scope="module")
def place(controlplane: ControlPlane) -> Iterator[Place]:
    install_chart(controlplane, gate_port=free_port(), values={"collector": {"enabled": True}})
    for rule in ("collector", "observations"):
        controlplane.api("DELETE", f"{BINDINGS}/{rule}.toolvet.dev")
    for obj in definitions():
        controlplane.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", obj)
    with controlplane.namespace("rights-", {"toolvet.dev/mode": "audit"}) as team:
        found = Place(controlplane, team)
        observed = inventory(LIVE, "probe")
        observed["metadata"]["annotations"] = {OBSERVED_UNTIL_ANNOTATION: "2030-01-01T00:00:00Z"}
        probes = {"toolchanges": change("probe"), "toolinventories": observed}

        def out_of_force() -> bool:
            try:
                for plural, obj in probes.items():
                    found.create(obj, found.ours(plural) + "?dryRun=All")
            except AdminError:
                return False
            return True

        wait_until(out_of_force, 30, "the collector's own rules are still in force")
        yield found
    for obj in definitions():
        name = obj["metadata"]["name"]
        controlplane.api("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    controlplane.helm("uninstall", "toolvet", "--namespace", NAMESPACE)


async def attempt(step: Any) -> Any:
    """What a step returns, or how it failed."""
    try:
        return await step
    except ApiError as error:
        return error.status
    except ContractError as error:
        return error.code
    except LeaseLostError:
        return "lost"


def now() -> datetime:
    return datetime.now(UTC)


class Collecting:
    """What a collector does, a part at a time; admin sets the scene and looks at the result."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._numbers = itertools.count()
        self.text = "Reads."
        path = place.ours("").rpartition("/")[0]
        for kind, spec in ((KAGENT, {"spec": {"url": "https://a.example/mcp"}}), (KMCP, {}), (TOOLHIVE, {})):
            book = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "files"}, **spec}
            place.create(book, f"/apis/{kind.api_version}{path.removeprefix(OURS)}/{kind.plural}")

    async def leads(self, api: Recording, identity: str) -> Outcome:
        lease = "toolvet-collector"
        self._place.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{lease}")
        elector = Elector(api, NAMESPACE, lease, identity, monotonic=time.monotonic, now=now)
        return {"takes": await attempt(elector._try()), "renews": await attempt(elector._renew())}

    async def refreshes(self, api: Recording, _: str) -> Outcome:
        return {
            item.plural: type(await attempt(api.metadata(item))) for item in (MCP_SOURCES, TOOL_ENABLEMENTS)
        }

    async def finds(self, api: Recording, _: str) -> Outcome:
        return {
            f"{kind.group} {kind.kind}": await attempt(
                url_of(api, self._place.team, SourceReference(kind.api_version, kind.kind, "files"))
            )
            for kind in (KAGENT, KMCP, TOOLHIVE)
        }

    async def looks(self, api: Recording, _: str) -> Outcome:
        place, name = self._place, f"files-{next(self._numbers)}"
        login = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "type": "toolvet.dev/mcp-credentials",
            "stringData": {"host": "mcp.example", "headers": "Authorization: Bearer none"},
        }
        place.create(login, f"/api/v1/namespaces/{place.team}/secrets")
        mapping = {
            "defaults": {"idNamespace": "org.example", "capabilityClass": "capability:org.example/text"}
        }
        wanted = source(name, inventoryName=name, credentialsSecretName=name, mapping=mapping)
        place.create(wanted, place.ours("mcpsources"))
        place.create(enablement("ann", name), place.ours("toolenablements"))
        hours = itertools.count(step=3600)
        collector = Collector(
            api, api, self._listed, monotonic=lambda: float(next(hours)), now=now, instance="test"
        )
        key = SourceKey(place.team, name)
        steps = []
        for text in ("Reads.", "Sends.", "Sends."):
            self.text = text
            steps.append(type(await attempt(collector.step(key))))
        changes = [
            item["metadata"]["name"]
            for item in place.bed.api("GET", place.ours("toolchanges"))["items"]
            if item["spec"]["sourceName"] == name
        ]
        deleted = [await attempt(delete_change(api, place.team, item)) for item in changes]
        return {"steps": steps, "deleted": deleted, **self._left(name)}

    async def cleans(self, api: Recording, _: str) -> Outcome:
        call = held_call("admin")
        self._place.delete(self._place.ours("heldtoolcalls", call["metadata"]["name"]))
        self._place.create(call, self._place.ours("heldtoolcalls"))
        return {"deleted": await attempt(delete_finished_calls(api, api, now() + timedelta(hours=3)))}

    def _left(self, name: str) -> Outcome:
        bed, place = self._place.bed, self._place
        status = bed.api("GET", place.ours("mcpsources", name)).get("status", {})
        account = bed.api("GET", place.ours("toolenablements", f"{name}.ann")).get("status", {})
        secrets = bed.api("GET", f"/api/v1/namespaces/{place.team}/secrets")["items"]
        inventories = bed.api("GET", place.ours("toolinventories"))["items"]
        events = bed.api("GET", f"/apis/events.k8s.io/v1/namespaces/{place.team}/events")["items"]
        return {
            "conditions": [(item["type"], item["status"]) for item in status.get("conditions", [])],
            "accounts": [rule["rule"] for rule in account.get("effectiveRules", [])],
            "secrets": [item["type"] for item in secrets if item["metadata"]["name"].startswith(f"{name}.")],
            "events": sum(item["regarding"]["name"] == name for item in events),
            "inventory": [len(i["spec"]["tools"]) for i in inventories if i["metadata"]["name"] == name],
        }

    async def _listed(self, _url: str, _headers: Any) -> Listing:
        tool = {"name": "read", "description": self.text, "inputSchema": {"type": "object"}}
        return Listing("2026-07-28", (tool,), read_listing([tool], None), "1.0.0")


async def test_the_collector_needs_every_right(place: Place) -> None:
    doing = Collecting(place)
    parts = {
        "leads": doing.leads,
        "refreshes": doing.refreshes,
        "finds": doing.finds,
        "looks": doing.looks,
        "cleans": doing.cleans,
    }
    assert await unused(place, "toolvet-collector", parts, lambda _: True, SECRETS) == []
    role = place.bed.api("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/toolvet-collector-secrets")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": [right.verb for right in SECRETS]}
    ]

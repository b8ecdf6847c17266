"""No right too many: each one of the two processes is taken away, and something must fail.

The functions under test run here, in the name of accounts that lack one right each.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chart.rights import (
    LIVE,
    NAMESPACE,
    OURS,
    Outcome,
    Place,
    Recording,
    Right,
    to_watch,
    unused,
    workload_of,
)
from controller.objects import deployment, policy
from controlplane.certificates import CertificateAuthority
from toolvet.controller.authority import LEAF_LIFE
from toolvet.controller.history import MAX_REVISIONS, record
from toolvet.controller.observed import stored
from toolvet.controller.ownership import ensure_owned
from toolvet.controller.reading import Reader
from toolvet.controller.reconcile import Reconciler
from toolvet.controller.routing import POLICY_KEY, WATCHED, Key, Kind, Routing
from toolvet.controller.serving import ServingSettings, ensure_serving
from toolvet.kube.client import ApiError
from toolvet.kube.kinds import KINDS, SCALE
from toolvet.kube.lease import Elector, LeaseLostError
from toolvet.kube.names import Resource
from toolvet.kube.queue import KeyedQueue
from toolvet.kube.resources import catalog_from_inventory
from toolvet.kube.review import AdmissionRequest, GroupResource, decide_request
from toolvet.webhook.self_test import SelfTest

CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/toolvet"
USER = {"username": "developer", "groups": ["system:authenticated"]}


def now() -> datetime:
    return datetime.now(UTC)


async def attempt(step: Awaitable[Any]) -> Any:
    """What a step returns, or the status it failed with."""
    try:
        return await step
    except ApiError as error:
        return error.status
    except LeaseLostError:
        return "lost"


@asynccontextmanager
async def served(authority: CertificateAuthority, folder: Path) -> AsyncIterator[int]:
    """A TLS server where a gate would be."""
    pair = authority.issue("gate", dns=[f"toolvet-webhook.{NAMESPACE}.svc"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = folder / "tls.crt", folder / "tls.key"
    for file, data in zip(files, (pair.certificate, pair.key), strict=True):
        file.write_bytes(data)
    context.load_cert_chain(*files)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def trust(place: Place, bundle: bytes | None) -> None:
    """Write caBundle as admin, and take all owners away."""
    found = place.bed.api("GET", CONFIGURATION)
    found["metadata"].pop("ownerReferences", None)
    for hook in found["webhooks"]:
        hook["clientConfig"].pop("caBundle", None)
        if bundle is not None:
            hook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    place.bed.api("PUT", CONFIGURATION, found)


def _request(kind: Resource, place: Place, operation: str, **members: Any) -> AdmissionRequest:
    resource = GroupResource(group=kind.group, resource=kind.plural)
    return AdmissionRequest(
        uid="1", resource=resource, operation=operation, namespace=place.team, userInfo=USER, **members
    )


def changes(place: Place, agent: str) -> dict[str, AdmissionRequest]:
    """One change of every sort that costs reads of its own."""
    workload = deployment(account=agent)
    workload["spec"]["replicas"] = 1
    moved = deployment(account="another")
    moved["spec"]["replicas"] = 1
    first = KINDS[0].resource
    found = {
        "create": _request(first, place, "CREATE", object=workload),
        "leave": _request(first, place, "UPDATE", object=moved, oldObject=workload),
    }
    scale = {"old_object": {"spec": {"replicas": 0}}, "object": {"spec": {"replicas": 1}}}
    for kind in KINDS:
        if SCALE in kind.subresources:
            found[f"scale {kind.resource.plural}"] = _request(
                kind.resource,
                place,
                "UPDATE",
                name=agent,
                subResource=SCALE,
                oldObject=scale["old_object"],
                object=scale["object"],
            )
    return found


async def test_the_gate_needs_every_right(place: Place, tmp_path: Path) -> None:
    agent = "gated"
    place.approve(agent)
    for kind in KINDS:
        if SCALE in kind.subresources:
            place.create(workload_of(kind, agent), kind.resource.path(place.team))
    authority = CertificateAuthority("gate", now())
    trust(place, authority.certificate)

    async def decisions(api: Recording, _: str) -> Outcome:
        found = {}
        for name, request in changes(place, agent).items():
            decision, _reads = await decide_request(api, request, now())
            found[name] = (decision.verdict, decision.reason)
        return found

    async with served(authority, tmp_path) as port:

        async def readiness(api: Recording, _: str) -> Outcome:
            test = SelfTest(api, NAMESPACE, "toolvet", "127.0.0.1", port)
            return {"trusted": await test.is_trusted(), "guarded": await test.refuses_forgery()}

        parts = {"decisions": decisions, "readiness": readiness}
        assert await unused(place, "toolvet-webhook", parts, lambda _: True) == []
        superfluous = Right("ClusterRole", "", "pods", None, "get")
        found = await unused(
            place, "toolvet-webhook", parts, lambda right: right is superfluous, [superfluous]
        )
        assert found == ["ClusterRole: get pods"]


class Controlling:
    """What a controller does, a part at a time; admin sets the scene and looks at the result."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._agents = 0
        place.create(policy(1), f"{OURS}/catalogpolicies")

    async def leads(self, api: Recording, identity: str) -> Outcome:
        self._place.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/toolvet-controller")
        elector = Elector(api, NAMESPACE, "toolvet-controller", identity, monotonic=time.monotonic, now=now)
        return {"takes": await attempt(elector._try()), "renews": await attempt(elector._renew())}

    async def certifies(self, api: Recording, _: str) -> Outcome:
        names = ("toolvet-ca", "toolvet-tls")
        for name in names:
            self._place.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
        trust(self._place, None)
        settings = ServingSettings(NAMESPACE, *names, "toolvet-webhook", "toolvet")
        return {
            "owner": await attempt(ensure_owned(api, NAMESPACE, "toolvet")),
            "makes": await attempt(ensure_serving(api, settings, now())),
            "renews": await attempt(ensure_serving(api, settings, now() + LEAF_LIFE - timedelta(days=1))),
        }

    async def lists(self, api: Recording, _: str) -> Outcome:
        return {item.plural: type(await attempt(api.list(item, limit=1))) for item in WATCHED}

    async def reconciles(self, api: Recording, _: str) -> Outcome:
        place = self._place
        self._agents += 1
        agent = f"agent-{self._agents}"
        place.approve(agent)
        # It pins a snapshot of another inventory, which takes a read of its own.
        place.create(
            deployment(agent, account=agent, snapshot=f"other-{'0' * 16}"),
            f"/apis/apps/v1/namespaces/{place.team}/deployments",
        )
        place.bed.api("PATCH", f"{OURS}/catalogpolicies/default/status", {"status": None})
        reader, queue, routing = Reader(api, ()), KeyedQueue[Key](), Routing()
        reconciler = Reconciler(api, reader, queue, routing, now, "test")
        found: Outcome = {
            "inventory": await attempt(reconciler.step(Key(Kind.INVENTORY, place.team, agent))),
            "policy": await attempt(reconciler.step(POLICY_KEY)),
            "history": await attempt(self._drops_history(api, agent)),
            "events": len(self._events(agent)),
        }
        for plural in ("toolinventories", "runtoolcatalogsnapshots", "catalogapprovals"):
            items = place.bed.api("GET", place.ours(plural))["items"]
            mine = [
                item for item in items if item["spec"].get("inventoryName", item["metadata"]["name"]) == agent
            ]
            found[plural] = ["conditions" in item.get("status", {}) for item in mine]
        return found

    async def _drops_history(self, api: Recording, agent: str) -> None:
        obj = self._place.bed.api("GET", self._place.ours("toolinventories", agent))
        old = [
            {"metadata": {"name": f"old-{number}"}, "revision": -number} for number in range(MAX_REVISIONS)
        ]
        await record(api, stored(obj, catalog_from_inventory), LIVE, old)

    def _events(self, agent: str) -> list[dict[str, Any]]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self._place.team}/events"
        items = self._place.bed.api("GET", path)["items"]
        return [item for item in items if item["regarding"]["name"] == agent]


async def test_the_controller_needs_every_right_but_those_to_watch(place: Place) -> None:
    doing = Controlling(place)
    parts = {
        "leads": doing.leads,
        "certifies": doing.certifies,
        "lists": doing.lists,
        "reconciles": doing.reconciles,
    }
    assert await unused(place, "toolvet-controller", parts, lambda right: not to_watch(right)) == []

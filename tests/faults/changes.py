"""Governed changes for every read of a decision: one that it allows, and one that only it refuses.

Where the read fails nothing may be admitted: neither, although one would be allowed if all were known. The
refused one is what a gate would admit that took "could not be read" for "is not there": no inventory, no
policy of your own, no revocation, no guard.
"""

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from controller.objects import approval, binding, catalog, deployment, inventory, snapshot
from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until
from toolvet.core.binding import Catalog
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import (
    ADMISSION_POLICY_BINDINGS,
    APPROVAL_GUARD,
    APPROVALS,
    INVENTORIES,
    POLICIES,
    SNAPSHOTS,
    Resource,
)

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
GATE = 'admission webhook "enforce.toolvet.dev" denied the request: '
IN_FORCE_SECONDS = 10.0
_MERGE = "application/merge-patch+json"
_MODE = {"toolvet.dev/mode": "enforce"}


Change = Callable[[], Awaitable[str | None]]
"""Makes one change; returns the gate's refusal, or None where it was admitted."""


@dataclass(frozen=True)
class Outcome:
    """What came of one change: the gate's refusal, None if admitted, and how long that took, in seconds."""

    refusal: str | None
    seconds: float


@dataclass(frozen=True)
class Read:
    """One of the reads of a decision, and two changes that need it."""

    name: str
    asks: str
    """Found in METHOD and path of its request, and in those of this read's changes only, if ``shared`` is
    false: each agent is named like the read."""
    shared: bool
    allowed: Change
    refused: Change

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.asks)


@dataclass
class Scene:
    """Agents whose catalogs are approved, or not, in two enforced namespaces.

    ``admin`` may everything; ``developer`` may change workloads in ``namespace`` and is not exempt.
    """

    bed: ControlPlane
    namespace: str
    strict: str
    """Here two approvals are required."""
    admin: ApiClient
    developer: ApiClient
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def reads(self) -> list[Read]:
        def create(agent: str, namespace: str = "") -> Change:
            return lambda: self.create(agent, namespace or self.namespace)

        def scale(agent: str) -> Change:
            return lambda: self._dry_run(self.admin, f"{agent}/scale", {"spec": {"replicas": 1}})

        def unbind(user: ApiClient) -> Change:
            template = {"spec": {"serviceAccountName": "default"}}
            return lambda: self._dry_run(user, "review", {"spec": {"template": template}})

        return [
            Read(
                "inventory", "toolinventories/inventory", False, create("inventory"), create("inventory-no")
            ),
            Read("policy", "catalogpolicies/", True, create("policy"), create("policy-no", self.strict)),
            Read(
                "snapshot", "toolcatalogsnapshots/snapshot", False, create("snapshot"), create("snapshot-no")
            ),
            Read(
                "approvals",
                r"catalogapprovals\?.*approvals-",
                False,
                create("approvals"),
                create("approvals-no"),
            ),
            Read("guard policy", "admissionpolicies/", True, create("guard"), create("guard-no")),
            Read("guard binding", "admissionpolicybindings/", True, create("guard"), create("guard-no")),
            Read("scale parent", "GET .*/deployments/parent", False, scale("parent"), scale("parent-no")),
            Read(
                "access review",
                "POST .*/subjectaccessreviews",
                True,
                unbind(self.admin),
                unbind(self.developer),
            ),
        ]

    async def create(self, agent: str, namespace: str) -> str | None:
        """Create a Deployment of an agent."""
        return await create(self.admin, namespace, agent, next(self.numbers))

    def _dry_run(self, user: ApiClient, name: str, patch: dict[str, Any]) -> Awaitable[str | None]:
        # `scale` is a subresource, hence the path by hand.
        path = f"{DEPLOYMENTS.path(self.namespace)}/{name}"
        return refusal_of(user._call("PATCH", path, {"dryRun": "All"}, patch, _MERGE))


async def create(user: ApiClient, namespace: str, agent: str, number: int) -> str | None:
    """Create a Deployment of an agent; nothing is made of it, so that many cost the cluster little."""
    obj = deployment(f"{agent}-{number}", agent)
    obj["spec"]["paused"] = True
    return await refusal_of(user.apply(DEPLOYMENTS, namespace, obj, manager="tests"))


async def refusal_of(change: Awaitable[object]) -> str | None:
    """Return the gate's refusal, or None. Errors: ApiError where it was not the gate that answered."""
    try:
        await change
    except ApiError as error:
        if GATE not in error.message:
            raise
        return error.message.partition(GATE)[2]
    return None


async def measured(change: Change) -> Outcome:
    started = time.monotonic()
    refusal = await change()
    return Outcome(refusal, time.monotonic() - started)


async def set_scene(scene: Scene) -> None:
    """Make the agents, in namespaces that are not governed yet, and then govern them."""
    namespace, admin = scene.namespace, scene.admin
    overrides = [{"namespaces": [scene.strict], "requiredApprovals": 2}]
    policy = {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": "default"},
        "spec": {"overrides": overrides},
    }
    await admin.apply(POLICIES, None, policy, manager="tests")
    # Approved before the guard was there: whoever wrote that may have been anybody.
    await approve(admin, namespace, "guard-no")
    await _renew_guard(scene)
    for agent in ("inventory", "policy", "snapshot", "approvals", "guard", "parent", "review"):
        await approve(admin, namespace, agent)
    await approve(admin, scene.strict, "policy-no")
    await approve(admin, namespace, "approvals-no")
    revoked = {"spec": {"revoked": True}}
    await admin.merge(APPROVALS, namespace, "approvals-no", revoked)
    for agent in ("inventory-no", "snapshot-no", "parent-no"):
        await admin.apply(INVENTORIES, namespace, inventory(tools(agent), agent), manager="tests")
    for agent in ("parent", "parent-no", "review"):
        await admin.apply(DEPLOYMENTS, namespace, deployment(agent, agent), manager="tests")
    for name in (namespace, scene.strict):
        govern(scene.bed, name)
    await _in_force(scene)


def govern(bed: ControlPlane, namespace: str) -> None:
    """Put a namespace into enforce mode; the API server's informers follow in a moment."""
    bed.api("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": _MODE}})


@asynccontextmanager
async def governed(bed: ControlPlane) -> AsyncIterator[tuple[str, ApiClient]]:
    """An enforced namespace with two agents, one approved (``yes``) and one not (``no``), and its admin."""
    credentials = load(bed.kubeconfig(), None).credentials
    async with connect(credentials, user_agent="faults", connections=200) as admin:
        with bed.namespace("governed-") as namespace:
            await approve(admin, namespace, "yes")
            await admin.apply(INVENTORIES, namespace, inventory(tools("no"), "no"), manager="tests")
            govern(bed, namespace)
            deadline = time.monotonic() + IN_FORCE_SECONDS
            for number in itertools.count():
                if await create(admin, namespace, "no", number) is not None:
                    break
                assert time.monotonic() < deadline, "the namespace is not governed"
            assert await create(admin, namespace, "yes", 0) is None
            yield namespace, admin


def tools(agent: str) -> Catalog:
    return catalog(binding("read"), binding(agent))


async def approve(admin: ApiClient, namespace: str, agent: str) -> None:
    """Publish a catalog and approve it."""
    live = tools(agent)
    await admin.apply(INVENTORIES, namespace, inventory(live, agent), manager="tests")
    taken = await admin.apply(SNAPSHOTS, namespace, snapshot(live, agent), manager="tests")
    await admin.apply(APPROVALS, namespace, approval(taken, name=agent), manager="tests")


async def _renew_guard(scene: Scene) -> None:
    """Take the guard's binding away and put it back, in a later second than any approval."""
    guard = await scene.admin.get(ADMISSION_POLICY_BINDINGS, None, APPROVAL_GUARD)
    assert guard is not None
    metadata = {key: guard["metadata"][key] for key in ("name", "labels", "annotations")}
    await asyncio.to_thread(next_second, scene.bed)
    await scene.admin.delete(ADMISSION_POLICY_BINDINGS, None, APPROVAL_GUARD)
    fresh = {**guard, "metadata": metadata}
    await scene.admin.create(ADMISSION_POLICY_BINDINGS, None, fresh)
    await asyncio.to_thread(next_second, scene.bed)


def next_second(bed: ControlPlane) -> None:
    """Wait until the API server stamps what is made with another second than now."""

    def stamp() -> str:
        path = "/api/v1/namespaces/default/configmaps?dryRun=All"
        made = bed.api("POST", path, {"metadata": {"generateName": "stamp-"}})
        return str(made["metadata"]["creationTimestamp"])

    now = stamp()
    wait_until(lambda: stamp() != now, 5, "the API server's clock stands still")


async def _in_force(scene: Scene) -> None:
    """Wait until every change has the verdict it must have: the API server's informers need a moment."""
    deadline = time.monotonic() + IN_FORCE_SECONDS
    for read in scene.reads():
        while True:
            allowed, refused = await asyncio.gather(read.allowed(), read.refused())
            if allowed is None and refused is not None:
                break
            assert time.monotonic() < deadline, f"{read.name}: {allowed!r}, {refused!r}"

"""A scripted API server that counts what a judgement asks of it."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.build import NOW, binding, catalog, workload
from toolvet.core.approval import snapshot_name
from toolvet.core.decision import Decision
from toolvet.core.policy import ReviewOn
from toolvet.core.workload import Workload
from toolvet.kube.names import APPROVAL_GUARD, INVENTORIES, POLICIES, SNAPSHOTS, Resource
from toolvet.kube.reads import Plan, judge
from toolvet.kube.resources import manifest, snapshot_from_object, tools_to_spec

NAMESPACE = "team-a"
LIVE, EARLIER = catalog(binding("search")), catalog(binding("search", schema="earlier"))
WANTED, BEFORE = snapshot_name("assistant", LIVE.digest), snapshot_name("assistant", EARLIER.digest)
CALLER = {"username": "jane", "groups": ["devs"], "uid": "1", "extra": {"scopes": ["x"]}}

POLICY, GUARD, GUARD_BINDING = (
    "catalogpolicies",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)
INVENTORY, SNAPSHOT, APPROVALS_LIST = "toolinventories", "runtoolcatalogsnapshots", "catalogapprovals"
ACCESS = "subjectaccessreviews"


def stored(resource: Resource, name: str, spec: dict[str, Any], **members: Any) -> dict[str, Any]:
    obj = manifest(resource, name, NAMESPACE, spec) | members
    obj["metadata"] |= {"uid": "0" * 32, "creationTimestamp": "2029-06-01T00:00:00Z"}
    return obj


def inventory(name: str = "assistant", last_approved: object = None, of=LIVE) -> dict[str, Any]:
    status = {} if last_approved is None else {"lastApproved": {"snapshotName": last_approved}}
    return stored(INVENTORIES, name, {"tools": tools_to_spec(of)}, status=status)


MATERIAL = stored(POLICIES, "default", {"reviewOn": str(ReviewOn.MATERIAL_CHANGE)})
"""The policy that lets minor changes pass."""


def minor_change_of(*listed, last_approved: object = None, of=LIVE) -> dict[str, Any]:
    """Build an inventory that calls its catalog a minor change of others."""
    obj = inventory(last_approved=last_approved, of=of)
    obj["spec"]["minorChangeOf"] = [item.digest for item in listed]
    return obj


def snapshot(of=LIVE, name: str = "assistant") -> dict[str, Any]:
    spec = {"inventoryName": name, "catalogDigest": of.digest, "bindings": tools_to_spec(of)}
    return stored(SNAPSHOTS, snapshot_name(name, of.digest), spec)


def approval(of: dict[str, Any], by: str = "alice") -> dict[str, Any]:
    held = snapshot_from_object(of)
    spec = {
        "inventoryName": held.inventory_name,
        "snapshotName": held.name,
        "snapshotDigest": held.evidence.digest,
        "catalogDigest": held.catalog.digest,
        "approvedBy": by,
    }
    return {"metadata": {"name": by, "creationTimestamp": "2029-12-01T00:00:00Z"}, "spec": spec}


OLD_GUARD = {"metadata": {"creationTimestamp": "2029-01-01T00:00:00Z"}}


@dataclass
class Scripted:
    """An API server that answers from a table, and remembers what was asked, and what at once."""

    objects: dict[tuple[str, str], Any] = field(default_factory=dict)
    approvals: Any = None
    may_exempt: Any = False
    asked: Counter[str] = field(default_factory=Counter)
    names: list[tuple[str, str | None, str]] = field(default_factory=list)
    lists: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    """How many calls each burst had: calls that were under way at once."""
    _under_way: int = 0

    async def _answer(self, resource: Resource, answer: Any) -> Any:
        if self._under_way == 0:
            self.rounds.append(0)
        self.asked[resource.plural] += 1
        self.rounds[-1] += 1
        self._under_way += 1
        for _ in range(5):  # every other call of this round starts before the first one ends
            await asyncio.sleep(0)
        self._under_way -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> dict[str, Any] | None:
        assert metadata_only is (name == APPROVAL_GUARD)
        self.names.append((resource.plural, namespace, name))
        return await self._answer(resource, self.objects.get((resource.plural, name)))

    async def list(
        self, resource: Resource, namespace: str | None = None, **parameters: Any
    ) -> dict[str, Any]:
        assert namespace == NAMESPACE
        self.lists.append(parameters)
        answer = self.approvals
        if isinstance(answer, Mapping) and answer and "items" not in answer:  # by snapshot
            name = parameters["fieldSelector"].removeprefix("spec.snapshotName=")
            answer = answer.get(name, {"items": []})
        return await self._answer(resource, answer)

    async def create(
        self, resource: Resource, namespace: str | None, obj: Any, *, dry_run: bool = False
    ) -> Any:
        assert (namespace, dry_run) == (None, False)
        self.reviews.append(obj)
        answer = self.may_exempt
        return await self._answer(
            resource, answer if isinstance(answer, BaseException | dict) else {"status": {"allowed": answer}}
        )


def server(*, last_approved: object = None, **changed: Any) -> Scripted:
    """Hold an inventory, its approved snapshot, the one before, and the guard of approvals."""
    held = snapshot()
    objects = {
        (INVENTORY, "assistant"): inventory(last_approved=last_approved),
        (SNAPSHOT, WANTED): held,
        (SNAPSHOT, BEFORE): snapshot(EARLIER),
        (GUARD, APPROVAL_GUARD): OLD_GUARD,
        (GUARD_BINDING, APPROVAL_GUARD): OLD_GUARD,
        **changed.pop("objects", {}),
    }
    return Scripted(objects, changed.pop("approvals", {"items": [approval(held)]}), **changed)


async def judged(api: Scripted, new: Workload, old: Workload | None = None) -> Decision:
    plan = Plan(api, NAMESPACE)
    decision = await judge(plan, NAMESPACE, old, new, CALLER, NOW)
    assert plan.reads == api.asked.total()
    return decision


PINNED = workload(snapshot=WANTED)
ANNOTATED = workload("web", inventory="assistant")
FREE = workload("web", template="another")

"""One table, two languages: the API server's CEL and our Python call the same changes governed.

The webhook's own rules and match condition stand in a ValidatingAdmissionPolicy that only warns: one server
dry run gives both the API server's verdict and the object it would have sent to the gate.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from controlplane.bed import ControlPlane
from core.build import seeded
from kube.objects import changed, governed, random_base
from toolvet.core.workload import is_governed_change
from toolvet.kube.client import ApiClient
from toolvet.kube.kinds import (
    EPHEMERAL_CONTAINERS,
    KINDS,
    SCALE,
    GovernedKind,
    governed_change_cel,
    match_conditions,
    webhook_rules,
    workload,
)
from toolvet.kube.names import Resource
from toolvet.kube.review import _scaled

BASES, UPDATES = 12, 20
POLICY = "toolvet-test-governed-change"
LABEL = {"toolvet-test": "governed-change"}
MESSAGE = "toolvet-test: governed"
VALIDATION = "admissionregistration.k8s.io"
POLICIES = Resource(VALIDATION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False)
BINDINGS = Resource(
    VALIDATION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", False
)

BY_KIND = {kind.resource.kind: kind for kind in KINDS}
SCALED = [kind for kind in KINDS if SCALE in kind.subresources]


@dataclass
class Asked:
    """The API server, and whether it called the last change governed."""

    api: ApiClient
    namespace: str
    warnings: list[str] = field(default_factory=list)

    async def update(
        self, kind: GovernedKind, obj: dict[str, Any], subresource: str | None = None
    ) -> tuple[dict[str, Any], bool]:
        path = kind.resource.path(self.namespace, obj["metadata"]["name"], subresource)
        return await self._write("PUT", path, obj)

    async def create(self, kind: GovernedKind, obj: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        return await self._write("POST", kind.resource.path(self.namespace), obj)

    async def status(
        self, kind: GovernedKind, name: str, status: dict[str, Any]
    ) -> tuple[dict[str, Any], bool]:
        path = kind.resource.path(self.namespace, name, "status")
        return await self._write("PATCH", path, {"status": status}, "application/merge-patch+json")

    async def _write(
        self, method: str, path: str, obj: dict[str, Any], content_type: str = "application/json"
    ) -> tuple[dict[str, Any], bool]:
        self.warnings.clear()
        written = await self.api._call(method, path, {"dryRun": "All"}, obj, content_type)
        return written, any(MESSAGE in text for text in self.warnings)


@pytest.fixture(scope="module")
def governed_bed(controlplane: ControlPlane) -> Iterator[ControlPlane]:
    """The product's rules and predicate, in force for namespaces with a label of ours."""
    (condition,) = [item for item in match_conditions() if item["name"] == "governed-change"]
    assert condition["expression"] == governed_change_cel()
    policy = {
        "matchConstraints": {"resourceRules": webhook_rules()},
        "matchConditions": [condition],
        "validations": [{"expression": "false", "message": MESSAGE}],
    }
    binding = {
        "policyName": POLICY,
        "validationActions": ["Warn"],
        "matchResources": {"namespaceSelector": {"matchLabels": LABEL}},
    }
    written = [(POLICIES, policy), (BINDINGS, binding)]
    for resource, spec in written:
        named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": POLICY}}
        controlplane.api("POST", resource.path(), named | {"spec": spec})
    yield controlplane
    for resource, _ in reversed(written):
        controlplane.api("DELETE", resource.path(None, POLICY))


@pytest.fixture
async def asked(api: ApiClient, governed_bed: ControlPlane) -> AsyncIterator[Asked]:
    with governed_bed.namespace(labels=LABEL) as namespace:
        warned = Asked(api, namespace)
        api.on_warning = warned.warnings.append
        kind = BY_KIND["Deployment"]
        async with asyncio.timeout(20):
            # Admission learns of a policy a moment after it is stored, and tells nobody.
            while not (await warned.create(kind, governed(kind, "probe")))[1]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield warned


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource.kind)
async def test_updates(asked: Asked, kind: GovernedKind) -> None:
    random = seeded(11)
    seen: Counter[bool] = Counter()
    for number in range(BASES):
        base = random_base(kind, random, f"web-{number}")
        stored = await asked.api.create(kind.resource, asked.namespace, base)
        for _ in range(UPDATES):
            written, warned = await asked.update(kind, changed(kind, random, stored))
            ours = is_governed_change(workload(kind, stored), workload(kind, written))
            assert ours is warned, (stored["spec"], written["spec"], written["metadata"])
            seen[ours] += 1
    assert seen.total() >= 200
    assert min(seen[True], seen[False]) >= seen.total() // 8, seen


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource.kind)
async def test_creations(asked: Asked, kind: GovernedKind) -> None:
    random = seeded(12)
    for number in range(5):
        written, warned = await asked.create(kind, random_base(kind, random, f"new-{number}"))
        assert warned
        assert is_governed_change(None, workload(kind, written))


@pytest.mark.parametrize("kind", SCALED, ids=lambda kind: kind.resource.kind)
async def test_scales(asked: Asked, kind: GovernedKind) -> None:
    random = seeded(13)
    seen: Counter[bool] = Counter()
    for before in range(3):
        base = governed(kind, f"web-{before}")
        base["spec"]["replicas"] = before
        await asked.api.create(kind.resource, asked.namespace, base)
        path = kind.resource.path(asked.namespace, base["metadata"]["name"], SCALE)
        scale = await asked.api._call("GET", path)
        for _ in range(70):
            new = {**scale, "metadata": {"name": base["metadata"]["name"], "namespace": asked.namespace}}
            new["spec"] = random.choice([{}, {"replicas": 0}, {"replicas": 1}, {"replicas": 2}])
            written, warned = await asked.update(kind, new, SCALE)
            ours = is_governed_change(*await _scaled(asked.api, kind, _request(asked, scale, written)))
            assert ours is warned, (scale, written)
            seen[ours] += 1
    assert seen.total() >= 200
    assert seen[True] >= 20


def _request(asked: Asked, old: dict[str, Any], new: dict[str, Any]) -> Any:
    """Hold what ``_scaled`` reads of an AdmissionRequest."""
    return type(
        "Request",
        (),
        {
            "name": new["metadata"]["name"],
            "namespace": asked.namespace,
            "object": new,
            "old_object": old,
        },
    )


async def test_ephemeral_containers(asked: Asked) -> None:
    kind = BY_KIND["Pod"]
    random = seeded(14)
    seen: Counter[bool] = Counter()
    for number in range(4):
        stored = await asked.api.create(
            kind.resource, asked.namespace, random_base(kind, random, f"web-{number}")
        )
        for _ in range(50):
            path = kind.resource.path(asked.namespace, stored["metadata"]["name"], EPHEMERAL_CONTAINERS)
            new = await asked.api._call("GET", path)
            held = list(new["spec"].get("ephemeralContainers", []))
            for index in range(random.choice([0, 0, 1, 2])):
                held.append({"name": f"debug-{len(held)}-{index}", "image": "registry.test/debug:1"})
            new["spec"]["ephemeralContainers"] = held
            written, warned = await asked.update(kind, new, EPHEMERAL_CONTAINERS)
            ours = is_governed_change(workload(kind, stored), workload(kind, written))
            assert ours is warned
            seen[ours] += 1
            if ours and random.random() < 0.1:
                stored = await asked.api._call("PUT", path, None, new)
    assert seen.total() == 200
    assert min(seen[True], seen[False]) >= 50, seen


SEEN = {"conditions": [{"type": "Seen", "status": "True"}]}
STATUSES = {"CronJob": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    # A PodTemplate has no status.
    "kind",
    [kind for kind in KINDS if kind.resource.kind != "PodTemplate"],
    ids=lambda kind: kind.resource.kind,
)
async def test_status_never_asks(asked: Asked, kind: GovernedKind) -> None:
    before = await asked.api.create(kind.resource, asked.namespace, governed(kind, "web"))
    written, warned = await asked.status(kind, "web", STATUSES.get(kind.resource.kind, SEEN))
    assert written["status"] != before.get("status")
    assert not warned

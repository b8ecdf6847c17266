"""``check`` and the gate on the real API server say the same of random situations: 500 in full, 150 in CI."""

import asyncio
import json
import os
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.cli.situations import APPROVERS, RULES, Situation, policy, situations

from controlplane.collector import collector
from controlplane.installation import Installation
from controlplane.waiting import wait_until
from story.team import DENIED
from toolvet.cli.check import Finding, judged
from toolvet.kube.certainty import Certainty
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.declared import declare
from toolvet.kube.kinds import KINDS
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import APPROVALS, INVENTORIES, POLICIES, SNAPSHOTS
from toolvet.kube.stored import Nowhere, Stored

COUNT = 500 if os.environ.get("TOOLVET_FULL") == "1" else 150
SEED = 20_250_611
_AT_ONCE = 8
_BY_KIND = {item.kind: item for item in (INVENTORIES, SNAPSHOTS, APPROVALS, POLICIES)} | {
    kind.resource.kind: kind.resource for kind in KINDS
}
_CODE = re.compile(re.escape(DENIED) + "([a-z_]+): ")


@pytest.fixture
def namespaces(product: Installation) -> Iterator[list[str]]:
    """Enforced namespaces, one for each set of rules, in which every approver may approve."""
    bed = product.bed
    with ExitStack() as stack:
        labels = {"toolvet.dev/mode": "enforce"}
        names = [stack.enter_context(bed.namespace("check-", labels)) for _ in RULES]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
        role["name"] = f"{product.chart.fullname}-reviewer"
        subjects = [{"apiGroup": role["apiGroup"], "kind": "User", "name": user} for user in APPROVERS]
        for name in names:
            binding = {"metadata": {"name": "approvers"}, "roleRef": role, "subjects": subjects}
            path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}/rolebindings"
            bed.api("POST", path, binding)
            wait_until(lambda name=name: _in_force(product, name), 30, "the namespace is not enforced")
        yield names
        bed.kubectl("delete", "catalogpolicy", "default", "--ignore-not-found")


def _in_force(product: Installation, namespace: str) -> bool:
    missing = {"toolvet.dev/inventory": "missing"}
    spec = {"containers": [{"name": "probe", "image": "probe"}]}
    pod = {"metadata": {"name": "probe", "annotations": missing}, "spec": spec}
    done = product.bed.kubectl(
        "create", "-f", "-", "--dry-run=server", "--namespace", namespace, check=False,
        input=json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}),
    )  # fmt: skip
    return DENIED in done.stderr


class Cluster:
    """The API server as admin, as the collector and as each approver."""

    def __init__(self, admin: ApiClient, collector: ApiClient, approvers: dict[str, ApiClient]) -> None:
        self.admin = admin
        self._collector = collector
        self._approvers = approvers

    async def store(self, obj: dict[str, Any]) -> None:
        """Store an object as the person who may: an approval is made by its approver, then revoked."""
        resource, namespace = _BY_KIND[obj["kind"]], obj["metadata"].get("namespace")
        if obj["spec"].get("minorChangeOf"):
            await self._collector.apply(resource, namespace, obj, manager="collector")
            return
        if resource is not APPROVALS:
            await self.admin.apply(resource, namespace, obj, manager="tests")
            return
        approver = self._approvers[obj["spec"]["approvedBy"]]
        spec = {key: value for key, value in obj["spec"].items() if key != "revoked"}
        try:
            await approver.create(resource, namespace, {**obj, "spec": spec})
        except ApiError as error:
            if error.status != 409:
                raise
        if obj["spec"].get("revoked"):
            patch = {"spec": {"revoked": True}}
            await approver.merge(resource, namespace, obj["metadata"]["name"], patch)

    @staticmethod
    async def gate(admin: ApiClient, obj: dict[str, Any]) -> str:
        """Return what the gate says of the creation of a workload: allowed, pending, or a denial's code.

        Warnings are the client's, so that no two calls may share one at a time.
        """
        namespace = obj["metadata"]["namespace"]
        account = obj["spec"]["serviceAccountName"] if obj["kind"] == "Pod" else "default"
        if account != "default":
            path = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
            await admin.create(_ACCOUNTS, namespace, path)
        heard: list[str] = []
        admin.on_warning = heard.append
        try:
            await admin.create(_BY_KIND[obj["kind"]], namespace, obj, dry_run=True)
        except ApiError as error:
            found = _CODE.match(error.message)
            return found[1] if found else f"another refusal: {error.message}"
        return "pending" if any("pending_reference" in text for text in heard) else "allowed"


_ACCOUNTS = type(INVENTORIES)("", "v1", "serviceaccounts", "ServiceAccount")


class _Phases:
    """Wall seconds of each phase."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._taken: list[str] = []

    def done(self, name: str) -> None:
        now = time.monotonic()
        self._taken.append(f"{name} {now - self._since:.1f} s")
        self._since = now

    def __str__(self) -> str:
        return ", ".join(self._taken)


async def _each(items: list[Any], work: Callable[[Any], Awaitable[Any]]) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Any) -> None:
        async with gate:
            await work(item)

    await asyncio.gather(*(one(item) for item in items))


async def _check(cases: list[Situation], rules: list[Any], cluster: Cluster | None) -> list[Finding]:
    """Check every case's manifests in one run, as if they were one folder."""
    documents = [("case.yaml", index, obj) for index, case in enumerate(cases) for obj in case.manifests]
    documents += [("policy.yaml", index, obj) for index, obj in enumerate(rules)]
    stored = Nowhere() if cluster is None else Stored(cluster.admin)
    declared = declare(documents, "default")
    report = await judged(declared, stored, datetime.now(UTC), live=cluster is not None)
    assert len(report.findings) == len(cases)
    return list(report.findings)


def _agrees(finding: Finding, said: str) -> bool:
    """Tell whether a certain finding is what the gate says; a dry run warns of what is pending."""
    if finding.certainty is Certainty.ALLOWED:
        return said == "allowed"
    return said == finding.code or (said == "pending" and finding.judgement.decision.pending)


def _figures(name: str, findings: list[Finding]) -> None:
    found = Counter((str(item.certainty), item.code or "-") for item in findings)
    print(name, dict(sorted((f"{verdict} {code}", count) for (verdict, code), count in found.items())))


@pytest.mark.timeout(600)
async def test_check_and_gate_agree(product: Installation, namespaces: list[str]) -> None:
    cases = list(situations(SEED, COUNT, namespaces))
    rules = policy(namespaces)
    took = _Phases()
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(connect(load(path, None).credentials, user_agent="tests"))
            for path in (
                product.bed.kubeconfig(),
                collector(product.bed, product.namespace, product.chart.fullname),
                *map(product.bed.kubeconfig, APPROVERS),
            )
        ]
        cluster = Cluster(*clients[:2], dict(zip(APPROVERS, clients[2:], strict=True)))
        await cluster.store(rules)
        await _each([case.stored for case in cases], lambda objects: _in_order(cluster, objects))
        took.done("stored")
        before = await _check(cases, [], cluster)
        took.done("checked live")
        await _each([case.files for case in cases], lambda objects: _in_order(cluster, objects))
        took.done("applied")
        after = await _check(cases, [rules], cluster)
        took.done("checked live")
        offline = [*await _check(cases, [], None), *await _check(cases, [rules], None)]
        took.done("checked offline twice")
        said = await _asked(stack, product, cases)
        took.done("asked the gate")
    print(f"\n{COUNT} situations: {took}: {dict(Counter(said))}")
    assert any(item.code == "minor_change" for item in [*before, *after])
    for name, findings in (("before", before), ("after", after), ("offline", offline)):
        _figures(name, findings)
    for case, early, late, word in zip(cases, before, after, said, strict=True):
        story = json.dumps([case.workload, case.stored, case.files, word, early.to_dict(), late.to_dict()])
        assert _agrees(late, word), story
        # Approvals among the files are nobody's until they are applied, and may give the refusal its code.
        if not case.waits_for_approvers:
            assert _agrees(early, word), story
        assert early.certainty is not Certainty.ALLOWED or word == "allowed", story
        assert early.certainty is not Certainty.DENIED or word != "allowed", story
    for finding, word in zip(offline, said * 2, strict=True):
        if finding.certainty is Certainty.ALLOWED:
            assert word == "allowed", finding.to_dict()
        if finding.certainty is Certainty.DENIED:
            assert word != "allowed", finding.to_dict()


async def _asked(stack: AsyncExitStack, product: Installation, cases: list[Situation]) -> list[str]:
    said: dict[int, str] = {}
    credentials = load(product.bed.kubeconfig(), None).credentials

    async def some(first: int) -> None:
        client = await stack.enter_async_context(connect(credentials, user_agent="tests"))
        for index in range(first, len(cases), _AT_ONCE):
            said[index] = await Cluster.gate(client, cases[index].workload)

    await asyncio.gather(*(some(first) for first in range(_AT_ONCE)))
    return [said[index] for index in range(len(cases))]


async def _in_order(cluster: Cluster, objects: list[dict[str, Any]]) -> None:
    for obj in objects:
        await cluster.store(obj)

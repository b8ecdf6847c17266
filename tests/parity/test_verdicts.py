"""What the gate answers and logs and the controller writes repeats nothing of objects not understood."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.objects import AGENT, approval, binding, catalog, deployment, inventory, policy, snapshot
from parity.canaries import NUMBER, WORD, canaries, told
from parity.objects import KINDS, Object
from parity.verdicts import UNSTORED
from toolvet.controller.desired import desired, policy_status
from toolvet.controller.events import events
from toolvet.controller.observed import Observed, known, stored
from toolvet.core.reasons import Reason
from toolvet.kube.kinds import KINDS as GOVERNED
from toolvet.kube.kinds import workload
from toolvet.kube.names import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    APPROVALS,
    INVENTORIES,
    POLICIES,
    SNAPSHOTS,
    Mode,
    Resource,
)
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    policies_from_object,
    snapshot_from_object,
)
from toolvet.kube.review import decide_request, parse_request, respond

NOW = datetime(2031, 1, 1, tzinfo=UTC)
GUARDED_SINCE = datetime(2029, 1, 1, tzinfo=UTC)
LIVE = catalog(binding("read"), binding("search"))
TEXT = f"{WORD} {NUMBER} and more"


def put(obj: Object, **metadata: Any) -> Object:
    given = {"namespace": "team", "generation": 1, "resourceVersion": "1", **UNSTORED, **metadata}
    return {**obj, "metadata": {**obj["metadata"], **given}}


def healthy() -> dict[str, Object]:
    taken = put(snapshot(LIVE))
    return {
        "ToolInventory": put(inventory(LIVE)),
        "RunToolCatalogSnapshot": taken,
        "CatalogApproval": put(approval(taken)),
        "CatalogPolicy": put(policy(1)),
    }


def broken(kind: str) -> Iterator[dict[str, Object]]:
    """Yield what is stored when the object of a kind is a canary under the name that it is looked up by."""
    sound = healthy()
    for obj in canaries(kind):
        if WORD not in obj and WORD not in obj["metadata"]:
            yield sound | {kind: {**sound[kind], "spec": obj.get("spec")}}
    odd_status = {"lastApproved": {"snapshotName": TEXT}, "conditions": [TEXT], "observedGeneration": TEXT}
    for status in (TEXT, [TEXT], odd_status, {"lastApproved": TEXT, "conditions": {TEXT: TEXT}}):
        yield sound | {kind: {**sound[kind], "status": status}}


class Reader:
    """Answers with these objects; the CRDs would not let them be stored."""

    def __init__(self, objects: dict[str, Object]) -> None:
        self._objects = {
            INVENTORIES: objects["ToolInventory"],
            SNAPSHOTS: objects["RunToolCatalogSnapshot"],
            POLICIES: objects["CatalogPolicy"],
            ADMISSION_POLICIES: {"metadata": {"creationTimestamp": "2029-01-01T00:00:00Z"}},
            ADMISSION_POLICY_BINDINGS: {"metadata": {"creationTimestamp": "2029-01-01T00:00:00Z"}},
        }
        self._approval = objects["CatalogApproval"]

    async def get(self, resource: Resource, _namespace: str | None, name: str, **_: object) -> Object | None:
        found = self._objects[resource]
        return found if found["metadata"].get("name", name) == name else None

    async def list(self, resource: Resource, *_: object, **__: object) -> Object:
        assert resource == APPROVALS
        return {"items": [self._approval]}

    async def create(self, *_: object, **__: object) -> Object:
        return {"status": {"allowed": False, "reason": TEXT}}


def review(new: Object, old: Object | None = None) -> Object:
    request = {
        "uid": "7c6b1a52-0f2e-4d0f-9f36-0a3c1d2e4f50",
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "name": AGENT,
        "namespace": "team",
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "dev"},
        "object": new,
        "oldObject": old,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def answers(objects: dict[str, Object], new: Object, old: Object | None = None) -> tuple[Any, str]:
    """Return the gate's decision and all that it says, in every mode."""
    request = parse_request(review(new, old))
    decision, _ = await decide_request(Reader(objects), request, NOW)
    return decision, json.dumps([respond(request, decision, mode) for mode in Mode])


async def test_the_sound_objects_admit() -> None:
    decision, _ = await answers(healthy(), deployment())
    assert decision.allowed


@pytest.mark.parametrize("kind", KINDS)
async def test_the_gate(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refused = 0
    for objects in broken(kind):
        for annotations in ({}, {"snapshot": objects["RunToolCatalogSnapshot"]["metadata"]["name"]}):
            decision, text = await answers(objects, deployment(**annotations))
            assert not told(text), objects[kind]
            # Only a status may be strange, and it decides nothing.
            assert decision.allowed is (objects[kind]["spec"] == healthy()[kind]["spec"])
            # A snapshot may be sound in itself and yet another's.
            assert decision.reason in {None, Reason.STATE_INVALID, Reason.BINDING_MISMATCH}
            refused += not decision.allowed
    assert refused > 50
    assert not told(caplog.text + "".join(str(vars(item)) for item in caplog.records))


@pytest.mark.parametrize(
    "annotations",
    [{"inventory": TEXT}, {"snapshot": TEXT}, {"inventory": TEXT, "snapshot": TEXT}, {"other": TEXT}],
    ids=str,
)
@pytest.mark.parametrize("account", [AGENT, "somebody", TEXT])
async def test_the_gate_over_free_text_in_a_workload(account: str, annotations: dict[str, str]) -> None:
    new = deployment(account=account, **annotations)
    new["spec"]["template"]["metadata"]["labels"][TEXT] = TEXT
    new["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": TEXT, "value": TEXT}]
    misplaced = {**new, "metadata": {**new["metadata"], "annotations": {"toolvet.dev/inventory": TEXT}}}
    for change in ((new, None), (deployment(account=account), new), (new, deployment()), (misplaced, None)):
        _, text = await answers(healthy(), *change)
        assert not told(text)


def observed(objects: dict[str, Object]) -> tuple[Observed, Any]:
    policies = stored(objects["CatalogPolicy"], policies_from_object)
    rules = known(policies)
    assert rules is not None
    pinned = deployment("pinned", snapshot=TEXT, inventory=AGENT)
    state = Observed(
        namespace="team",
        name=AGENT,
        inventory=stored(objects["ToolInventory"], catalog_from_inventory),
        snapshots=[stored(objects["RunToolCatalogSnapshot"], snapshot_from_object)],
        approvals=[
            stored(objects["CatalogApproval"], lambda obj: approval_from_object(obj, GUARDED_SINCE)),
        ],
        policies=rules,
        workloads=[
            stored(put(item, name=item["metadata"]["name"]), lambda obj: workload(GOVERNED[0], obj))
            for item in (deployment(), pinned)
        ],
    )
    return state, policies


@pytest.mark.parametrize("kind", KINDS)
def test_the_controller(kind: str) -> None:
    stalled = 0
    for objects in broken(kind):
        if kind == "CatalogApproval" and not isinstance(objects[kind]["spec"], dict):
            continue  # it is found by a field of its spec
        state, policies = observed(objects)
        wanted = desired(state, NOW)
        written = [wanted.inventory, wanted.snapshots, wanted.approvals, policy_status(policies, NOW)]
        text = json.dumps([*written, events(state, wanted, NOW, "toolvet-controller-0")])
        assert not told(text), objects[kind]
        stalled += '"Stalled"' in text
    assert stalled > 50

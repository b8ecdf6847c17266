"""Admission reviews in, answers out (admission.k8s.io/v1): each mode, each reason, no text of an object."""

import json
from typing import Any

import orjson
import pytest

from core.build import NOW
from kube.objects import governed
from kube.scripted import (
    BEFORE,
    EARLIER,
    INVENTORY,
    MATERIAL,
    NAMESPACE,
    POLICY,
    WANTED,
    approval,
    minor_change_of,
    server,
    snapshot,
)
from toolvet.core.approval import Tally
from toolvet.core.decision import Decision, Verdict
from toolvet.core.denial import MAX_TEXT_BYTES, denial_text
from toolvet.core.differences import ToolDifference
from toolvet.core.reasons import Reason
from toolvet.kube.kinds import BY_RESOURCE, KINDS
from toolvet.kube.names import INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION, Mode
from toolvet.kube.review import NotUnderstoodError, decide_request, parse_request, refuse, respond

CANARY = "canary"
UID = "7c6b1a52-0f2e-4d0f-9f36-0a3c1d2e4f50"
DEPLOYMENTS = BY_RESOURCE["apps", "deployments"]


def review(kind=DEPLOYMENTS, annotations=None, **members: Any) -> dict[str, Any]:
    """A review as the API server writes it, members that we do not read included."""
    resource = kind.resource
    obj = governed(kind, "web", annotations, serviceAccountName="assistant")
    obj["metadata"] |= {"labels": {CANARY: CANARY}} if not kind.is_pod else {}
    named = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    served = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request = {
        "uid": UID,
        "kind": named,
        "resource": served,
        "requestKind": named,
        "requestResource": served,
        "name": "web",
        "namespace": NAMESPACE,
        "operation": "CREATE",
        "userInfo": {"username": f"{CANARY}-user", "groups": ["system:authenticated"]},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **members,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


async def answer(api, mode: Mode = Mode.ENFORCE, **members: Any) -> dict[str, Any]:
    request = parse_request(review(**members))
    decision, reads = await decide_request(api, request, NOW)
    assert reads == api.asked.total()
    written = orjson.loads(orjson.dumps(respond(request, decision, mode)))
    assert (written["apiVersion"], written["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert written["response"]["uid"] == UID
    assert CANARY not in json.dumps(written)
    return written["response"]


REFUSING = {"approvals": {"items": []}}


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource.kind)
async def test_what_is_approved_is_allowed_in_every_mode(kind, mode) -> None:
    response = await answer(server(), mode, kind=kind)
    assert response["allowed"] is True
    assert "status" not in response
    assert "warnings" not in response
    told = response["auditAnnotations"]
    assert (told["verdict"], told["inventory"], told["snapshot"]) == ("allowed", "assistant", WANTED)
    assert told["approvals"] == "alice"
    assert "reason" not in told


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_minor_change_is_allowed_and_told(mode) -> None:
    objects = {(INVENTORY, "assistant"): minor_change_of(EARLIER), (POLICY, "default"): MATERIAL}
    lists = {BEFORE: {"items": [approval(snapshot(EARLIER), "alice")]}}
    response = await answer(server(objects=objects, approvals=lists), mode)
    assert response["allowed"] is True
    told = response["auditAnnotations"]
    assert (told["verdict"], told["reason"]) == ("allowed", "minor_change")
    assert (told["snapshot"], told["approvals"]) == (BEFORE, "alice")
    warnings = response.get("warnings", [])
    assert bool(warnings) is (mode is not Mode.AUDIT)
    if warnings:
        assert warnings[0].startswith("toolvet: minor_change: inventory assistant, live catalog ")
        assert "toolvet: tool:org.example/search 1.0.0: schema_changed" in warnings
        assert warnings[-1] == f"toolvet: review: kubectl toolvet capture assistant -n {NAMESPACE}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource.kind)
async def test_a_denial_in_each_mode(kind) -> None:
    enforced = await answer(server(**REFUSING), Mode.ENFORCE, kind=kind)
    assert enforced["allowed"] is False
    status = enforced["status"]
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"].startswith("not_approved: inventory assistant")
    assert "warnings" not in enforced

    warned = await answer(server(**REFUSING), Mode.WARN, kind=kind)
    assert warned["allowed"] is True
    assert [line.removeprefix("toolvet: ") for line in warned["warnings"]] == [
        line.strip() for line in status["message"].splitlines()
    ]
    assert all(len(line) <= 256 for line in warned["warnings"])

    audited = await answer(server(**REFUSING), Mode.AUDIT, kind=kind)
    assert audited["allowed"] is True
    assert "warnings" not in audited

    for response in (enforced, warned, audited):
        told = response["auditAnnotations"]
        assert (told["verdict"], told["reason"]) == ("denied", "not_approved")


PENDING = [
    ("absent", {"objects": {("runtoolcatalogsnapshots", WANTED): None}}, WANTED),
    ("not live", {}, BEFORE),
    ("not approved", REFUSING, WANTED),
]


@pytest.mark.parametrize(("given", "pin"), [row[1:] for row in PENDING], ids=[row[0] for row in PENDING])
async def test_a_dry_run_of_a_pin_that_may_still_arrive_warns(given, pin) -> None:
    annotations = {SNAPSHOT_ANNOTATION: pin}
    applied = await answer(server(**given), annotations=annotations)
    assert applied["allowed"] is False
    tried = await answer(server(**given), annotations=annotations, dryRun=True)
    assert tried["allowed"] is True
    assert tried["warnings"][0].startswith("toolvet: pending_reference: ")
    assert tried["auditAnnotations"]["reason"] == "pending_reference"


async def test_any_other_dry_run_has_the_verdict_of_the_real_one() -> None:
    for given in ({}, REFUSING, {"objects": {("toolinventories", "assistant"): {}}}):
        applied, tried = await answer(server(**given)), await answer(server(**given), dryRun=True)
        assert applied == tried
    unreadable = {"objects": {("runtoolcatalogsnapshots", WANTED): {}}}
    pinned = await answer(server(**unreadable), annotations={SNAPSHOT_ANNOTATION: WANTED}, dryRun=True)
    assert (pinned["allowed"], pinned["auditAnnotations"]["reason"]) == (False, "state_invalid")


async def test_free_text_in_an_annotation_is_neither_read_nor_repeated() -> None:
    for key in (INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION):
        api = server()
        response = await answer(api, annotations={key: f"{CANARY} text"})
        assert response["allowed"] is False
        assert not any(CANARY in name for _, _, name in api.names)


async def test_longest_warnings_are_cut_for_the_client() -> None:
    long = Decision(
        Verdict.DENIED,
        Reason.NOT_APPROVED,
        inventory="n" * 236,
        live_digest="sha256:" + "a" * 64,
        snapshot="n" * 253,
        approvals=Tally(1, 0, (), 0, 0),
        baseline="n" * 253,
        differences=tuple(
            ToolDifference(f"tool:a.b/{'t' * 64}", "1.0.0", (Reason.TOOL_ADDED,)) for _ in range(99)
        ),
    )
    request = parse_request(review())
    response = respond(request, long, Mode.WARN)["response"]
    assert all(len(line) <= 256 for line in response["warnings"])
    assert len(denial_text(long, NAMESPACE).encode()) <= MAX_TEXT_BYTES


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("reason", list(Reason))
async def test_what_no_decision_was_made_about_is_refused_in_enforce_mode_alone(reason, mode) -> None:
    response = refuse(UID, reason, mode)["response"]
    assert response["allowed"] is (mode is not Mode.ENFORCE)
    assert ("status" in response) is (mode is Mode.ENFORCE)
    assert ("warnings" in response) is (mode is Mode.WARN)
    assert response["auditAnnotations"] == {"verdict": "denied", "reason": str(reason)}


def broken(**members: Any) -> dict[str, Any]:
    return review(**members)


BROKEN = [
    (None, ""),
    ([], ""),
    (CANARY, ""),
    ({}, ""),
    ({"request": CANARY}, ""),
    ({"request": {"uid": [CANARY]}}, ""),
    (review() | {"kind": CANARY}, UID),
    (review() | {"apiVersion": "admission.k8s.io/v1beta1"}, UID),
    (broken(uid=1), ""),
    (broken(operation=1), UID),
    (broken(resource=CANARY), UID),
    (broken(resource={"group": "apps"}), UID),
    (broken(namespace=None), UID),
    (broken(userInfo=None), UID),
    (broken(object=[CANARY]), UID),
    (broken(oldObject=CANARY), UID),
    (broken(dryRun="false"), UID),
    (broken(subResource=1), UID),
]


@pytest.mark.parametrize(("document", "uid"), BROKEN)
def test_what_breaks_the_promise_of_the_api_is_not_understood(document, uid) -> None:
    with pytest.raises(NotUnderstoodError) as caught:
        parse_request(document)
    assert caught.value.uid == uid
    assert caught.value.__context__ is None
    assert CANARY not in str(caught.value)


def test_members_the_api_may_add_are_no_fault() -> None:
    assert parse_request(review(brandNew={"x": CANARY})).uid == UID
    bare = review()
    for name in ("name", "oldObject", "dryRun"):
        del bare["request"][name]
    request = parse_request(bare)
    assert (request.name, request.old_object, request.sub_resource, request.dry_run) == ("", None, "", None)


# The subresources

SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("before", "after", "judged"),
    [
        ({"replicas": 0}, {"replicas": 1}, True),
        ({}, {"replicas": 1}, True),
        (None, {"replicas": 1}, True),
        ({"replicas": 1}, {"replicas": 9}, False),
        ({"replicas": 1}, {"replicas": 0}, False),
        ({"replicas": 1}, {}, False),
        ({}, {}, False),
    ],
)
async def test_a_scale_is_judged_by_its_parent_when_it_wakes(before, after, judged) -> None:
    parent = governed(DEPLOYMENTS, "web", serviceAccountName="assistant")
    for approvals, allowed in (({}, True), (REFUSING, not judged)):
        api = server(objects={("deployments", "web"): parent}, **approvals)
        old, new = (SCALE | ({} if spec is None else {"spec": spec}) for spec in (before, after))
        response = await answer(api, operation="UPDATE", subResource="scale", object=new, oldObject=old)
        assert response["allowed"] is allowed
        assert api.names[0] == ("deployments", NAMESPACE, "web")
        assert (api.asked.total() > 1) is judged
        # The parent first: only it says which inventory governs.
        assert api.rounds[0] == 1


@pytest.mark.parametrize("parent", [None, {}, {"spec": {"template": CANARY}}])
async def test_a_scale_of_what_cannot_be_read_is_refused(parent) -> None:
    api = server(objects={("deployments", "web"): parent})
    old, new = SCALE, SCALE | {"spec": {"replicas": 1}}
    response = await answer(api, operation="UPDATE", subResource="scale", object=new, oldObject=old)
    reason = "state_unavailable" if parent is None else "invalid_request"
    assert (response["allowed"], response["auditAnnotations"]["reason"]) == (False, reason)
    assert api.asked.total() == 1


async def test_a_new_ephemeral_container_is_judged() -> None:
    pods = BY_RESOURCE["", "pods"]
    old = governed(pods, "web", serviceAccountName="assistant")
    new = governed(pods, "web", serviceAccountName="assistant")
    new["spec"]["ephemeralContainers"] = [{"name": "debug", "image": CANARY}]
    update = {"kind": pods, "operation": "UPDATE", "subResource": "ephemeralcontainers", "oldObject": old}
    assert (await answer(server(**REFUSING), **update, object=new))["allowed"] is False
    assert (await answer(server(), **update, object=new))["allowed"] is True
    api = server(**REFUSING)
    assert (await answer(api, **update, object=old))["allowed"] is True
    assert api.asked.total() == 0

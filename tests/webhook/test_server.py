"""The gate's HTTP edge: every review gets a verdict, no fault admits, and no text is repeated."""

import logging
import time
from typing import Any

import pytest

from toolvet.kube.client import ApiError
from toolvet.kube.names import Mode
from webhook.edge import CANARY, UID, Edge, deployment, logged, reason, review


async def test_a_workload_that_nothing_governs_is_allowed(edge: Edge) -> None:
    response = await edge.post(review())
    assert response == {"uid": UID, "allowed": True, "auditAnnotations": {"verdict": "allowed"}}


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/enforced", "/v1/enforce/", "/v1/ENFORCE", "/enforce"]
)
async def test_an_unknown_path_is_not_found(edge: Edge, path: str) -> None:
    async with edge.session.post(edge.url + path, data=review()) as response:
        assert response.status == 404
    assert edge.reader.calls == 0


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("mode", Mode)
async def test_a_review_comes_by_post_only(edge: Edge, method: str, mode: str) -> None:
    async with edge.session.request(method, f"{edge.url}/v1/{mode}") as response:
        assert response.status == 405


async def test_probes(edge: Edge) -> None:
    async with edge.session.get(f"{edge.url}/livez") as response:
        assert response.status == 200
    for ready, status in ((False, 503), (True, 200)):
        edge.readiness.ready = ready
        async with edge.session.get(f"{edge.url}/readyz") as response:
            assert response.status == status


RUBBISH = {
    "nothing": b"",
    "no JSON": CANARY.encode(),
    "no text": b"\xff\xfe\x00",
    "broken off": review()[:-20],
    "a number": b"42",
    "a list": b"[]",
    "no request": b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
    "another kind": review().replace(b"AdmissionReview", b"ConversionReview"),
    "another version": review().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    "a lone surrogate": review(name="x").replace(b'"x"', b'"\\ud800"'),
    "too deep": b"[" * 100_000,
    "an uid that is none": review(uid=[CANARY]),
    "no user": review(userInfo=CANARY),
    "an object that is none": review(object=CANARY),
    "no namespace": review(namespace=None),
}


@pytest.mark.parametrize("body", RUBBISH.values(), ids=RUBBISH.keys())
async def test_what_is_no_review_is_refused_where_refusing_is_the_mode(
    edge: Edge, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    assert reason(await edge.post(body)) == "invalid_request"
    warned = await edge.post(body, "warn")
    assert warned["allowed"] is True
    assert warned["warnings"][0].startswith("toolvet: invalid_request: ")
    audited = await edge.post(body, "audit")
    assert (audited["allowed"], "warnings" in audited) == (True, False)
    assert audited["auditAnnotations"] == {"verdict": "denied", "reason": "invalid_request"}
    assert edge.reader.calls == 0
    assert CANARY not in logged(caplog)
    assert "internal_error" not in logged(caplog)


NOT_JUDGEABLE = {
    "no metadata, no spec": {"object": {}},
    "no template": {"object": {"metadata": {"name": "assistant"}, "spec": {}}},
    "a template without spec": {"object": {"metadata": {}, "spec": {"template": {}}}},
    "a template that is a text": {"object": {"metadata": {}, "spec": {"template": CANARY}}},
    "no object": {"object": None},
    "an update from nothing": {"operation": "UPDATE"},
    "an update of what has no template": {"operation": "UPDATE", "oldObject": {}},
    "a creation of what was there": {"oldObject": deployment()},
    "a deletion": {"operation": "DELETE", "object": None, "oldObject": deployment()},
    "an unknown operation": {"operation": CANARY},
    "an unknown resource": {"resource": {"group": CANARY, "resource": "deployments"}},
    "another group's": {"resource": {"group": "extensions", "resource": "deployments"}},
    "an unknown subresource": {"subResource": "status"},
    "a subresource of another kind": {"subResource": "ephemeralcontainers"},
    "no scale": {"operation": "UPDATE", "subResource": "scale", "object": None},
    "a scale of no name": {"operation": "UPDATE", "subResource": "scale", "oldObject": {}, "name": "../x"},
    "a namespace of no name": {"namespace": f"../{CANARY}"},
}


@pytest.mark.parametrize("request_", NOT_JUDGEABLE.values(), ids=NOT_JUDGEABLE.keys())
async def test_what_cannot_be_judged_is_refused_and_nothing_is_read(
    edge: Edge, request_: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    response = await edge.post(review(**request_))
    assert reason(response) == "invalid_request"
    assert response["uid"] == UID
    assert edge.reader.calls == 0
    assert CANARY not in logged(caplog)


@pytest.mark.parametrize("count", ["3", None, [], 1.5, True])
async def test_a_scale_without_a_count_is_refused(edge: Edge, count: object) -> None:
    edge.reader.found["deployments/assistant"] = deployment()
    scale = {"operation": "UPDATE", "subResource": "scale", "oldObject": {}}
    response = await edge.post(review(**scale, object={"spec": {"replicas": count}}))
    assert reason(response) == "invalid_request"


async def test_a_scale_of_what_is_not_there_is_refused(edge: Edge) -> None:
    scale = {"operation": "UPDATE", "subResource": "scale", "oldObject": {}}
    response = await edge.post(review(**scale, object={"spec": {"replicas": 1}}))
    assert reason(response) == "state_unavailable"


@pytest.mark.parametrize("status", [0, 401, 403, 429, 500, 503])
async def test_a_read_that_fails_refuses(edge: Edge, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    edge.reader.fault = ApiError(status, "Fault", CANARY)
    response = await edge.post(review())
    assert reason(response) == "state_unavailable"
    assert response["uid"] == UID
    assert CANARY not in str(response) + logged(caplog)
    assert (await edge.post(review(), "warn"))["allowed"] is True
    assert (await edge.post(review(), "audit"))["allowed"] is True


@pytest.mark.parametrize(
    ("query", "least", "most"), [("?timeout=1s", 0.5, 1), ("?timeout=2s", 1, 2), ("?timeout=3s", 2, 3)]
)
async def test_a_read_that_hangs_refuses_before_the_api_server_gives_up(
    edge: Edge, query: str, least: float, most: float
) -> None:
    edge.reader.hangs = True
    started = time.monotonic()
    response = await edge.post(review(), query=query)
    taken = time.monotonic() - started
    assert reason(response) == "state_unavailable"
    assert response["uid"] == UID
    assert least <= taken < most


@pytest.mark.parametrize(
    "query", ["", "?timeout=", "?timeout=0s", "?timeout=-1s", "?timeout=9999s", "?timeout=x"]
)
async def test_a_strange_deadline_changes_no_verdict(edge: Edge, query: str) -> None:
    assert (await edge.post(review(), query=query))["allowed"] is True
    edge.reader.fault = ApiError(0, "Unreachable")
    assert reason(await edge.post(review(), query=query)) == "state_unavailable"


@pytest.mark.parametrize("mode", Mode)
async def test_a_fault_of_ours_is_a_refusal_without_a_word_of_it(
    edge: Edge, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    edge.reader.fault = RuntimeError(CANARY)
    response = await edge.post(review(), mode)
    assert response["uid"] == UID
    assert response["allowed"] is (mode != Mode.ENFORCE)
    assert response["auditAnnotations"]["reason"] == "internal_error"
    assert CANARY not in str(response) + logged(caplog)
    assert "Traceback" not in str(response) + logged(caplog)
    fault = next(record for record in caplog.records if record.message == "internal_error")
    assert str(vars(fault)["fields"]["error"]).startswith("RuntimeError edge.py:")


async def test_nesting_as_deep_as_json_may_be_is_answered(edge: Edge) -> None:
    def nested(innermost: object) -> dict[str, Any]:
        value: object = innermost
        for _ in range(900):
            value = {"x": value}
        changed = deployment()
        changed["spec"]["template"]["spec"]["x"] = value
        return changed

    body = review(operation="UPDATE", object=nested(1), oldObject=nested(2))
    response = await edge.post(body)
    assert response["uid"] == UID
    assert response["allowed"] is True or reason(response) == "internal_error"


def canaried() -> dict[str, Any]:
    """A Deployment with the canary everywhere a user can put text."""
    found = deployment(**{"toolvet.dev/inventory": CANARY, "toolvet.dev/snapshot": CANARY, "note": CANARY})
    found["metadata"] |= {"labels": {"a": CANARY}, "annotations": {"b": CANARY}}
    found["spec"]["template"]["spec"]["containers"] = [
        {"name": CANARY, "image": CANARY, "args": [CANARY], "env": [{"name": "A", "value": CANARY}]}
    ]
    found[CANARY] = CANARY
    return found


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("fault", [None, ApiError(500, "Fault"), RuntimeError("fault")], ids=repr)
async def test_no_text_of_an_object_is_repeated(
    edge: Edge, mode: str, fault: BaseException | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    edge.reader.fault = fault
    misplaced = canaried()
    misplaced["metadata"]["annotations"]["toolvet.dev/inventory"] = CANARY
    account = canaried()
    account["spec"]["template"]["spec"]["serviceAccountName"] = f"{CANARY} account"
    for body in (
        review(object=canaried()),
        review(object=misplaced),
        review(object=account),
        review(object=canaried(), name=CANARY),
        review(object=canaried(), userInfo={"username": CANARY, "groups": [CANARY]}),
        review(object=deployment(), oldObject=canaried(), operation="UPDATE"),
    ):
        response = await edge.post(body, mode)
        assert response["allowed"] is (mode != Mode.ENFORCE)
        assert CANARY not in str(response)
    assert CANARY not in logged(caplog)

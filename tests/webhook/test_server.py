"""The gate's HTTP edge. The API server behind it is scripted, since these are faults it does not make."""

import asyncio
import json
import logging
import resource
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientSession, web

from toolvet.kube.client import ApiError
from toolvet.kube.names import Mode, Resource
from toolvet.webhook.server import MAX_BODY, Readiness, gate, runner

UID = "7c6b1a52-0f2e-4d0f-9f36-0a3c1d2e4f50"
CANARY = "canary Zq93x"
MIB = 1024 * 1024


@dataclass
class ScriptedReader:
    """An API server that has nothing, fails, or never answers."""

    fault: BaseException | None = None
    hangs: bool = False
    calls: int = 0
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def _answer(self) -> None:
        self.calls += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault

    async def get(self, resource: Resource, _namespace: str | None, name: str) -> dict[str, Any] | None:
        await self._answer()
        return self.found.get(f"{resource.plural}/{name}")

    async def list(self, *_: object, **__: object) -> dict[str, Any]:
        await self._answer()
        return {"items": []}

    async def create(self, *_: object, **__: object) -> dict[str, Any]:
        await self._answer()
        return {}


@dataclass
class Edge:
    """A running gate, and what its caller sees."""

    reader: ScriptedReader
    readiness: Readiness
    session: ClientSession
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def post(self, body: bytes, mode: str = "enforce", query: str = "", **headers: str) -> Any:
        async with self.session.post(
            f"{self.url}/v1/{mode}{query}", data=BytesIO(body), headers=headers
        ) as response:
            assert response.status == 200
            answer = await response.json()
        assert answer["apiVersion"] == "admission.k8s.io/v1"
        assert answer["kind"] == "AdmissionReview"
        return answer["response"]

    async def raw(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        return reader, writer


@pytest.fixture
async def edge() -> AsyncIterator[Edge]:
    reader, readiness = ScriptedReader(), Readiness()
    server = runner(gate(reader, readiness, lambda: datetime.now(UTC)))
    await server.setup()
    try:
        await web.TCPSite(server, "127.0.0.1", 0).start()
        async with ClientSession() as session:
            yield Edge(reader, readiness, session, server.addresses[0][1])
    finally:
        await server.cleanup()


def deployment(**annotations: str) -> dict[str, Any]:
    template = {"metadata": {"annotations": annotations}, "spec": {"serviceAccountName": "assistant"}}
    return {"metadata": {"name": "assistant"}, "spec": {"replicas": 1, "template": template}}


def review(**request: object) -> bytes:
    asked = {
        "uid": UID,
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "name": "assistant",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "dev"},
        "object": deployment(),
        "oldObject": None,
        "dryRun": False,
    }
    asked |= request
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    ).encode()


def reason(response: dict[str, Any]) -> str:
    """The code of a denial; the message begins with it."""
    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    code = str(response["auditAnnotations"]["reason"])
    assert response["status"]["message"].startswith(f"{code}: ")
    return code


def logged(caplog: pytest.LogCaptureFixture) -> str:
    return caplog.text + "".join(str(vars(record)) for record in caplog.records)


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
    assert str(vars(fault)["fields"]["error"]).startswith("RuntimeError test_server.py:")


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


@pytest.mark.parametrize("mode", Mode)
async def test_a_body_over_the_limit_is_refused_with_the_right_uid(edge: Edge, mode: str) -> None:
    big = deployment()
    big["spec"]["template"]["spec"]["x"] = "x" * (MAX_BODY + 1)
    response = await edge.post(review(object=big), mode)
    assert response["uid"] == UID
    assert response["allowed"] is (mode != Mode.ENFORCE)
    assert response["auditAnnotations"]["reason"] == "request_too_large"


async def test_a_body_at_the_limit_is_judged(edge: Edge) -> None:
    body = review(object=deployment())
    assert (await edge.post(body + b" " * (MAX_BODY - len(body))))["allowed"] is True
    assert reason(await edge.post(body + b" " * (MAX_BODY - len(body) + 1))) == "request_too_large"


async def test_a_compressed_flood_is_refused(edge: Edge) -> None:
    packer = zlib.compressobj(wbits=31)
    flood = b"".join(packer.compress(b" " * MIB) for _ in range(9)) + packer.flush()
    response = await edge.post(flood, **{"Content-Encoding": "gzip"})
    assert reason(response) in {"request_too_large", "invalid_request"}


async def test_what_is_not_in_the_encoding_it_claims_is_refused(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    assert reason(await edge.post(review(), **{"Content-Encoding": "gzip"})) == "invalid_request"
    assert "internal_error" not in logged(caplog)


async def test_an_endless_body_is_ended_in_bounded_memory(edge: Edge) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    head = b"POST /v1/enforce?timeout=30s HTTP/1.1\r\nHost: gate\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader, writer = await edge.raw(head)
    start = review()[:-1]
    writer.write(f"{len(start):x}\r\n".encode() + start + b"\r\n")
    chunk = f"{MIB:x}\r\n".encode() + b"x" * MIB + b"\r\n"
    answered = asyncio.create_task(reader.readuntil(b'"request_too_large"'))
    with suppress(ConnectionError):
        async with asyncio.timeout(60):
            while True:
                writer.write(chunk)
                await writer.drain()
    # The caller was answered, and cut off as it would not end.
    assert UID.encode() in await asyncio.wait_for(answered, 10)
    writer.close()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 64, f"{grown:.0f} MiB"


async def test_a_body_that_never_ends_is_refused_before_the_api_server_gives_up(edge: Edge) -> None:
    head = b"POST /v1/enforce?timeout=1s HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000\r\n\r\n{"
    started = time.monotonic()
    reader, writer = await edge.raw(head)
    answer = await asyncio.wait_for(reader.readuntil(b"invalid_request"), 10)
    assert answer.startswith(b"HTTP/1.1 200")
    assert time.monotonic() - started < 1
    writer.close()


async def test_a_caller_who_hangs_up_is_no_fault_of_ours(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    _, writer = await edge.raw(b"POST /v1/enforce HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000\r\n\r\n{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await edge.post(review()))["allowed"] is True
    assert "internal_error" not in logged(caplog)


async def test_rubbish_instead_of_http_is_refused_and_not_logged(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reader, writer = await edge.raw(b"\x16\x03\x01" + CANARY.encode() + b"\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.0 400")
    writer.close()
    assert (await edge.post(review()))["allowed"] is True
    assert CANARY not in logged(caplog)

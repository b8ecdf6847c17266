"""A running gate and its caller. The API server behind it is scripted: these are faults it does not make."""

import asyncio
import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientSession

from toolvet.kube.names import Resource
from toolvet.webhook.server import Readiness

UID = "7c6b1a52-0f2e-4d0f-9f36-0a3c1d2e4f50"
CANARY = "canary Zq93x"


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

"""The installed chart without a gate: namespaces in audit mode, controllers with the chart's own account."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.chart import install_chart
from controlplane.ports import free_port
from controlplane.processes import Process
from controlplane.waiting import wait_until
from toolvet.kube.names import APPROVALS, INVENTORIES, POLICIES, SNAPSHOTS, Resource

NOTICED = 5.0  # seconds the design promises
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
_RESOURCES = {item.kind: item for item in (INVENTORIES, SNAPSHOTS, APPROVALS, POLICIES, DEPLOYMENTS)}
_RESOURCES |= {
    "ReplicaSet": Resource("apps", "v1", "replicasets", "ReplicaSet"),
    "StatefulSet": Resource("apps", "v1", "statefulsets", "StatefulSet"),
    "Pod": Resource("", "v1", "pods", "Pod"),
}
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Controller:
    """One process under test; ``token_id`` is what the audit log knows it by."""

    def __init__(self, process: Process, token_id: str, identity: str, health_port: int) -> None:
        self.process = process
        self.token_id = token_id
        self.identity = identity
        self.health_port = health_port

    def log(self) -> list[dict[str, Any]]:
        lines = self.process.log.read_text().splitlines() if self.process.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]

    def said(self, event: str) -> bool:
        return any(line["event"] == event for line in self.log())


class Cluster:
    """A control plane with the chart on it."""

    def __init__(self, bed: ControlPlane) -> None:
        self.bed = bed
        self.chart = install_chart(bed, gate_port=free_port())
        self._started = 0

    def start_controller(self) -> Controller:
        self._started += 1
        identity = f"controller-{self._started}"
        folder = self.bed.directory / "accounts" / identity
        self.bed.service_account(self.chart.namespace, self.chart.controller_service_account, folder)
        port = free_port()
        command = [sys.executable, "-m", "toolvet", *self.chart.controller_args]
        command += ["--service-account-dir", str(folder), "--bind-address", "127.0.0.1"]
        command += ["--health-port", str(port)]
        environment = {"PATH": os.environ["PATH"], "POD_NAME": identity, **self.bed.environment()}
        process = self.bed.start_process(identity, command, environment)
        return Controller(process, _token_id(folder / "token"), identity, port)

    def start_leader(self) -> Controller:
        controller = self.start_controller()

        def leads() -> bool:
            assert controller.process.poll() is None, controller.process.tail()
            return self.holder().startswith(f"{controller.identity}_")

        wait_until(leads, 30, "it does not lead")
        return controller

    def lease(self) -> dict[str, Any]:
        name = f"{self.chart.fullname}-controller"
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.chart.namespace}/leases/{name}"
        try:
            return self.bed.api("GET", path)
        except ApiError as error:
            if error.status != 404:
                raise
            return {"spec": {}}

    def holder(self) -> str:
        return str(self.lease()["spec"].get("holderIdentity") or "")

    def audited(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the controllers' finished requests that the audit log holds after ``since`` bytes."""
        user = f"system:serviceaccount:{self.chart.namespace}:{self.chart.controller_service_account}"
        with self.bed.audit_log.open("rb") as lines:
            lines.seek(since)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                entry = json.loads(line)
                if entry["user"]["username"] == user and entry["stage"] == "ResponseComplete":
                    yield entry

    def audit_size(self) -> int:
        return self.bed.audit_log.stat().st_size


def token_of(entry: dict[str, Any]) -> str:
    """Return the id of the token a request came with."""
    found = entry["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])
    return str(found[0]).removeprefix("JTI=")


def _token_id(path: Path) -> str:
    body = path.read_text().split(".")[1]
    return str(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["jti"])


class Team:
    """One namespace and what is done in it, as admin: rights are other tests' subject."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.bed = cluster.bed
        self.namespace = namespace

    def path(self, kind: str, name: str | None = None, subresource: str | None = None) -> str:
        return _RESOURCES[kind].path(self.namespace, name, subresource)

    def create(self, obj: dict[str, Any]) -> dict[str, Any]:
        return self.bed.api("POST", self.path(obj["kind"]), obj)

    def change(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Merge an object into the stored one."""
        patch = {key: value for key, value in obj.items() if key in {"spec", "metadata"}}
        return self.bed.api("PATCH", self.path(obj["kind"], obj["metadata"]["name"]), patch)

    def delete(self, kind: str, name: str) -> None:
        self.bed.api("DELETE", self.path(kind, name))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        return self.bed.api("GET", self.path(kind, name))

    def status(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(kind, name).get("status") or {}
        return found

    def condition(self, kind: str, name: str, wanted: str) -> tuple[str, str]:
        """Return status and reason of a condition; empty texts where it is not there."""
        for item in self.status(kind, name).get("conditions", ()):
            if item["type"] == wanted:
                return item["status"], item["reason"]
        return "", ""

    def events(self, reason: str, name: str | None = None) -> list[dict[str, Any]]:
        found = self.bed.api("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        return [
            item for item in found if item["reason"] == reason and name in {None, item["regarding"]["name"]}
        ]

    def soon(self, condition: Callable[[], object], complaint: str, seconds: float = NOTICED) -> None:
        wait_until(condition, seconds, complaint)

    def label(self, mode: str | None) -> None:
        patch = {"metadata": {"labels": {"toolvet.dev/mode": mode}}}
        self.bed.api("PATCH", f"/api/v1/namespaces/{self.namespace}", patch)

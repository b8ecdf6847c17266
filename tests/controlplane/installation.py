"""Our product on a control plane without a node: the chart by helm, its two processes by us.

The processes get what a kubelet would give them: the arguments of their Deployment, the token of their own
service account (never an admin's), and the serving Secret as files that follow it.
"""

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.chart import install_chart
from controlplane.ports import free_port
from controlplane.processes import Process
from controlplane.projection import project, secret_files
from controlplane.waiting import wait_until

READY_SECONDS = 30.0
TOKEN_SECONDS = 24 * 3600  # nobody renews the tokens here, and a sandbox may run for long
_LOOK_SECONDS = 0.3
_LOOPBACK = "127.0.0.1"


class _SecretVolume:
    """Follows a Secret into a folder, as a kubelet does for a mounted one."""

    def __init__(self, bed: ControlPlane, namespace: str, name: str, directory: Path) -> None:
        self._bed, self._path = bed, f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self._directory = directory
        self._seen: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"volume-{name}", daemon=True)
        directory.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            try:
                secret = self._bed.api("GET", self._path)
            except (ApiError, OSError):
                continue  # not made yet, or the API server is being played with: a kubelet tries again too
            version = secret["metadata"]["resourceVersion"]
            if version != self._seen:
                project(self._directory, secret_files(secret))
                self._seen = version


class Installation:
    """The chart and, as long as the block runs, one gate and one controller; more can be started.

    ``processes`` false: none is started but those that are asked for. ``tls`` is the gates' volume.
    """

    def __init__(
        self, bed: ControlPlane, values: Mapping[str, Any] | None = None, *, processes: bool = True
    ) -> None:
        self.bed = bed
        self._values = values
        self._processes = processes
        self._started = 0
        self.gates: list[Process] = []
        self.controllers: list[Process] = []
        self.collectors: list[Process] = []

    def __enter__(self) -> Self:
        self.gate_port = free_port()
        self.chart = install_chart(self.bed, gate_port=self.gate_port, values=self._values)
        self.namespace = self.chart.namespace
        self.tls = self.bed.directory / "volumes" / "tls"
        self._volume = _SecretVolume(self.bed, self.namespace, f"{self.chart.fullname}-tls", self.tls)
        self._volume.start()
        if self._processes:
            self.start_controller()
            self.start_gate()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.gates, *self.controllers, *self.collectors]:
            process.stop()
        self._volume.stop()

    def _run(
        self, name: str, account: str, arguments: list[str], extra: list[str], api_port: int | None
    ) -> Process:
        self._started += 1
        identity = f"{name}-{self._started}"
        folder = self.bed.directory / "volumes" / identity
        self.bed.service_account(self.namespace, account, folder, seconds=TOKEN_SECONDS)
        environment = {
            "PATH": os.environ["PATH"],
            "POD_NAME": identity,
            "PYTHONUNBUFFERED": "1",
            **self.bed.environment(),
        }
        if api_port is not None:
            environment["KUBERNETES_SERVICE_PORT"] = str(api_port)
        command = [sys.executable, "-m", "toolvet", *arguments, *extra]
        command += ["--service-account-dir", str(folder), "--bind-address", _LOOPBACK]
        return self.bed.start_process(identity, command, environment)

    def start_controller(self, *arguments: str, api_port: int | None = None) -> Process:
        """Start one more controller; it leads once it has the Lease.

        ``api_port`` is where it finds the API server, if not where it is.
        """
        account = self.chart.controller_service_account
        extra = ["--health-port", str(free_port()), *arguments]
        process = self._run("controller", account, self.chart.controller_args, extra, api_port)
        self.controllers.append(process)
        return process

    def start_collector(self, *arguments: str) -> Process:
        """Start one more collector; it looks once it has the Lease. The release must have one."""
        assert self.chart.collector_args is not None, "the release has no collector"
        extra = ["--health-port", str(free_port()), *arguments]
        account = f"{self.chart.fullname}-collector"
        process = self._run("collector", account, self.chart.collector_args, extra, None)
        self.collectors.append(process)
        return process

    def stop_collectors(self) -> None:
        """End all of them: where one only ends, another takes its place."""
        for process in self.collectors:
            process.stop()

    def start_gate(self, *arguments: str, port: int | None = None, api_port: int | None = None) -> Process:
        """Start one more gate and wait until it is ready."""
        account = self.chart.webhook_service_account
        extra = ["--port", str(port or self.gate_port), "--cert-dir", str(self.tls), *arguments]
        process = self._run("webhook", account, self.chart.webhook_args, extra, api_port)
        self.gates.append(process)

        def ready() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"the gate ended:\n{process.tail()}")
            return '"event": "ready"' in process.log.read_text()

        wait_until(ready, READY_SECONDS, "the gate is not ready")
        return process

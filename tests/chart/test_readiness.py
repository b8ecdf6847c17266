"""A gate is ready when the next call succeeds: trusted as configured, forgeries refused, a decision made."""

import http.client
import json
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from chart.rights import NAMESPACE
from controller.objects import deployment
from controlplane.bed import ControlPlane
from controlplane.certificates import CertificateAuthority
from controlplane.chart import Installed, install_chart
from controlplane.ports import free_port
from controlplane.processes import Process
from controlplane.projection import project
from controlplane.waiting import wait_until
from crds.objects import approval

SOON = 30.0
HOST = f"toolvet-webhook.{NAMESPACE}.svc"
BINDING = "validatingadmissionpolicybinding/approvals.toolvet.dev"


class Gate:
    """A gate with certificates that the test makes, and no controller."""

    def __init__(self, bed: ControlPlane) -> None:
        self.bed = bed
        self.port = free_port()
        self.folder = bed.directory / "gate-tls"
        self.folder.mkdir()
        self.trusted = CertificateAuthority("trusted", datetime.now(UTC))
        self.stranger = CertificateAuthority("stranger", datetime.now(UTC))
        self.chart = self.configure(self.stranger)
        self.process = self._start()

    def configure(self, authority: CertificateAuthority) -> Installed:
        """Install or upgrade the chart so that the API server trusts this authority."""
        certificates = {
            "mode": "provided",
            "existingSecret": "of-the-test",
            "caBundle": authority.certificate.decode(),
        }
        values = {"webhook": {"certificates": certificates}}
        return install_chart(self.bed, gate_port=self.port, values=values)

    def serve(self, authority: CertificateAuthority, name: str = HOST) -> None:
        pair = authority.issue("gate", dns=[name])
        project(self.folder, {"tls.crt": pair.certificate, "tls.key": pair.key})

    def _start(self) -> Process:
        account = self.bed.service_account(NAMESPACE, self.chart.webhook_service_account)
        command = [sys.executable, "-m", "toolvet", *self.chart.webhook_args, "--port", str(self.port)]
        command += ["--cert-dir", str(self.folder), "--service-account-dir", str(account)]
        command += ["--bind-address", "127.0.0.1"]
        environment = {"PATH": os.environ["PATH"], **self.bed.environment()}
        return self.bed.start_process("gate", command, environment)

    def told(self) -> list[str]:
        """What it lacked, in order, and ``ready``."""
        assert self.process.poll() is None, self.process.tail()
        lines = [json.loads(line) for line in self.process.log.read_text().splitlines()]
        return [line.get("missing", "ready") for line in lines if line["event"] in {"not_ready", "ready"}]

    def comes_to(self, *states: str) -> None:
        wait_until(lambda: self.told() == list(states), SOON, f"not {states}: {self.told()}")

    def ready(self) -> bool:
        """Ask as a kubelet does, which checks no certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
        connection.close()
        assert status in {200, 503}
        return status == 200

    def decisions(self) -> int:
        return self.process.log.read_text().count('"event": "decision"')


@pytest.fixture
def gate() -> Iterator[Gate]:
    with ControlPlane() as bed:
        yield Gate(bed)


def test_a_gate_gets_ready_by_itself_once_everything_works_and_stays_so(gate: Gate) -> None:
    bed = gate.bed
    gate.comes_to("certificate")
    # The liveness probe: it must not be started again for want of a certificate.
    socket.create_connection(("127.0.0.1", gate.port), timeout=5).close()
    gate.serve(gate.trusted)
    gate.comes_to("certificate", "trust")
    assert not gate.ready()

    guard = bed.kubectl("get", BINDING, "--output", "json").stdout
    bed.kubectl("delete", BINDING)
    # The bundle fits, but not the name.
    gate.serve(gate.trusted, "elsewhere.svc")
    gate.configure(gate.trusted)
    bed.kubectl("delete", BINDING, "--ignore-not-found")
    assert gate.told() == ["certificate", "trust"]
    # The API server enforces a binding for a moment longer than it exists.
    forged = json.dumps(approval(approvedBy="somebody-else"))
    wait_until(
        lambda: (
            bed.kubectl("create", "--dry-run=server", "-f", "-", input=forged, check=False).returncode == 0
        ),
        SOON,
        "the guard is still in force",
    )
    gate.serve(gate.trusted)
    gate.comes_to("certificate", "trust", "approval_guard")
    assert not gate.ready()

    bare = json.loads(guard)
    bare["metadata"] = {key: bare["metadata"][key] for key in ("name", "labels", "annotations")}
    bed.kubectl("apply", "--server-side", "--filename", "-", input=json.dumps(bare))
    gate.comes_to("certificate", "trust", "approval_guard", "ready")
    assert gate.ready()
    with bed.namespace(labels={"toolvet.dev/mode": "enforce"}) as team:

        def create(count: int) -> None:
            objects = [deployment(f"agent-{index}", account="default") for index in range(count)]
            given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
            bed.kubectl("create", "--dry-run=server", "-n", team, "-f", "-", input=given)

        wait_until(lambda: create(1) or gate.decisions(), SOON, "the gate is not called")
        before = gate.decisions()
        create(50)
        assert gate.decisions() == before + 50

    gate.configure(gate.stranger)
    bed.kubectl("delete", BINDING)
    assert gate.ready()
    assert gate.told()[-1] == "ready"

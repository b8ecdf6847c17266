"""What is compared: the same write without a webhook, through kopf's server, and through the gate."""

import base64
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.client import Access, Connection, encoded
from controlplane.bed import ControlPlane
from controlplane.commands import run
from controlplane.installation import Installation
from controlplane.ports import free_port
from controlplane.waiting import wait_until

READY_SECONDS = 30.0
_OK = 200
_CREATED = 201
_API = "/apis/toolvet.dev/v1alpha1"
_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_BENCH_LABEL = "toolvet-bench"
KOPF = "kopf"
KOPF_QUIET = "kopf --quiet"
GATE_20 = "gate, 20 tools"


@dataclass(frozen=True, slots=True)
class Arm:
    """One way a governed write can go; ``pid`` is the webhook's process, None without one."""

    name: str
    namespace: str
    account: str
    pid: int | None
    webhook: str | None
    """The name under which the API server counts the calls."""
    writes: int
    """In one block of a round: fewer where one costs more, so that every block takes a few seconds."""
    loaded: bool
    """Measured with the background writer too."""

    @property
    def path(self) -> str:
        """Where the write goes; a dry run passes all admission and stores nothing."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments?dryRun=All"

    @property
    def body(self) -> bytes:
        """The governed write: the creation of a Deployment of ordinary size."""
        return encoded(deployment(self.account))


def deployment(account: str) -> dict[str, Any]:
    """Return a Deployment of one agent container with what such a one usually has."""
    container = {
        "name": "agent",
        "image": "registry.example/agents/assistant:1.4.2",
        "args": ["--model-endpoint=http://models.example:8080", "--tools=catalog"],
        "env": [{"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(8)],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    labels = {"app.kubernetes.io/name": "assistant"}
    pod = {
        "serviceAccountName": account,
        "containers": [container],
        "volumes": [{"name": "work", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "assistant", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _tools(count: int) -> list[dict[str, str]]:
    return [
        {
            "toolId": f"tool:org.example/tool-{number:04}",
            "version": "1.0.0",
            "capabilityClass": "capability:org.example/records@1.0.0",
            "sideEffectClass": "read-only",
            "schemaDigest": f"sha256:{number:064x}",
            "implementationId": f"sha256:{number + 1:064x}",
        }
        for number in range(count)
    ]


@dataclass
class Bench:
    """A control plane with every arm on it."""

    bed: ControlPlane
    installation: Installation
    say: Callable[[str], None]
    arms: list[Arm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.access = _access(self.bed)
        self._pair = self._serving_pair()

    def build(self) -> None:
        """Make every arm and see each one admit its write."""
        quiet_namespace = self.bed.create_namespace("bench-none-")
        self.arms.append(Arm("no webhook", quiet_namespace, "agent-20", None, None, 150, loaded=True))
        self._add_kopf(KOPF, [], loaded=True)
        self._add_kopf(KOPF_QUIET, ["--quiet"], loaded=False)
        self._add_gate()

    def _serving_pair(self) -> tuple[Path, Path]:
        pair = self.bed.authority.issue("bench", dns=["localhost"], addresses=["127.0.0.1"])
        certificate, key = self.bed.directory / "bench-serving.crt", self.bed.directory / "bench-serving.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return certificate, key

    def _add_kopf(self, name: str, options: list[str], *, loaded: bool) -> None:
        self.say(f"starting {name}")
        slug = "".join(char for char in name if char.isalpha())
        port = free_port()
        environment = os.environ | {
            "KUBECONFIG": str(self.bed.kubeconfig()),
            "BENCH_PORT": str(port),
            "BENCH_CERTIFICATE": str(self._pair[0]),
            "BENCH_KEY": str(self._pair[1]),
        }
        handler = Path(__file__).with_name("kopf_webhook.py")
        command = [sys.executable, "-m", "kopf", "run", "--standalone", "--all-namespaces", *options, handler]
        process = self.bed.start_process(slug, command, environment)
        namespace = self.bed.create_namespace(f"bench-{slug}-", {_BENCH_LABEL: slug})
        webhook = f"{slug}.bench.example"
        self._configure(webhook, slug, port)
        arm = Arm(name, namespace, "agent-20", process.pid, webhook, 150, loaded)
        self._await_admitted(arm)
        self.arms.append(arm)

    def _configure(self, webhook: str, slug: str, port: int) -> None:
        """Copy the gate's own entry, so that the API server has the same work before each call."""
        own = self.bed.api("GET", f"{_CONFIGURATIONS}/{self.installation.chart.fullname}")
        entry = next(item for item in own["webhooks"] if item["name"].startswith("enforce."))
        entry |= {
            "name": webhook,
            "namespaceSelector": {"matchLabels": {_BENCH_LABEL: slug}},
            "clientConfig": {
                "url": f"https://localhost:{port}/allow",
                "caBundle": base64.b64encode(self.bed.authority.certificate).decode(),
            },
        }
        self.bed.api("POST", _CONFIGURATIONS, {"metadata": {"name": webhook}, "webhooks": [entry]})

    def _add_gate(self) -> None:
        self.say("approving catalogs of 20, 200 and 1,000 tools")
        namespace = self.bed.create_namespace("bench-gate-", {"toolvet.dev/mode": "enforce"})
        self._await_lists(namespace)
        pid = self.installation.gates[0].pid
        for count, writes in ((20, 150), (200, 60), (1000, 20)):
            account = f"agent-{count}"
            self._approve(namespace, account, count)
            name = f"gate, {count} tools" if count != 20 else GATE_20  # noqa: PLR2004
            loaded = name == GATE_20
            arm = Arm(name, namespace, account, pid, "enforce.toolvet.dev", writes, loaded)
            self._await_admitted(arm)
            self.arms.append(arm)

    def _await_lists(self, namespace: str) -> None:
        """Wait until the API server has read in our kinds: the first lists of a new one are refused."""
        with Connection(self.access) as connection:

            def served() -> bool:
                kinds = ("toolinventories", "runtoolcatalogsnapshots", "catalogapprovals")
                paths = [f"{_API}/namespaces/{namespace}/{kind}" for kind in kinds]
                return all(connection.call("GET", path)[0] == _OK for path in paths)

            wait_until(served, READY_SECONDS, "our kinds are not served")

    def _approve(self, namespace: str, account: str, count: int) -> None:
        inventory = {
            "apiVersion": "toolvet.dev/v1alpha1",
            "kind": "ToolInventory",
            "metadata": {"name": account},
            "spec": {"tools": _tools(count)},
        }
        self.bed.api("POST", f"{_API}/namespaces/{namespace}/toolinventories", inventory)
        snapshot = self._toolvet("capture", account, "--namespace", namespace).strip().rpartition("/")[2]
        self._toolvet("approve", snapshot, "--namespace", namespace)

    def _toolvet(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "toolvet", *arguments]
        return run(command, self.bed.command_environment(), seconds=READY_SECONDS).stdout

    def _await_admitted(self, arm: Arm) -> None:
        """Wait until the write passes, and through its webhook: the API server hears of both with a delay."""
        with Connection(self.access) as connection:

            def admitted() -> bool:
                before = calls(connection, arm.webhook)
                status, _ = connection.call("POST", arm.path, arm.body)
                return status == _CREATED and calls(connection, arm.webhook) == before + 1

            wait_until(admitted, READY_SECONDS, f"{arm.name}: the write is not admitted")


def calls(connection: Connection, webhook: str | None) -> int:
    """Return how often the API server called a webhook that admitted (its own metric)."""
    if webhook is None:
        return 0
    _, content = connection.call("GET", "/metrics")
    prefix = "apiserver_admission_webhook_request_total{"
    lines = (line for line in content.decode().splitlines() if line.startswith(prefix))
    admitted = (line for line in lines if f'name="{webhook}"' in line and 'rejected="false"' in line)
    return sum(int(float(line.rpartition(" ")[2])) for line in admitted)


def _access(bed: ControlPlane) -> Access:
    """Return an administrator's access of the bench's own."""
    pair = bed.authority.issue("bench", organizations=["system:masters"])
    certificate, key = bed.directory / "bench-client.crt", bed.directory / "bench-client.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return Access(bed.port, bed.ca_file, certificate, key)

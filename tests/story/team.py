"""A team's namespace on the installed product, and what its people do there, through kubectl alone."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.bed import ControlPlane
from controlplane.commands import Completed, run
from controlplane.installation import Installation
from controlplane.people import People, invite

AGENT = "assistant"
DENIED = 'admission webhook "enforce.toolvet.dev" denied the request: '


VERSIONS = {
    "Pod": "v1",
    "PodTemplate": "v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def digest(letter: str) -> str:
    return "sha256:" + letter * 64


def tool(
    name: str, *, schema: str = "a", implementation: str = "b", side_effect: str = "read-only"
) -> dict[str, str]:
    return {
        "toolId": f"tool:org.example/{name}",
        "version": "1.0.0",
        "capabilityClass": "capability:org.example/text@1.0.0",
        "sideEffectClass": side_effect,
        "schemaDigest": digest(schema),
        "implementationId": digest(implementation),
    }


def inventory(*tools: Mapping[str, str], name: str = AGENT) -> dict[str, Any]:
    listed = sorted(tools, key=lambda item: f"{item['toolId']} {item['version']}")
    return {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "ToolInventory",
        "metadata": {"name": name},
        "spec": {"tools": listed},
    }


def pod(
    account: str = AGENT, annotations: Mapping[str, str] | None = None, image: str = "agent:1"
) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": AGENT}, "annotations": dict(annotations or {})},
        "spec": {
            "serviceAccountName": account,
            "containers": [{"name": "agent", "image": f"example.org/{image}"}],
        },
    }


def workload(kind: str = "Deployment", name: str = AGENT, **template: Any) -> dict[str, Any]:
    """Build a workload of one of the governed kinds."""
    whole = pod(**template)
    if kind == "Pod":
        return {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": name, **whole["metadata"]},
            "spec": whole["spec"],
        }
    head = {"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": name}}
    if kind == "PodTemplate":
        return {**head, "template": whole}
    if kind in {"Job", "CronJob"}:
        whole["spec"]["restartPolicy"] = "Never"
        job: dict[str, Any] = {"template": whole}
        return {
            **head,
            "spec": job if kind == "Job" else {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}},
        }
    selector: dict[str, Any] = {"app": AGENT}
    spec: dict[str, Any] = {"template": whole}
    spec["selector"] = selector if kind == "ReplicationController" else {"matchLabels": selector}
    if kind != "DaemonSet":
        spec["replicas"] = 1
    if kind == "StatefulSet":
        spec["serviceName"] = AGENT
    return {**head, "spec": spec}


class Team:
    """One enforced namespace."""

    def __init__(self, product: Installation, namespace: str, people: People) -> None:
        self.product = product
        self.bed: ControlPlane = product.bed
        self.namespace = namespace
        self.people = people
        self._rolls = 0

    def kubectl(
        self, *arguments: str | Path, as_user: Path, given: object = None, check: bool = True
    ) -> Completed:
        text = None if given is None else json.dumps(given)
        return self.bed.kubectl(
            *arguments, "--namespace", self.namespace, input=text, kubeconfig=as_user, check=check
        )

    def toolvet(self, *arguments: str, as_user: Path, check: bool = True) -> Completed:
        """Run the kubectl plugin, as a person would."""
        environment = self.bed.command_environment(as_user)
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        command = [self.bed.program("kubectl"), "toolvet", *arguments]
        return run(command, environment, check=check)

    def publish(self, *tools: Mapping[str, str], name: str = AGENT) -> None:
        """Make these tools the live catalog."""
        self.apply(inventory(*tools, name=name), as_user=self.people.producer)

    def apply(self, obj: Mapping[str, Any], *, as_user: Path | None = None, check: bool = True) -> Completed:
        """Apply server-side; the developer does where nobody is named."""
        user = as_user or self.people.developer
        return self.kubectl("apply", "--server-side", "-f", "-", as_user=user, given=obj, check=check)

    def refusal(self, obj: Mapping[str, Any], *arguments: str, as_user: Path | None = None) -> str:
        """Apply what must be refused by the gate; returns the gate's text."""
        user = as_user or self.people.developer
        command = ("apply", "--server-side", *arguments, "-f", "-")
        done = self.kubectl(*command, as_user=user, given=obj, check=False)
        return self.denial(done)

    def roll(self, name: str = AGENT) -> Completed:
        """Roll the agent's Deployment out again (`rollout restart` itself does nothing twice in a second)."""
        self._rolls += 1
        template = {"metadata": {"annotations": {"example.org/rolled": str(self._rolls)}}}
        patch = json.dumps({"spec": {"template": template}})
        return self.kubectl(
            "patch", f"deployment/{name}", "--patch", patch, as_user=self.people.developer, check=False
        )

    @staticmethod
    def denial(done: Completed) -> str:
        assert done.returncode == 1, done.stdout
        assert DENIED in done.stderr, done.stderr
        return done.stderr.partition(DENIED)[2]

    def review(self, name: str = AGENT) -> str:
        """Capture and approve the live catalog; returns the snapshot's name."""
        reviewer = self.people.reviewer
        out = self.toolvet("capture", name, "-n", self.namespace, as_user=reviewer).stdout
        snapshot = out.strip().rpartition("/")[2]
        self.toolvet("approve", snapshot, "-n", self.namespace, as_user=reviewer)
        return snapshot

    def get(self, kind: str, name: str) -> dict[str, Any]:
        out = self.kubectl("get", kind, name, "--output", "json", as_user=self.bed.kubeconfig()).stdout
        found: dict[str, Any] = json.loads(out)
        return found

    def events(self, kind: str, *, warning: bool = True) -> list[dict[str, Any]]:
        out = self.kubectl("get", "events", "--output", "json", as_user=self.bed.kubeconfig()).stdout
        wanted = "Warning" if warning else "Normal"
        return [
            item
            for item in json.loads(out)["items"]
            if item["type"] == wanted and item["involvedObject"]["kind"] == kind
        ]


@contextmanager
def gathered(product: Installation, mode: str | None = "enforce") -> Iterator[Team]:
    """A namespace with its people, governed in a mode."""
    with product.bed.namespace(prefix="team-") as namespace:
        team = Team(product, namespace, invite(product.bed, product.chart.fullname, namespace))
        if mode is not None:
            team.toolvet("namespace", mode, namespace, as_user=team.people.engineer)
        yield team

"""Agents for the tests: ``agent_program`` in Pods that pass the restricted Pod Security Standard."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.commands import run
from controlplane.people import People, invite
from node.release import RESTRICTED, Release
from story.team import AGENT, Team

PROGRAM = Path(__file__).with_name("agent_program.py")
ROLLOUT_SECONDS = 120
_CODE = "agent-code"
# The pipeline's statement of what runs the tools; here of two builds that nobody made.
_IMPLEMENTATIONS = {1: "sha256:" + "1" * 64, 2: "sha256:" + "2" * 64}


def deployment(
    image: str, release: int = 1, replicas: int = 1, name: str = AGENT, account: str = AGENT
) -> dict[str, Any]:
    """Build the agent's Deployment."""
    container = {
        "name": "agent",
        "image": image,
        "command": ["python", "-B", "/agent/agent_program.py"],
        "env": [{"name": "RELEASE", "value": str(release)}],
        "volumeMounts": [{"name": "code", "mountPath": "/agent", "readOnly": True}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    pod = {
        "serviceAccountName": account,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        "volumes": [{"name": "code", "configMap": {"name": _CODE}}],
    }
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


class Crew(Team):
    """A team whose agents really run."""

    def __init__(self, release: Release, namespace: str, people: People) -> None:
        super().__init__(release, namespace, people)  # type: ignore[arg-type]  # a bed and the chart's name
        self.image = release.image
        code = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _CODE},
            "data": {PROGRAM.name: PROGRAM.read_text()},
        }
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": AGENT}}
        for needed in (code, account):
            self.apply(needed)

    def publish_agent(self, release: int = 1) -> None:
        """Publish the tools of the agent's own registry, as its pipeline would."""
        environment = self.bed.command_environment(self.people.producer)
        command = [
            *(Path(sys.executable).parent / "toolvet", "publish", "agent_program:registry"),
            *("--name", AGENT, "--namespace", self.namespace, "--id-namespace", "org.example"),
            *("--capability", "capability:org.example/notes"),
            *("--implementation-id", _IMPLEMENTATIONS[release]),
        ]
        path = os.pathsep.join([str(PROGRAM.parent), environment.get("PYTHONPATH", "")])
        run(command, {**environment, "PYTHONPATH": path, "RELEASE": str(release)})

    def deploy(self, release: int = 1, replicas: int = 1) -> None:
        """Apply the agent's Deployment, which must be admitted, and wait until its Pods are ready."""
        self.apply(deployment(self.image, release, replicas))
        self.rolled_out()

    def rolled_out(self, name: str = AGENT) -> None:
        """Wait for the end of a rollout."""
        wait = ("rollout", "status", f"deployment/{name}", f"--timeout={ROLLOUT_SECONDS}s")
        self.kubectl(*wait, as_user=self.people.developer)

    def pods(self, name: str = AGENT) -> list[Mapping[str, Any]]:
        """Return the agent's Pods that nobody is ending."""
        listed = self.kubectl(
            *("get", "pods", "--selector", f"app={name}", "--output", "json"), as_user=self.people.developer
        )
        return [
            pod for pod in json.loads(listed.stdout)["items"] if "deletionTimestamp" not in pod["metadata"]
        ]

    def ready_pods(self, name: str = AGENT) -> set[str]:
        """Return the uids of the agent's Pods that are ready."""
        return {pod["metadata"]["uid"] for pod in self.pods(name) if is_ready(pod)}


@contextmanager
def gathered_crew(release: Release) -> Iterator[Crew]:
    """A namespace that takes restricted Pods only, enforced, with its people."""
    with release.bed.namespace("team-", RESTRICTED) as namespace:
        crew = Crew(release, namespace, invite(release.bed, release.chart.fullname, namespace))
        crew.toolvet("namespace", "enforce", namespace, as_user=crew.people.engineer)
        yield crew


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Tell whether a Pod is Ready."""
    conditions = pod["status"].get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

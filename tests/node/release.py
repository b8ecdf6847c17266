"""The chart on a node, by ``helm install --wait``, with our image in real Pods."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.chart import CHART
from node.bed import Node

NAMESPACE = "toolvet-system"
NAME = "toolvet"
WAIT_SECONDS = 180
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
COMPONENTS = ("webhook", "controller")


@dataclass(frozen=True)
class Chart:
    """How the objects of a release are named."""

    namespace: str
    fullname: str


@dataclass(frozen=True)
class Release:
    """An installed chart whose Pods run ``image``. ``seconds`` is how long helm took."""

    bed: Node
    image: str
    chart: Chart
    seconds: float

    def pods(self, component: str) -> list[dict[str, Any]]:
        """Return the Pods of ``webhook`` or ``controller`` that nobody is ending."""
        selector = f"app.kubernetes.io%2Fcomponent%3D{component}"
        listed = self.bed.api("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selector}")
        return [pod for pod in listed["items"] if "deletionTimestamp" not in pod["metadata"]]

    def kubectl(self, *arguments: str, check: bool = True, seconds: float = WAIT_SECONDS) -> str:
        """Run kubectl as admin in the release's namespace; return what it printed."""
        return self.bed.kubectl("--namespace", NAMESPACE, *arguments, check=check, seconds=seconds).stdout

    def rolled_out(self, component: str) -> None:
        """Wait for the end of a rollout."""
        wait = ("rollout", "status", f"deployment/{NAME}-{component}", f"--timeout={WAIT_SECONDS}s")
        self.kubectl(*wait, seconds=WAIT_SECONDS + 10)


def install(bed: Node, image: str, values: Mapping[str, Any] | None = None) -> Release:
    """Install the release or upgrade it, into a namespace that takes restricted Pods only.

    Returns when helm says that everything is ready. Errors: CommandError.
    """
    repository, _, tag = image.rpartition(":")
    settings = {"image": {"repository": repository, "tag": tag, "pullPolicy": "Never"}, **(values or {})}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": RESTRICTED},
    }
    bed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(namespace))
    begun = time.monotonic()
    bed.helm(
        *("upgrade", "--install", NAME, CHART, "--namespace", NAMESPACE, "--values", "-"),
        *("--wait", "--timeout", f"{WAIT_SECONDS}s"),
        input=json.dumps(settings),
        seconds=WAIT_SECONDS + 30,
    )
    return Release(bed, image, Chart(NAMESPACE, NAME), time.monotonic() - begun)


def is_installed(bed: Node) -> bool:
    """Tell whether helm knows of the release."""
    listed = json.loads(bed.helm("list", "--namespace", NAMESPACE, "--output", "json").stdout)
    return any(release["name"] == NAME for release in listed)

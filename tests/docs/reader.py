"""A reader who types the commands of a page, and what the test bed does in the place of a node."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from controlplane.bed import ControlPlane
from controlplane.chart import install_chart
from controlplane.installation import Installation
from controlplane.waiting import wait_until
from docs.transcript import Step

ROOT = Path(__file__).resolve().parents[2]
COMMAND_SECONDS = 180.0
LOOK_AGAIN_SECONDS = 15.0  # for a status: the controller promises 5 s on a machine that is not busy
_RELEASE = "toolvet"
_HELM = re.compile(rf"helm (install|upgrade|uninstall) {_RELEASE} ")
_SCALE = re.compile(rf"kubectl scale deployment/{_RELEASE}-controller .*--replicas=(0|1)$")


class Node:
    """Runs the two processes while the release is installed: there is no kubelet to do it."""

    def __init__(self, bed: ControlPlane) -> None:
        self._bed = bed
        self._running = ExitStack()
        self._installation: Installation | None = None

    def before(self, command: str) -> None:
        """Give helm its own Service back: the one that leads to this machine is the bed's."""
        if self._installation is not None and _HELM.match(command):
            name = f"{self._installation.chart.fullname}-webhook"
            self._bed.kubectl("delete", "service", name, "--namespace", self._installation.namespace)

    def after(self, command: str) -> None:
        """Start or stop what the release has, as its Deployments came, went or were scaled."""
        if (scaled := _SCALE.match(command)) is not None and self._installation is not None:
            self._scale(self._installation, int(scaled[1]))
        found = _HELM.match(command)
        if found is None:
            return
        if found[1] == "uninstall":
            self.stop()
        elif self._installation is None:
            self.start()
        else:
            install_chart(self._bed, gate_port=self._installation.gate_port)

    def start(self) -> None:
        """Run the processes, and install what is not installed yet."""
        self._installation = self._running.enter_context(Installation(self._bed))

    @staticmethod
    def _scale(installation: Installation, replicas: int) -> None:
        if replicas:
            installation.start_controller()
        while not replicas and installation.controllers:
            installation.controllers.pop().stop()

    def stop(self) -> None:
        """End the processes."""
        self._installation = None
        self._running.close()


class Reader:
    """Runs commands in a folder that looks like the repository, as the administrator of a cluster."""

    def __init__(self, bed: ControlPlane, folder: Path, node: Node | None) -> None:
        self._node = node
        self._folder = folder
        ours = str(Path(sys.executable).parent)  # toolvet, kubectl-toolvet, python3
        environment = bed.command_environment()
        self._environment = {**environment, "PATH": f"{ours}{os.pathsep}{environment['PATH']}"}
        self._environment |= {"COLUMNS": "200", "NO_COLOR": "1"}
        for path in ROOT.iterdir():
            if path.name != ".git":
                (folder / path.name).symlink_to(path)

    def run(self, step: Step) -> None:
        """Run one command; AssertionError where it does not do what the page says."""
        if self._node is not None:
            self._node.before(step.command)
        done = self._execute(step)
        if done is not None:
            code, output = done
            shown = "\n".join(f"    {line}" for line in output.splitlines())
            text = f"line {step.line}: $ {step.command}\nended with {code} and printed\n{shown}"
            raise AssertionError(text)
        if self._node is not None:
            self._node.after(step.command)

    def _execute(self, step: Step) -> tuple[int, str] | None:
        """Run it, a look at a status again and again; returns what was wrong at last."""
        last: list[tuple[int, str]] = []

        def right() -> bool:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", step.command],
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
            last[:] = [(done.returncode, done.stdout)]
            return (done.returncode != 0) == step.refused and step.matches(done.stdout)

        seconds = LOOK_AGAIN_SECONDS if step.command.startswith("kubectl get ") else 0.0
        try:
            wait_until(right, seconds, "not as the page says")
        except TimeoutError:
            return last[0]
        return None


def handles_the_release(steps: list[Step]) -> bool:
    """Tell whether a page installs or changes the release, and so needs a cluster of its own."""
    return any(_HELM.match(step.command) for step in steps)


@contextmanager
def on_a_cluster_of_its_own(steps: list[Step], folder: Path) -> Iterator[Reader]:
    """A cluster for one page: empty where the page installs the release."""
    with ControlPlane() as bed, ExitStack() as stack:
        node = Node(bed)
        stack.callback(node.stop)
        if not any(step.command.startswith(f"helm install {_RELEASE} ") for step in steps):
            node.start()
        yield Reader(bed, folder, node)


@contextmanager
def on_the_product(product: Installation, folder: Path) -> Iterator[Reader]:
    """The session's cluster; what a page made there is gone before the next page."""
    bed = product.bed
    before = _namespaces(bed)
    try:
        yield Reader(bed, folder, None)
    finally:
        bed.kubectl("delete", "catalogpolicy", "default", "--ignore-not-found")
        if fresh := sorted(_namespaces(bed) - before):
            bed.kubectl("delete", *fresh, "--wait=true")


def _namespaces(bed: ControlPlane) -> set[str]:
    return set(bed.kubectl("get", "namespaces", "--output", "name").stdout.split())

"""Use a real node: ``with Node() as bed: bed.kubectl("get", "nodes")``.

The control plane of ``controlplane.bed`` with kube-scheduler, kubelet, containerd, kube-proxy and CoreDNS,
all in network, mount and pid namespaces of their own. ``bed.server`` and every kubeconfig lead there from
outside (``doorway``). Nothing leads out: images come from archives. Needs Linux and root.
"""

import json
import os
import shutil
import socket
from pathlib import Path

from controlplane import daemons as shared
from controlplane.bed import ControlPlane
from controlplane.build import programs
from controlplane.processes import Supervisor
from node import cgroups, daemons
from node.archive import one_file_image
from node.cluster_services import DNS_USER, PROXY_USER, cluster_services
from node.configuration import DNS_READY_PORT, PAUSE_IMAGE, PROXY_READY_PORT, write_configuration
from node.daemons import NODE_NAME
from node.packages import PATH, install_packages, require_linux_root

NODE_SECONDS = 120.0
COMMAND_SECONDS = 300.0
_KEEPER = Path(__file__).with_name("keeper.py")


class NodeError(RuntimeError):
    """A command inside of the node failed; the text holds what it wrote."""


class Node(ControlPlane):
    """A control plane with one node. Errors on start: as ControlPlane, and PackageError."""

    _path = PATH

    def __init__(self, *, audit: bool = False) -> None:
        super().__init__(audit=audit, scheduler=True)
        self._commands = 0

    def start(self) -> None:
        """Return once the node is Ready, Services are led to Pods and names of the cluster resolve."""
        require_linux_root()
        install_packages()
        self._programs = programs()
        cgroups.sweep()
        super().start()

    def inside(self, *command: str | Path, seconds: float = COMMAND_SECONDS) -> str:
        """Run a command in the node's namespaces as root; return what it wrote. Errors: NodeError."""
        self._commands += 1
        found = shutil.which(str(command[0]), path=PATH)
        if not found:
            raise NodeError(f"{command[0]} is not here")
        name = f"command-{self._commands}"
        process = self._running.start(name, [found, *command[1:]], {"PATH": PATH})
        code = process.wait(seconds)
        told = process.log.read_text(errors="replace")
        process.log.unlink()
        if code:
            raise NodeError(f"{' '.join(map(str, command))}: exit code {code}\n{told.strip()}")
        return told

    def load_image(self, archive: Path) -> None:
        """Bring an image (an archive of ``docker save`` or OCI) to the node. Errors: NodeError."""
        self.inside("ctr", "--namespace", "k8s.io", "images", "import", archive.absolute())

    def _supervise(self, directory: Path) -> Supervisor:
        # Made here, so that the port is known, and nobody else's, before anything is started.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._doorway: int = listener.getsockname()[1]
            number = listener.fileno()
            return Supervisor(directory, _KEEPER, [str(number)], [number])

    def _choose_port(self) -> int:
        return self._doorway

    def _api_server_arguments(self, program: Path) -> list[str | Path]:
        arguments = shared.kube_apiserver(program, self._layout, self.port, audit=self._audit)
        return daemons.kube_apiserver(arguments, self._layout)

    def _write_pki(self) -> None:
        super()._write_pki()
        pair = self.authority.issue("kubelet", dns=[NODE_NAME], addresses=[daemons.ADDRESS])
        self._layout.pki("kubelet.crt").write_bytes(pair.certificate)
        self._layout.pki("kubelet.key").write_bytes(pair.key)

    def _start(self) -> None:
        super()._start()
        layout, found = self._layout, self._programs
        proxy, dns = self.kubeconfig(PROXY_USER), self.kubeconfig(DNS_USER)
        write_configuration(layout, kube_proxy=proxy, coredns=dns)
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(cluster_services()))
        containerd = Path(shutil.which("containerd", path=PATH) or "containerd")
        self._launch("containerd", daemons.containerd(containerd, layout))
        self._await(self._containerd_answers, NODE_SECONDS, "containerd does not answer")
        pause = layout.directory / "pause.tar"
        self.load_image(one_file_image(found["pause"], PAUSE_IMAGE, os.uname().machine, pause))
        kubelet = self.kubeconfig(f"system:node:{NODE_NAME}", ["system:nodes"])
        self._launch("kubelet", daemons.kubelet(found["kubelet"], layout, kubelet))
        self._launch("kube-proxy", daemons.kube_proxy(found["kube-proxy"], layout))
        self._launch("coredns", daemons.coredns(found["coredns"], layout))
        self._await(self._node_is_ready, NODE_SECONDS, "the node is not Ready")
        for port, path in ((PROXY_READY_PORT, "healthz"), (DNS_READY_PORT, "ready")):
            led = f"/api/v1/nodes/http:{NODE_NAME}:{port}/proxy/{path}"
            self._await(lambda led=led: self._exists(led), NODE_SECONDS, f"port {port} is not ready")

    def _containerd_answers(self) -> bool:
        try:
            self.inside("ctr", "version")
        except NodeError:
            return False
        return True

    def _node_is_ready(self) -> bool:
        if not self._exists(f"/api/v1/nodes/{NODE_NAME}"):
            return False
        conditions = self.api("GET", f"/api/v1/nodes/{NODE_NAME}")["status"].get("conditions", [])
        return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

"""The command lines of a node's daemons, and those of the control plane that differ where there is a node."""

from pathlib import Path

from controlplane.daemons import Layout
from node.inside import ADDRESS, KUBELET_ROOT

NODE_NAME = "node1"
API_SERVICE_ADDRESS = "10.96.0.1"


def kube_apiserver(shared: list[str | Path], layout: Layout) -> list[str | Path]:
    """Return the control plane's arguments, for Pods to reach it and for it to reach the kubelet."""
    pki = layout.pki
    ours = [
        "--bind-address=0.0.0.0",
        f"--advertise-address={ADDRESS}",
        "--endpoint-reconciler-type=lease",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--kubelet-client-certificate={pki('admin.crt')}",
        f"--kubelet-client-key={pki('admin.key')}",
        f"--kubelet-certificate-authority={pki('ca.crt')}",
        "--kubelet-preferred-address-types=InternalIP",
    ]
    flags = {argument.partition("=")[0] for argument in ours}
    # A list given twice is both lists together.
    return [*(argument for argument in shared if str(argument).partition("=")[0] not in flags), *ours]


def containerd(program: Path, layout: Layout) -> list[str | Path]:
    """Return containerd's command line; its socket is where every client looks for it."""
    return [program, "--config", layout.directory / "containerd.toml"]


def kubelet(program: Path, layout: Layout, kubeconfig: Path) -> list[str | Path]:
    """Return the kubelet's command line."""
    return [
        program,
        f"--config={layout.directory / 'kubelet.json'}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={KUBELET_ROOT}",
        f"--cert-dir={layout.pki('')}",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={ADDRESS}",
    ]


def kube_proxy(program: Path, layout: Layout) -> list[str | Path]:
    """Return kube-proxy's command line."""
    return [program, f"--config={layout.directory / 'kube-proxy.json'}"]


def coredns(program: Path, layout: Layout) -> list[str | Path]:
    """Return the command line of the cluster's DNS; a process of the node, behind the Service kube-dns."""
    return [program, "-conf", layout.directory / "Corefile"]

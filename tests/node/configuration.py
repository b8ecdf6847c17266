"""The configuration files of a node's daemons."""

import json
from pathlib import Path

from controlplane.daemons import Layout
from node.daemons import NODE_NAME
from node.inside import ADDRESS
from node.packages import CNI_PLUGINS

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"  # /run is the node's own
POD_RANGE = "10.244.0.0/24"
DNS_SERVICE_ADDRESS = "10.96.0.10"
DNS_READY_PORT = 8181
PROXY_READY_PORT = 10256  # kube-proxy's default
CLUSTER_DOMAIN = "cluster.local"
PAUSE_IMAGE = "localhost/pause:1"


def write_configuration(layout: Layout, *, kube_proxy: Path, coredns: Path) -> None:
    """Write every file; the two arguments are kubeconfigs."""
    directory = layout.directory
    (directory / "cni").mkdir()
    (directory / "cni" / "10-pods.conflist").write_text(json.dumps(_pod_network(directory)))
    (directory / "containerd.toml").write_text(_containerd(directory))
    (directory / "kubelet.json").write_text(json.dumps(_kubelet(layout)))
    (directory / "resolv.conf").write_text("")  # Pods outside of the cluster's DNS have none
    (directory / "kube-proxy.json").write_text(json.dumps(_kube_proxy(kube_proxy)))
    (directory / "Corefile").write_text(_corefile(coredns))


def _pod_network(directory: Path) -> object:
    """A veth for each Pod, routed by the node: ``bridge`` would need a kernel module for Services."""
    ranges = [[{"subnet": POD_RANGE}]]
    addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    addresses["dataDir"] = str(directory / "addresses")
    plugin = {"type": "ptp", "ipMasq": False, "mtu": 1500, "ipam": addresses}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [plugin]}


def _containerd(directory: Path) -> str:
    return f"""
version = 2
root = "{directory}/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{directory}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true  # lower scores need a capability that a container of CI lacks
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def _kubelet(layout: Layout) -> object:
    directory = layout.directory
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,  # a machine may still mount version 1
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{directory.name}",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(layout.pki("ca.crt"))},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.pki("kubelet.crt")),
        "tlsPrivateKeyFile": str(layout.pki("kubelet.key")),
        "failSwapOn": False,
        "oomScoreAdj": 0,  # as for containerd
        "enforceNodeAllocatable": ["pods"],
        # The machine's disk is not the node's to keep free.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "clusterDNS": [DNS_SERVICE_ADDRESS],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": str(directory / "resolv.conf"),
        "podLogsDir": str(directory / "pod-logs"),
        "volumePluginDir": str(directory / "volume-plugins"),
        "nodeStatusUpdateFrequency": "4s",
        "syncFrequency": "10s",
    }


def _kube_proxy(kubeconfig: Path) -> object:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": POD_RANGE,
        "hostnameOverride": NODE_NAME,
        "nftables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
        "oomScoreAdj": 0,
        "nodePortAddresses": ["primary"],
        # Zeros leave the kernel's settings alone: they are the whole machine's.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _corefile(kubeconfig: Path) -> str:
    return f"""
.:53 {{
    bind {ADDRESS}
    errors
    ready {ADDRESS}:{DNS_READY_PORT}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
    }}
}}
"""

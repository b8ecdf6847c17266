"""The command lines of the control plane's daemons."""

import json
from dataclasses import dataclass
from pathlib import Path

SERVICE_RANGE = "10.96.0.0/16"
# One line a finished request, with user and verb but without bodies.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True)
class Layout:
    """Where the files of one control plane are; the directory is the bed's."""

    directory: Path

    @property
    def etcd_socket(self) -> str:
        """A socket in a private directory: no port to lose, no stranger on it.

        Relative to the directory the daemons run in, because a socket's path ends at 108 bytes (unix(7)).
        """
        return "unix://etcd.sock"

    @property
    def audit_log(self) -> Path:
        """JSON lines of the API server's audit log."""
        return self.directory / "audit.log"

    def pki(self, name: str) -> Path:
        """Return the path of a certificate or key."""
        return self.directory / "pki" / name


def etcd(program: Path, layout: Layout) -> list[str | Path]:
    """Return etcd's command line: one member, no fsync because nothing outlives the bed."""
    peer = "unix://peer.sock"
    return [
        program,
        f"--data-dir={layout.directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={layout.etcd_socket}",
        f"--advertise-client-urls={layout.etcd_socket}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=warn",
    ]


def kube_apiserver(program: Path, layout: Layout, port: int, *, audit: bool) -> list[str | Path]:
    """Return the API server's command line, as kubeadm would set it up where nothing speaks against it."""
    arguments: list[str | Path] = [
        program,
        f"--etcd-servers={layout.etcd_socket}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--advertise-address=127.0.0.1",
        # An Endpoints object must not hold a loopback address, and nothing here needs it.
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={layout.pki('apiserver.crt')}",
        f"--tls-private-key-file={layout.pki('apiserver.key')}",
        f"--client-ca-file={layout.pki('ca.crt')}",
        f"--service-account-key-file={layout.pki('service-account.key')}",
        f"--service-account-signing-key-file={layout.pki('service-account.key')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=RBAC",
        "--profiling=false",
    ]
    if audit:
        policy = layout.directory / "audit-policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY))
        arguments += [f"--audit-policy-file={policy}", f"--audit-log-path={layout.audit_log}"]
    return arguments


def kube_controller_manager(program: Path, layout: Layout, kubeconfig: Path) -> list[str | Path]:
    """Return the controller manager's command line: controllers act under their own service accounts."""
    return [
        program,
        f"--kubeconfig={kubeconfig}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={layout.pki('service-account.key')}",
        f"--root-ca-file={layout.pki('ca.crt')}",
        f"--cluster-signing-cert-file={layout.pki('ca.crt')}",
        f"--cluster-signing-key-file={layout.pki('ca.key')}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--leader-elect=false",  # there is one; a Lease would be noise in every audit
        "--secure-port=0",  # serves nothing: one port fewer to lose
        # The default of 20 a second makes tests with many objects wait.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]


def kube_scheduler(program: Path, kubeconfig: Path) -> list[str | Path]:
    """Return the scheduler's command line."""
    return [program, f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]

"""Use a real control plane: ``with ControlPlane() as bed: bed.kubectl("get", "namespaces")``.

etcd, kube-apiserver and kube-controller-manager (kube-scheduler on request) on loopback, no node. RBAC,
all default admission, service account tokens and garbage collection are real; Pods never run. All state
is in one temporary directory. Nothing stays behind, whatever ends this process (see ``supervisor``).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.api import ApiError
from controlplane.commands import Completed, run
from controlplane.lifecycle import ControlPlaneError, Lifecycle
from controlplane.processes import Process
from controlplane.projection import project, secret_files

__all__ = ["ControlPlane", "ControlPlaneError"]

TOKEN_SECONDS = 3600
ACCOUNT_SECONDS = 10.0
COMMAND_SECONDS = 120.0


class ControlPlane(Lifecycle):
    """One control plane. Use it as a context manager, or call ``start`` and ``stop``.

    ``audit`` writes an audit log (Metadata, every request); ``scheduler`` runs kube-scheduler too;
    ``names`` are programs as ``build.programs`` returns them, made on ``start`` if None.
    """

    def token(self, namespace: str, name: str, *, seconds: int = TOKEN_SECONDS) -> str:
        """Return a token of a service account (TokenRequest), valid for ``seconds`` (600 at least).

        Waits for an account that is about to be made, as a namespace's ``default`` is.
        Errors: TimeoutError if it is not there after ACCOUNT_SECONDS.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
        self._await(lambda: self._exists(path), ACCOUNT_SECONDS, f"no service account {namespace}/{name}")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        token: str = self.api("POST", f"{path}/token", body)["status"]["token"]
        return token

    def service_account(
        self, namespace: str, name: str, directory: Path | None = None, *, seconds: int = TOKEN_SECONDS
    ) -> Path:
        """Return a directory like a Pod's ``/var/run/secrets/kubernetes.io/serviceaccount``.

        It holds ``token``, ``ca.crt`` and ``namespace``. Calling it again renews the token in place, as a
        kubelet does; do so before ``seconds`` are over.
        """
        target = directory or self.directory / "service-accounts" / namespace / name
        files = {
            "token": self.token(namespace, name, seconds=seconds).encode(),
            "ca.crt": self.authority.certificate,
            "namespace": namespace.encode(),
        }
        return project(target, files)

    def service_account_kubeconfig(self, namespace: str, name: str, *, seconds: int = TOKEN_SECONDS) -> Path:
        """Return a kubeconfig file with a fresh token of the service account."""
        path = self.directory / f"account-{namespace}-{name}.kubeconfig"
        return self._write_kubeconfig(path, token=self.token(namespace, name, seconds=seconds))

    def environment(self) -> dict[str, str]:
        """Return the two variables by which any in-cluster client finds the API server."""
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}

    def command_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Return this process's environment for a user's commands: the bed's programs first in PATH.

        KUBECONFIG is ``kubeconfig`` (default admin's); caches and settings of the real user are not touched.
        """
        home = self.directory / "home"
        return os.environ | {
            "PATH": f"{self.program('kubectl').parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "KUBECONFIG": str(kubeconfig or self.kubeconfig()),
            "KUBECACHEDIR": str(home / "kube"),
            "KUBECTL_KUBERC": "false",
            "HELM_CACHE_HOME": str(home / "helm-cache"),
            "HELM_CONFIG_HOME": str(home / "helm-config"),
            "HELM_DATA_HOME": str(home / "helm-data"),
        }

    def kubectl(
        self,
        *arguments: str | Path,
        input: str | None = None,  # noqa: A002 - the name subprocess.run uses
        kubeconfig: Path | None = None,
        check: bool = True,
        seconds: float = COMMAND_SECONDS,
    ) -> Completed:
        """Run the bed's kubectl, as admin by default; plugins on PATH work.

        Errors: CommandError (a CalledProcessError that shows stderr) for an exit code but 0 if ``check``.
        """
        command = [self.program("kubectl"), *arguments]
        return run(command, self.command_environment(kubeconfig), text=input, check=check, seconds=seconds)

    def helm(
        self,
        *arguments: str | Path,
        input: str | None = None,  # noqa: A002 - the name subprocess.run uses
        kubeconfig: Path | None = None,
        check: bool = True,
        seconds: float = COMMAND_SECONDS,
        program: str = "helm",
    ) -> Completed:
        """Run the bed's helm, as admin by default; ``program`` "helm3" is Helm 3. Errors: as ``kubectl``."""
        command = [self.program(program), *arguments]
        return run(command, self.command_environment(kubeconfig), text=input, check=check, seconds=seconds)

    def api(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Call the API server as admin: ``bed.api("GET", "/api/v1/namespaces/x")``; PATCH is a merge patch.

        Errors: ApiError; OSError if there is no answer.
        """
        return self._client.call(method, path, body)

    def start_process(
        self,
        name: str,
        arguments: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Process:
        """Start a process under test that ends with the bed at the latest; ``name`` names its log.

        ``environment`` replaces the inherited one. Its log is ``process.log`` (stdout and stderr).
        """
        return self._running.start(name, arguments, environment, directory)

    def project_secret(self, namespace: str, name: str, directory: Path) -> Path:
        """Write a Secret's data into ``directory`` as a kubelet would, swapped at once. Errors: ApiError."""
        return project(
            directory, secret_files(self.api("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}"))
        )

    def serve_locally(self, namespace: str, service: str) -> None:
        """Point a Service at this machine: admission webhooks behind it are then called on localhost.

        It becomes ``type: ExternalName, externalName: localhost``; the port is the one the webhook
        configuration's clientConfig.service names, so the process under test listens there. Errors: ApiError.
        """
        spec = {"type": "ExternalName", "externalName": "localhost", "clusterIP": None, "clusterIPs": None}
        self.api("PATCH", f"/api/v1/namespaces/{namespace}/services/{service}", {"spec": spec})

    def create_namespace(self, prefix: str = "test-", labels: Mapping[str, str] | None = None) -> str:
        """Return the name of a new namespace whose ``default`` service account is there."""
        metadata = {"generateName": prefix, "labels": dict(labels or {})}
        created = self.api("POST", "/api/v1/namespaces", {"metadata": metadata})
        name: str = created["metadata"]["name"]
        path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        self._await(lambda: self._exists(path), ACCOUNT_SECONDS, f"no default service account in {name}")
        return name

    def delete_namespace(self, name: str) -> None:
        """Ask for the deletion and do not wait: the namespace controller takes its 5 s."""
        try:
            self.api("DELETE", f"/api/v1/namespaces/{name}")
        except ApiError as error:
            if error.status != 404:  # a test may have deleted it itself
                raise

    @contextmanager
    def namespace(self, prefix: str = "test-", labels: Mapping[str, str] | None = None) -> Iterator[str]:
        """Give a new namespace and delete it at the end without waiting."""
        name = self.create_namespace(prefix, labels)
        try:
            yield name
        finally:
            self.delete_namespace(name)

"""Start and end a real control plane: ``with ControlPlane() as bed: bed.kubectl("get", "namespaces")``.

etcd, kube-apiserver and kube-controller-manager (kube-scheduler on request) on loopback, no node. RBAC,
all default admission, service account tokens and garbage collection are real; Pods never run. All state
is in one temporary directory. Nothing stays behind, whatever ends this process (see ``supervisor``).
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controlplane import daemons
from controlplane.api import ApiClient, ApiError
from controlplane.build import programs
from controlplane.certificates import CertificateAuthority, KeyPair, new_private_key_pem
from controlplane.commands import Completed, run
from controlplane.daemons import Layout
from controlplane.kubeconfig import write_kubeconfig
from controlplane.ports import free_port
from controlplane.processes import Process, Supervisor
from controlplane.projection import project, secret_files
from controlplane.state import create_directory, sweep
from controlplane.waiting import wait_until

ADMIN = "admin"
ADMIN_GROUP = "system:masters"
START_SECONDS = 60.0  # a loaded machine may be slow; an idle one needs 3 to 5
PORT_ATTEMPTS = 4
TOKEN_SECONDS = 3600
ACCOUNT_SECONDS = 10.0
READ_SECONDS = 3.0  # while waiting: whoever took our port may never answer
COMMAND_SECONDS = 120.0
_IN_USE = re.compile("address already in use")


class ControlPlaneError(RuntimeError):
    """The control plane did not start, was not started, or one of its processes ended."""


class ControlPlane:
    """One control plane. Use it as a context manager, or call ``start`` and ``stop``.

    ``audit`` writes an audit log (Metadata, every request); ``scheduler`` runs kube-scheduler too;
    ``names`` are programs as ``build.programs`` returns them, made on ``start`` if None.
    """

    def __init__(
        self, *, audit: bool = False, scheduler: bool = False, names: Mapping[str, Path] | None = None
    ) -> None:
        self._audit = audit
        self._scheduler = scheduler
        self._programs: Mapping[str, Path] = names or {}
        self._supervisor: Supervisor | None = None
        self._api: ApiClient | None = None
        self._daemons: dict[str, Process] = {}
        self._kubeconfigs: dict[tuple[str, tuple[str, ...]], Path] = {}
        self.port = 0
        self.start_seconds = 0.0  # how long ``start`` took, without a build

    # -- life ---------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return once /readyz is ok, RBAC is bootstrapped and ``default/default`` exists.

        Errors: BuildError; ControlPlaneError naming the process, with the end of its log.
        """
        if self._supervisor is not None:
            raise ControlPlaneError("a control plane starts once; make another")
        self._programs = self._programs or programs()
        wanted = ("kube-controller-manager", *(("kube-scheduler",) if self._scheduler else ()))
        for name in wanted:
            if name not in self._programs:
                raise ControlPlaneError(f"{name} is missing")
        started = time.monotonic()
        sweep()
        self._supervisor = Supervisor(create_directory())
        try:
            self._start()
        except TimeoutError as error:
            tails = "\n".join(f"{name}:\n{daemon.tail()}" for name, daemon in self._daemons.items())
            self.stop()
            raise ControlPlaneError(f"{error}\n{tails}") from error
        except BaseException:  # also Ctrl-C during the start
            self.stop()
            raise
        self.start_seconds = time.monotonic() - started

    def stop(self) -> None:
        """Kill everything and remove the directory; harmless the second time."""
        if self._supervisor is not None:
            self._supervisor.close()

    def _start(self) -> None:
        layout = self._layout
        self.authority = CertificateAuthority("toolvet-controlplane", datetime.now(UTC))
        self._write_pki()
        self._launch("etcd", daemons.etcd(self._programs["etcd"], layout))
        self._start_api_server()
        controller = self.kubeconfig("system:kube-controller-manager")
        program = self._programs["kube-controller-manager"]
        self._launch(program.name, daemons.kube_controller_manager(program, layout, controller))
        if self._scheduler:
            program = self._programs["kube-scheduler"]
            scheduler = self.kubeconfig("system:kube-scheduler")
            self._launch(program.name, daemons.kube_scheduler(program, scheduler))
        self._await(
            lambda: self._exists("/api/v1/namespaces/default/serviceaccounts/default"),
            START_SECONDS,
            "kube-controller-manager made no service account",
        )

    def _write_pki(self) -> None:
        layout = self._layout
        layout.pki("").mkdir()
        serving = self.authority.issue(
            "kube-apiserver",
            dns=["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
            addresses=["127.0.0.1", "10.96.0.1"],
        )
        admin = self.authority.issue(ADMIN, organizations=[ADMIN_GROUP])
        for name, pair in (("ca", self.authority.pair), ("apiserver", serving), ("admin", admin)):
            layout.pki(f"{name}.crt").write_bytes(pair.certificate)
            layout.pki(f"{name}.key").write_bytes(pair.key)
        layout.pki("service-account.key").write_bytes(new_private_key_pem())

    def _start_api_server(self) -> None:
        program = self._programs["kube-apiserver"]
        pki = self._layout.pki
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self.port = free_port()
            arguments = daemons.kube_apiserver(program, self._layout, self.port, audit=self._audit)
            server = self._launch(program.name, arguments)
            self._api = ApiClient(self.port, pki("ca.crt"), pki("admin.crt"), pki("admin.key"))
            try:
                self._await(self._ready, START_SECONDS, "kube-apiserver is not ready")
            except ControlPlaneError:
                # Somebody took the port between the choice and the listening: take another.
                lost = server.poll() is not None and _IN_USE.search(server.tail())
                if not lost or attempt == PORT_ATTEMPTS:
                    raise
            else:
                return

    def _launch(self, name: str, arguments: list[str | Path]) -> Process:
        # A bare environment: proxies and KUBERNETES_* of the caller are none of the daemons' business.
        environment = {"HOME": str(self.directory), "PATH": os.environ.get("PATH", "")}
        self._daemons[name] = self._running.start(name, arguments, environment)
        return self._daemons[name]

    def _await(self, condition: Callable[[], bool], seconds: float, complaint: str) -> None:
        def alive_and_true() -> bool:
            if condition():
                return True
            for name, daemon in self._daemons.items():
                code = daemon.poll()
                if code is not None:
                    raise ControlPlaneError(f"{name} ended with exit code {code}:\n{daemon.tail()}")
            return False

        wait_until(alive_and_true, seconds, complaint)

    def _ready(self) -> bool:
        # /readyz covers etcd, the RBAC and priority bootstrap and every informer of admission.
        return self._exists("/readyz") and self._exists("/api/v1/namespaces/default")

    def _exists(self, path: str) -> bool:
        try:
            self._client.call("GET", path, seconds=READ_SECONDS)
        except (ApiError, OSError):
            return False
        return True

    @property
    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise ControlPlaneError("the control plane was not started")
        return self._supervisor

    @property
    def _client(self) -> ApiClient:
        if self._api is None:
            raise ControlPlaneError("the control plane was not started")
        return self._api

    @property
    def _layout(self) -> Layout:
        return Layout(self.directory)

    # -- where things are ---------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        """The bed's directory: logs (``<name>.log``), keys, kubeconfigs. Gone after ``stop``."""
        return self._running.directory

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """PEM file with the authority of the API server's and the clients' certificates."""
        return self._layout.pki("ca.crt")

    @property
    def audit_log(self) -> Path:
        """Audit log, one JSON event a line. Errors: ControlPlaneError if started without ``audit``."""
        if not self._audit:
            raise ControlPlaneError("start the control plane with audit=True")
        return self._layout.audit_log

    @property
    def processes(self) -> Mapping[str, Process]:
        """The daemons by program name; with their pids, for measuring or stopping one (SIGSTOP)."""
        return dict(self._daemons)

    def program(self, name: str) -> Path:
        """Return the path of one of the bed's programs, for example ``kubectl``."""
        return self._programs[name]

    # -- identities ---------------------------------------------------------------------------------

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] = ()) -> Path:
        """Return a kubeconfig file with a client certificate for ``user`` in ``groups``.

        ``admin`` without groups is in system:masters. The same arguments give the same file.
        """
        if user == ADMIN and not groups:
            groups = (ADMIN_GROUP,)
        identity = (user, tuple(groups))
        if identity not in self._kubeconfigs:
            pair = self.authority.issue(user, organizations=groups)
            path = self.directory / f"user-{len(self._kubeconfigs)}.kubeconfig"
            self._kubeconfigs[identity] = self._write_kubeconfig(path, pair=pair)
        return self._kubeconfigs[identity]

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

    def _write_kubeconfig(self, path: Path, *, pair: KeyPair | None = None, token: str | None = None) -> Path:
        authority = self.authority.certificate
        return write_kubeconfig(path, server=self.server, authority=authority, pair=pair, token=token)

    # -- use ----------------------------------------------------------------------------------------

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
    ) -> Completed:
        """Run the bed's helm, as admin by default. Errors: as ``kubectl``."""
        command = [self.program("helm"), *arguments]
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

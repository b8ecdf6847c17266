"""The life of a control plane: its daemons, keys and directory, from the first process to the last.

``bed.ControlPlane`` adds what tests do with it.
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane import daemons
from controlplane.api import ApiClient, ApiError
from controlplane.build import programs
from controlplane.certificates import CertificateAuthority, KeyPair, new_private_key_pem
from controlplane.daemons import Layout
from controlplane.kubeconfig import write_kubeconfig
from controlplane.ports import free_port
from controlplane.processes import Process, Supervisor
from controlplane.state import create_directory, sweep
from controlplane.waiting import wait_until

ADMIN = "admin"
ADMIN_GROUP = "system:masters"
START_SECONDS = 60.0  # a loaded machine may be slow; an idle one needs 3
PORT_ATTEMPTS = 4
READ_SECONDS = 3.0  # while waiting: whoever took our port may never answer
_IN_USE = re.compile("address already in use")


class ControlPlaneError(RuntimeError):
    """The control plane did not start, was not started, or one of its processes ended."""


class Lifecycle:
    """Starts the daemons, watches them while they start, says where things are, and ends them."""

    _path = os.environ.get("PATH", "")

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
        self._supervisor = self._supervise(create_directory())
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

    def _supervise(self, directory: Path) -> Supervisor:
        return Supervisor(directory)

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
            addresses=["127.0.0.1", "10.96.0.1"],  # the second is the Service kubernetes
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
            self.port = self._choose_port()
            arguments = self._api_server_arguments(program)
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

    def _choose_port(self) -> int:
        return free_port()

    def _api_server_arguments(self, program: Path) -> list[str | Path]:
        return daemons.kube_apiserver(program, self._layout, self.port, audit=self._audit)

    def _launch(self, name: str, arguments: list[str | Path]) -> Process:
        # A bare environment: proxies and KUBERNETES_* of the caller are none of the daemons' business.
        environment = {"HOME": str(self.directory), "PATH": self._path}
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

    def _write_kubeconfig(self, path: Path, *, pair: KeyPair | None = None, token: str | None = None) -> Path:
        authority = self.authority.certificate
        return write_kubeconfig(path, server=self.server, authority=authority, pair=pair, token=token)

"""Credentials of a Pod: the projected service account, read again as the kubelet rotates it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from toolvet.core.errors import ContractError

DEFAULT_DIRECTORY = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ServiceAccount:
    """Token, CA and namespace from a directory, the server's address from the environment."""

    def __init__(
        self, directory: Path = DEFAULT_DIRECTORY, environment: Mapping[str, str] = os.environ
    ) -> None:
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            raise ContractError("environment", "not_in_a_cluster")
        self._directory = directory
        self._token = directory / "token"  # joined once, looked at for every call
        self._server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self._read: tuple[int, str] | None = None
        self._headers_now()

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._server

    @property
    def namespace(self) -> str:
        """The namespace of the Pod."""
        return (self._directory / "namespace").read_text(encoding="utf-8").strip()

    def ssl_context(self) -> ssl.SSLContext | None:
        """Trust the cluster's CA and nothing else."""
        try:
            return ssl.create_default_context(cafile=str(self._directory / "ca.crt"))
        except OSError:
            pass
        raise ContractError("service_account", "unreadable_ca")

    def headers(self) -> Mapping[str, str]:
        """Return the bearer token as it is now."""
        return self._headers_now()

    def _headers_now(self) -> Mapping[str, str]:
        try:
            # The kubelet swaps a symlink: a new file, hence another time stamp.
            changed = self._token.stat().st_mtime_ns
            if self._read is None or self._read[0] != changed:
                self._read = (changed, self._token.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            if self._read is None:
                raise ContractError("service_account", "unreadable_token") from None
        return {"Authorization": f"Bearer {self._read[1] if self._read else ''}"}

"""A user's kubeconfig: which API server, and who we are to it.

The static ways to log in (token, token file, client certificate) are read here, because importing the
``kubernetes`` package costs a second at every start. A login by plugin is left to that package.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolvet.core.errors import ContractError
from toolvet.kube.client import Credentials
from toolvet.kube.incluster import DEFAULT_DIRECTORY, ServiceAccount
from toolvet.kube.manifest import read_document

_DEFAULT_FILE = Path("~/.kube/config")
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials and the namespace a command works in when it is told none."""

    credentials: Credentials
    namespace: str


def load(path: Path | None, context: str | None) -> Login:
    """Log in as kubectl would: the file given, KUBECONFIG, ~/.kube/config, else as a Pod.

    Raises ContractError("kubeconfig", ...) where none of them leads to an API server.
    """
    files = _files(path)
    if not files:
        if (DEFAULT_DIRECTORY / "token").exists():
            account = ServiceAccount()
            return Login(account, account.namespace)
        raise ContractError("kubeconfig", "not_found")
    merged = _merge([(file, _read(file)) for file in files])
    name = context or merged.current
    if name is None or name not in merged.contexts:
        raise ContractError("kubeconfig", "unknown_context" if name else "no_current_context")
    _, chosen = merged.contexts[name]
    cluster = merged.clusters.get(str(chosen.get("cluster")))
    user = merged.users.get(str(chosen.get("user")), (Path(), {}))
    if cluster is None or not isinstance(cluster[1].get("server"), str):
        raise ContractError("kubeconfig", "unknown_cluster")
    if any(key in user[1] for key in _IMPERSONATION):
        # Left out, an approval would carry another name than kubectl would have given it.
        raise ContractError("kubeconfig", "impersonation_not_supported")
    namespace = chosen.get("namespace")
    if "exec" in user[1] or "auth-provider" in user[1]:
        credentials: Credentials = _plugin_login(files, name, cluster)
    else:
        credentials = _Static(cluster, user)
    return Login(credentials, namespace if isinstance(namespace, str) else "default")


def _files(path: Path | None) -> list[Path]:
    if path is not None:
        return [path]
    listed = os.environ.get("KUBECONFIG")
    if listed:
        return [found for text in listed.split(os.pathsep) if text and (found := Path(text)).exists()]
    default = _DEFAULT_FILE.expanduser()
    return [default] if default.exists() else []


def _read(path: Path) -> Mapping[str, Any]:
    data: bytes | None
    try:
        data = path.read_bytes()
    except OSError:
        data = None
    if data is None:
        raise ContractError("kubeconfig", "unreadable_file")
    document = read_document(data, field="kubeconfig")
    if not isinstance(document, Mapping):
        raise ContractError("kubeconfig", "invalid_type")
    return document


_Entry = tuple[Path, Mapping[str, Any]]
"""An entry and the folder its relative paths start from."""


@dataclass(slots=True)
class _Merged:
    current: str | None
    contexts: dict[str, _Entry]
    clusters: dict[str, _Entry]
    users: dict[str, _Entry]


def _merge(documents: list[tuple[Path, Mapping[str, Any]]]) -> _Merged:
    """Merge as kubectl does: the first file to name something wins."""
    merged = _Merged(None, {}, {}, {})
    tables = (("contexts", "context"), ("clusters", "cluster"), ("users", "user"))
    for path, document in documents:
        current = document.get("current-context")
        if merged.current is None and isinstance(current, str) and current:
            merged.current = current
        for plural, singular in tables:
            entries = document.get(plural)
            for entry in entries if isinstance(entries, list) else []:
                found = entry.get(singular) if isinstance(entry, Mapping) else None
                if isinstance(found, Mapping):
                    getattr(merged, plural).setdefault(str(entry.get("name")), (path.parent, found))
    return merged


def _blob(entry: _Entry, key: str) -> bytes | None:
    """Return what ``key-data`` holds or the file ``key`` names; None where neither is set."""
    folder, values = entry
    if (inline := values.get(f"{key}-data")) is not None:
        try:
            return base64.b64decode(inline, validate=True)
        except (binascii.Error, TypeError, ValueError):
            pass
        raise ContractError(f"kubeconfig.{key}-data", "invalid_base64")
    if (named := values.get(key)) is None:
        return None
    try:
        return (folder / str(named)).read_bytes()
    except OSError:
        pass
    raise ContractError(f"kubeconfig.{key}", "unreadable_file")


class _Static:
    """Credentials that stand in the file."""

    def __init__(self, cluster: _Entry, user: _Entry) -> None:
        self._cluster, self._user = cluster, user
        self.server = str(cluster[1]["server"]).rstrip("/")

    def ssl_context(self) -> ssl.SSLContext | None:
        if not self.server.startswith("https://"):
            return None
        return _trust(self._cluster, _blob(self._user, "client-certificate"), _blob(self._user, "client-key"))

    def headers(self) -> Mapping[str, str]:
        folder, user = self._user
        token = user.get("token")
        if (named := user.get("tokenFile")) is not None:  # renewed from outside, so that it goes before
            held = _blob((folder, {"tokenFile": named}), "tokenFile")
            token = held.decode("ascii", "replace").strip() if held is not None else None
        return {"Authorization": f"Bearer {token}"} if isinstance(token, str) else {}


def _trust(cluster: _Entry, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    authority = _blob(cluster, "certificate-authority")
    fault = False
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
        if cluster[1].get("insecure-skip-tls-verify") is True:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None and key is not None:
            _load_pair(context, certificate, key)
    except (ssl.SSLError, ValueError, OSError):
        fault = True
    if fault:
        raise ContractError("kubeconfig", "invalid_certificate")
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate held in memory; ssl takes files only, so they live for a moment."""
    with tempfile.TemporaryDirectory(prefix="toolvet-") as folder:  # mode 0700
        pair = Path(folder, "client.crt"), Path(folder, "client.key")
        pair[0].write_bytes(certificate)
        pair[1].write_bytes(key)
        context.load_cert_chain(*pair)


class _PluginLogin:
    """Credentials that a plugin named in the file gave to the kubernetes package."""

    def __init__(self, configuration: Any, cluster: _Entry) -> None:  # noqa: ANN401  # an untyped package
        self._configuration, self._cluster = configuration, cluster
        self.server = str(cluster[1]["server"]).rstrip("/")

    def ssl_context(self) -> ssl.SSLContext | None:
        if not self.server.startswith("https://"):
            return None
        named = (self._configuration.cert_file, self._configuration.key_file)
        certificate, key = (Path(path).read_bytes() if path else None for path in named)
        return _trust(self._cluster, certificate, key)

    def headers(self) -> Mapping[str, str]:
        token = self._configuration.get_api_key_with_prefix("BearerToken", "authorization")
        return {"Authorization": token} if token else {}


def _plugin_login(files: list[Path], context: str, cluster: _Entry) -> _PluginLogin:
    from kubernetes import client, config  # noqa: PLC0415  # a second to import: only where it is needed

    configuration = client.Configuration()
    failed = False
    try:
        config.load_kube_config(  # type: ignore[no-untyped-call]  # the package has no types
            config_file=os.pathsep.join(str(file) for file in files),
            context=context,
            client_configuration=configuration,
        )
    except (config.ConfigException, OSError, ValueError):
        failed = True
    # The package logs a plugin that failed and goes on as nobody.
    if failed or not (configuration.api_key or configuration.cert_file):
        raise ContractError("kubeconfig", "login_failed")
    return _PluginLogin(configuration, cluster)

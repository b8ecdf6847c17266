"""Kubeconfig documents. Everything is inline, so a file can be copied anywhere. JSON is valid YAML."""

import base64
import json
from pathlib import Path

from controlplane.certificates import KeyPair


def write_kubeconfig(
    path: Path, *, server: str, authority: bytes, pair: KeyPair | None = None, token: str | None = None
) -> Path:
    """Write a kubeconfig for ``server`` with a client certificate or a bearer token; return ``path``."""
    user: dict[str, str] = {}
    if pair is not None:
        user["client-certificate-data"] = _base64(pair.certificate)
        user["client-key-data"] = _base64(pair.key)
    if token is not None:
        user["token"] = token
    cluster = {"server": server, "certificate-authority-data": _base64(authority)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "controlplane", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "controlplane", "context": {"cluster": "controlplane", "user": "user"}}],
        "current-context": "controlplane",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()

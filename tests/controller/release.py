"""The release whose certificates are kept, as an admin of its cluster sees it."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.handshake import handshake
from controlplane.api import ApiError as AdminError
from controlplane.bed import ControlPlane
from toolvet.controller.serving import ServingSettings

RELEASE = "certificates"
FULLNAME = "certificates-toolvet"
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{FULLNAME}"


@dataclass(frozen=True)
class Release:
    """The chart's objects as an admin sees them."""

    bed: ControlPlane
    namespace: str
    settings: ServingSettings

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{FULLNAME}-controller"

    def _secret(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{name}"

    def secret(self, name: str) -> dict[str, Any]:
        return self.bed.api("GET", self._secret(name))

    def data(self, name: str) -> dict[str, bytes]:
        return {key: base64.b64decode(value) for key, value in self.secret(name)["data"].items()}

    def holds_data(self, name: str) -> bool:
        try:
            return bool(self.secret(name).get("data"))
        except AdminError:
            return False

    def write(self, name: str, data: dict[str, bytes | None]) -> None:
        encoded = {
            key: None if value is None else base64.b64encode(value).decode() for key, value in data.items()
        }
        self.bed.api("PATCH", self._secret(name), {"data": encoded})

    def delete(self, name: str) -> None:
        with suppress(AdminError):
            self.bed.api("DELETE", self._secret(name))

    def configuration(self) -> dict[str, Any]:
        return self.bed.api("GET", CONFIGURATION)

    def untrusted_configuration(self) -> dict[str, Any]:
        configuration = self.configuration()
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"].pop("caBundle", None)
        return configuration

    def bundles(self) -> dict[str, bytes]:
        return {
            webhook["name"]: base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for webhook in self.configuration()["webhooks"]
        }

    def bundle(self) -> bytes:
        (trusted,) = set(self.bundles().values())
        return trusted

    def versions(self) -> list[str]:
        objects = [self.secret(self.ca), self.secret(self.tls), self.configuration()]
        return [found["metadata"]["resourceVersion"] for found in objects]

    @property
    def ca(self) -> str:
        return self.settings.ca_secret

    @property
    def tls(self) -> str:
        return self.settings.tls_secret

    def writes(self) -> list[tuple[str, str]]:
        """List what the controller's account wrote so far: verb and name."""
        found = []
        for line in self.bed.audit_log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            written = event["verb"] not in {"get", "list", "watch"}
            if event["user"]["username"] == self.user and written and event["stage"] == "ResponseComplete":
                found.append((event["verb"], event["objectRef"].get("name", "")))
        return found

    def verifies(self, folder: Path, trusted: bytes | None = None) -> bool:
        pair = self.data(self.tls)
        host = f"{self.settings.service}.{self.namespace}.svc"
        version = handshake(folder, (pair["tls.crt"], pair["tls.key"]), trusted or self.bundle(), host)
        return version == "TLSv1.3"

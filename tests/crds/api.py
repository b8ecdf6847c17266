"""Our kinds on the API server: accepted, or refused with a text that tests read."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.api import ApiClient, ApiError
from controlplane.bed import ControlPlane

PLURALS = {
    "ToolInventory": "toolinventories",
    "RunToolCatalogSnapshot": "runtoolcatalogsnapshots",
    "CatalogApproval": "catalogapprovals",
    "CatalogPolicy": "catalogpolicies",
    "MCPSource": "mcpsources",
    "ToolChange": "toolchanges",
    "ToolEnablement": "toolenablements",
    "HeldToolCall": "heldtoolcalls",
}


@dataclass(frozen=True)
class Resources:
    """Our kinds in one namespace, as admin or as ``client``, and strictly validated."""

    bed: ControlPlane
    namespace: str
    client: ApiClient | None = None

    def path(self, obj: dict[str, Any], *parts: str, dry_run: bool = False) -> str:
        scope = "" if obj["kind"] == "CatalogPolicy" else f"/namespaces/{self.namespace}"
        path = "/".join([f"/apis/toolvet.dev/v1alpha1{scope}", PLURALS[obj["kind"]], *parts])
        return f"{path}?fieldValidation=Strict{'&dryRun=All' if dry_run else ''}"

    def create(self, obj: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        return self.call("POST", self.path(obj, dry_run=dry_run), obj)

    def patch(self, obj: dict[str, Any], change: object, *parts: str) -> dict[str, Any]:
        return self.call("PATCH", self.path(obj, obj["metadata"]["name"], *parts), change)

    def put(self, obj: dict[str, Any], *parts: str) -> dict[str, Any]:
        return self.call("PUT", self.path(obj, obj["metadata"]["name"], *parts), obj)

    def get(self, obj: dict[str, Any]) -> dict[str, Any]:
        return self.call("GET", self.path(obj, obj["metadata"]["name"]).partition("?")[0])

    def delete(self, obj: dict[str, Any]) -> dict[str, Any]:
        return self.call("DELETE", self.path(obj, obj["metadata"]["name"]).partition("?")[0])

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return (self.client.call if self.client else self.bed.api)(method, path, body)

    def as_user(self, name: str) -> "Resources":
        """The same for somebody else; a service account by its user name."""
        groups = ["system:authenticated"]
        if name.startswith("system:serviceaccount:"):
            groups += ["system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}"]
        pair = self.bed.authority.issue(name, organizations=groups)
        folder = Path(tempfile.mkdtemp(dir=self.bed.directory))
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").write_bytes(pair.key)
        client = ApiClient(self.bed.port, self.bed.ca_file, folder / "tls.crt", folder / "tls.key")
        return replace(self, client=client)

    def accepts(self, obj: dict[str, Any]) -> bool:
        self.create(obj, dry_run=True)
        return True

    def refusal(self, obj: dict[str, Any]) -> str:
        return refusal(lambda: self.create(obj, dry_run=True))


def refusal(call: Callable[[], object]) -> str:
    """What the API server said when it refused."""
    with pytest.raises(ApiError) as caught:
        call()
    assert caught.value.status in (403, 422), caught.value
    return str(caught.value)

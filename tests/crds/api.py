"""Our kinds on the API server: accepted, or refused with a text that tests read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from controlplane.api import ApiError
from controlplane.bed import ControlPlane

PLURALS = {
    "ToolInventory": "toolinventories",
    "RunToolCatalogSnapshot": "runtoolcatalogsnapshots",
    "CatalogApproval": "catalogapprovals",
    "CatalogPolicy": "catalogpolicies",
}


@dataclass(frozen=True)
class Resources:
    """Our kinds in one namespace, as admin and strictly validated."""

    bed: ControlPlane
    namespace: str

    def path(self, obj: dict[str, Any], *parts: str, dry_run: bool = False) -> str:
        scope = "" if obj["kind"] == "CatalogPolicy" else f"/namespaces/{self.namespace}"
        path = "/".join([f"/apis/toolvet.dev/v1alpha1{scope}", PLURALS[obj["kind"]], *parts])
        return f"{path}?fieldValidation=Strict{'&dryRun=All' if dry_run else ''}"

    def create(self, obj: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        return self.bed.api("POST", self.path(obj, dry_run=dry_run), obj)

    def patch(self, obj: dict[str, Any], change: object, *parts: str) -> dict[str, Any]:
        return self.bed.api("PATCH", self.path(obj, obj["metadata"]["name"], *parts), change)

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

"""The two judges: the API server's dry run, and our models."""

import http.client
import json
from dataclasses import dataclass
from typing import Any

from controlplane.bed import ControlPlane
from crds.api import Resources
from parity.objects import Object
from toolvet.core.errors import ContractError
from toolvet.kube.names import APPROVALS, INVENTORIES, POLICIES, SNAPSHOTS
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    check_object,
    policies_from_object,
    snapshot_from_object,
)

RESOURCES = {resource.kind: resource for resource in (APPROVALS, INVENTORIES, POLICIES, SNAPSHOTS)}
UNSTORED = {"uid": "01234567-89ab-cdef-0123-456789abcdef", "creationTimestamp": "2030-01-01T00:00:00Z"}
REFUSALS = (
    http.client.BAD_REQUEST,
    http.client.UNPROCESSABLE_ENTITY,
    http.client.INTERNAL_SERVER_ERROR,  # what an object applied server-side with wrong types is answered with
)
_READERS = {
    "ToolInventory": catalog_from_inventory,
    "RunToolCatalogSnapshot": snapshot_from_object,
    "CatalogApproval": lambda obj: approval_from_object(obj, None),
    "CatalogPolicy": policies_from_object,
}


@dataclass(frozen=True)
class Answer:
    """What the API server said of a creation."""

    stored: Object | None
    message: str = ""


class Server:
    """Asks for dry runs as admin, strictly validated, over one connection that is kept alive."""

    def __init__(self, bed: ControlPlane, namespace: str) -> None:
        self._resources = Resources(bed, namespace)
        context = bed._api._tls
        self._connection = http.client.HTTPSConnection("127.0.0.1", bed.port, timeout=30, context=context)

    def close(self) -> None:
        self._connection.close()

    def create(self, obj: Object) -> Answer:
        return self._ask("POST", self._resources.path(obj, dry_run=True), "application/json", obj)

    def apply(self, obj: Object) -> Answer:
        """Apply it server-side."""
        path = self._resources.path(obj, obj["metadata"]["name"], dry_run=True)
        return self._ask(
            "PATCH", f"{path}&fieldManager=parity&force=true", "application/apply-patch+yaml", obj
        )

    def _ask(self, method: str, path: str, content: str, obj: Object) -> Answer:
        headers = {"Accept": "application/json", "Content-Type": content}
        self._connection.request(method, path, body=json.dumps(obj), headers=headers)
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        if response.status == http.client.CREATED:
            return Answer(answer)
        # Anything else, such as 429 or 503, is no verdict on the object.
        assert response.status in REFUSALS, answer
        return Answer(None, answer["message"])


def read(obj: Object, kind: str) -> object:
    """Return what our code understands; ContractError where it does not."""
    check_object(RESOURCES[kind], obj)
    return _READERS[kind](obj)


def as_stored(obj: Object, stored: Object | None) -> Object:
    """Return a sent object with what the API server gives: an id, from which a run id follows, and a time."""
    given = UNSTORED if stored is None else {key: stored["metadata"][key] for key in UNSTORED}
    return {**obj, "metadata": {**obj["metadata"], **given}}


def fault(obj: Object, kind: str) -> ContractError | None:
    try:
        read(obj, kind)
    except ContractError as error:
        return error
    return None

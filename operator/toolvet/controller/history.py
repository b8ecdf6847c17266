"""The generations of an inventory that were observed, as ControllerRevisions it owns (DESIGN 3, "History").

They outlive the controller, so that what changed is known also when its leader was killed between two
edits. Content is what the inventory itself holds. Deleting the inventory deletes them (ownerReference).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolvet.controller.observed import Previous, Stored
from toolvet.core.binding import Catalog
from toolvet.core.errors import ContractError
from toolvet.kube.client import HTTP_CONFLICT, ApiClient, ApiError, Object
from toolvet.kube.names import CONTROLLER_REVISIONS, INVENTORIES
from toolvet.kube.revisions import OWNER_LABEL, generation_of, pack, unpack

MAX_REVISIONS = 10
MAX_BYTES = 256 * 1024
"""Of the compressed data of all revisions of one inventory."""
_MAX_NAME = 253
_UID_DIGITS = 8


def revision_name(inventory: str, uid: str, generation: int) -> str:
    """Name a revision: the same generation of the same object has the same name, whoever writes it."""
    tail = f"-{uid[:_UID_DIGITS]}-{generation}"
    return inventory[: _MAX_NAME - len(tail)].rstrip("-.") + tail


def revision(inventory: Stored[Catalog], catalog: Catalog) -> Object:
    """Build the revision of an inventory's present generation."""
    metadata = inventory.obj["metadata"]
    owner = {
        "apiVersion": INVENTORIES.api_version,
        "kind": INVENTORIES.kind,
        "name": inventory.name,
        "uid": inventory.uid,
        "controller": True,
    }
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "name": revision_name(inventory.name, inventory.uid, inventory.generation),
            "namespace": metadata["namespace"],
            "labels": {OWNER_LABEL: inventory.uid},
            "ownerReferences": [owner],
        },
        "revision": inventory.generation,
        "data": pack(catalog),
    }


def newest_before(revisions: Sequence[Mapping[str, Any]], generation: int) -> Previous | None:
    """Return the newest readable revision of an earlier generation."""
    for item in sorted(revisions, key=generation_of, reverse=True):
        if generation_of(item) >= generation:
            continue
        try:
            return Previous(generation_of(item), unpack(item.get("data")))
        except ContractError:
            continue
    return None


def superfluous(revisions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the revisions beyond the limits, the oldest: the newest is always kept."""
    total, names = 0, []
    for index, item in enumerate(sorted(revisions, key=generation_of, reverse=True)):
        data = item.get("data")
        total += len(str(data.get("tools", ""))) if isinstance(data, Mapping) else 0
        if index and (index >= MAX_REVISIONS or total > MAX_BYTES):
            names.append(str(item["metadata"]["name"]))
    return names


async def record(
    api: ApiClient, inventory: Stored[Catalog], catalog: Catalog, revisions: Sequence[Object]
) -> None:
    """Keep the present generation and drop what is beyond the limits; does nothing where it is kept."""
    new = revision(inventory, catalog)
    namespace = new["metadata"]["namespace"]
    if all(item["metadata"]["name"] != new["metadata"]["name"] for item in revisions):
        try:
            await api.create(CONTROLLER_REVISIONS, namespace, new)
        except ApiError as error:
            if error.status != HTTP_CONFLICT:  # another pass, or the leader before us, has written it
                raise
        revisions = [*revisions, new]
    for name in superfluous(revisions):
        await api.delete(CONTROLLER_REVISIONS, namespace, name)

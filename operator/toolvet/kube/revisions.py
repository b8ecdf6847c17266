"""Observed generations of an inventory, as the ControllerRevisions that keep them (DESIGN 3, "History").

Content is what the inventory itself holds. They are a record and no proof: whoever may edit ``apps`` objects
of the namespace can write them.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from toolvet.core.binding import Catalog
from toolvet.core.errors import ContractError
from toolvet.kube.client import ApiClient, Object
from toolvet.kube.names import CONTROLLER_REVISIONS, GROUP
from toolvet.kube.resources import catalog_from_inventory, tools_to_spec

OWNER_LABEL = f"{GROUP}/inventory-uid"
_ENCODING = "zlib+base64"
_MAX_UNPACKED = 4 * 1024 * 1024  # a thousand tools of the longest names are below 2 MiB


def pack(catalog: Catalog) -> dict[str, str]:
    """Compress a catalog into the data of a revision."""
    text = json.dumps(tools_to_spec(catalog), separators=(",", ":"))
    return {"encoding": _ENCODING, "tools": base64.b64encode(zlib.compress(text.encode(), 9)).decode()}


def unpack(data: object) -> Catalog:
    """Read the data of a revision; ContractError where it is not ours or damaged."""
    found: Catalog | None
    try:
        found = _unpacked(data)
    except (ContractError, KeyError, TypeError, ValueError, binascii.Error, zlib.error):
        found = None
    # Raised out here: the error of a parser holds what it could not read.
    if found is None:
        raise ContractError("data", "unreadable")
    return found


def _unpacked(data: object) -> Catalog:
    if not isinstance(data, Mapping) or data.get("encoding") != _ENCODING:
        raise ValueError("not ours")
    unzip = zlib.decompressobj()
    text = unzip.decompress(base64.b64decode(data["tools"], validate=True), _MAX_UNPACKED)
    if not unzip.eof:
        raise ValueError("cut off, or larger than any catalog")
    # Of a generation that is past the tools are kept, and not what they were a minor change of.
    return Catalog(catalog_from_inventory({"spec": {"tools": json.loads(text)}}).bindings)


def generation_of(revision: Mapping[str, Any]) -> int:
    """Return the generation a revision keeps; 0 where it does not say so."""
    found = revision.get("revision")
    return found if type(found) is int else 0


async def read_revisions(api: ApiClient, namespace: str, uid: str) -> list[Object]:
    """Read every revision of an inventory."""
    return await api.items(CONTROLLER_REVISIONS, namespace, labelSelector=f"{OWNER_LABEL}={uid}")

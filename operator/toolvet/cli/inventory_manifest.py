"""The ToolInventory manifest of a catalog, as text for ``kubectl apply --server-side -f -``."""

from __future__ import annotations

import re
from typing import Final

from toolvet.core.binding import Catalog
from toolvet.core.errors import ContractError
from toolvet.kube import resources
from toolvet.kube.manifest import json_text, yaml_text
from toolvet.kube.names import DEFAULT_SERVICE_ACCOUNT, INVENTORIES, is_object_name

# Seventeen characters below Kubernetes' 253, which a snapshot's name adds: a hyphen and 16 hex digits.
_MAX_NAME: Final = 236
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def check_names(name: str | None, namespace: str | None) -> str:
    """Return the name when both are legal; raises ContractError before any work is done."""
    if name is None:
        raise ContractError("name", "missing")
    if len(name) > _MAX_NAME or not is_object_name(name):
        raise ContractError("name", "invalid_name")
    if name == DEFAULT_SERVICE_ACCOUNT:
        # An inventory governs the service account of its name, and everybody's default must stay free.
        raise ContractError("name", "reserved_name")
    if namespace is not None and _NAMESPACE.fullmatch(namespace) is None:
        raise ContractError("namespace", "invalid_name")
    return name


def inventory_manifest(catalog: Catalog, *, name: str, namespace: str | None, form: str) -> str:
    """Render the manifest as ``yaml`` or ``json``; raises ContractError("tools", "too_many_records")."""
    if len(catalog.bindings) > resources.MAX_TOOLS:
        raise ContractError("tools", "too_many_records")
    spec = {"tools": resources.tools_to_spec(catalog)}
    document = resources.manifest(INVENTORIES, name, namespace, spec)
    return json_text(document) if form == "json" else yaml_text(document)

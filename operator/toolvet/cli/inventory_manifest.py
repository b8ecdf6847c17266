"""The ToolInventory manifest of a catalog, as text for ``kubectl apply --server-side -f -``."""

from __future__ import annotations

from collections.abc import Mapping

from toolvet.core.binding import Catalog
from toolvet.core.errors import ContractError
from toolvet.kube import resources
from toolvet.kube.manifest import json_text, yaml_text
from toolvet.kube.names import INVENTORIES, is_namespace_name, is_object_name
from toolvet.kube.shapes import MAX_TOOLS


def check_names(name: str | None, namespace: str | None) -> str:
    """Return the name when both are legal; raises ContractError before any work is done."""
    if name is None:
        raise ContractError("name", "missing")
    if not is_object_name(name):
        raise ContractError("name", "invalid_name")
    resources.check_inventory_name(name, "name")
    if namespace is not None and not is_namespace_name(namespace):
        raise ContractError("namespace", "invalid_name")
    return name


def inventory_object(catalog: Catalog, *, name: str, namespace: str | None) -> dict[str, object]:
    """Build the object; raises ContractError("tools", "too_many_records")."""
    if len(catalog.bindings) > MAX_TOOLS:
        raise ContractError("tools", "too_many_records")
    return resources.manifest(INVENTORIES, name, namespace, {"tools": resources.tools_to_spec(catalog)})


def written(document: Mapping[str, object], form: str) -> str:
    """Render an object as ``yaml`` or ``json``."""
    return json_text(document) if form == "json" else yaml_text(document)


def inventory_manifest(catalog: Catalog, *, name: str, namespace: str | None, form: str) -> str:
    """Render the manifest as ``yaml`` or ``json``; raises as ``inventory_object``."""
    return written(inventory_object(catalog, name=name, namespace=namespace), form)

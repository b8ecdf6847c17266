"""``toolvet inventory manifest``: a contract document becomes a resource."""

from __future__ import annotations

from collections.abc import Mapping

from toolvet.cli.documents import load_bytes, load_document
from toolvet.cli.inventory_manifest import check_names, inventory_manifest
from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_digest
from toolvet.core.inventory import ToolInventory
from toolvet.core.json_reader import read_json
from toolvet.kube.manifest import MAX_DOCUMENT_BYTES


def manifest(
    document: str,
    *,
    implementation_id: str | None,
    mapping: str | None,
    name: str,
    namespace: str | None,
    form: str,
) -> str:
    """Return the manifest of an inventory document; entries of the mapping win over the one digest."""
    checked = check_names(name, namespace)
    if implementation_id is not None and not is_digest(implementation_id):
        raise ContractError("implementation_id", "invalid_digest")
    identities = {} if mapping is None else _implementations(load_document(mapping, field="mapping"))
    data = load_bytes(document, field="inventory")
    inventory = ToolInventory.from_dict(read_json(data, field="inventory", max_bytes=MAX_DOCUMENT_BYTES))
    keys = [f"{record.tool_id} {record.version}" for record in inventory.tools]
    _refuse_stale(identities, keys)
    bindings = []
    for index, (record, key) in enumerate(zip(inventory.tools, keys, strict=True)):
        identity = identities.get(key, implementation_id)
        if identity is None:
            # The index is that of the sorted inventory: the order in which `toolvet` shows it.
            raise ContractError(f"tools[{index}].implementation_id", "missing")
        bindings.append(ToolBinding(record, identity))
    return inventory_manifest(Catalog(tuple(bindings)), name=checked, namespace=namespace, form=form)


def _implementations(document: object) -> dict[str, str]:
    if not isinstance(document, Mapping):
        raise ContractError("mapping", "invalid_type")
    if not document.keys() <= {"implementations"}:
        raise ContractError("mapping", "unknown_field")
    entries = document.get("implementations", {})
    if not isinstance(entries, Mapping):
        raise ContractError("mapping.implementations", "invalid_type")
    for index, digest in enumerate(entries.values()):
        if not is_digest(digest):
            raise ContractError(f"mapping.implementations[{index}]", "invalid_digest")
    return dict(entries)


def _refuse_stale(identities: Mapping[str, str], keys: list[str]) -> None:
    known = set(keys)
    for index, key in enumerate(identities):
        if key not in known:
            raise ContractError(f"mapping.implementations[{index}]", "stale_entry")

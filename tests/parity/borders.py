"""Objects with one value or size at a border, or just beyond, and everything else valid."""

import copy
from collections.abc import Iterator
from typing import Any

from crds.objects import DIGEST, approval, inventory, policy, record, records, snapshot
from parity.objects import Object, settle
from parity.texts import ITEMS, POOLS
from toolvet.kube.shapes import MAX_MINOR_CHANGES, MAX_TOOLS

RECORD = ("toolId", "version", "capabilityClass", "sideEffectClass", "schemaDigest", "implementationId")
RULES = ("requiredApprovals", "maxApprovalAge", "deliverySubjects", "reviewOn")
AGENTS = ("all", "matchLabels", "serviceAccountNames")
SIZES = {"deliverySubjects": 64, "serviceAccountNames": 64, "namespaces": 64, "overrides": 16}


def _holders(kind: str) -> Iterator[tuple[Object, Any, tuple[str, ...]]]:
    """Yield fresh objects, a mapping in each, and the members to vary there."""
    if kind == "ToolInventory":
        obj = inventory(record())
        yield obj, obj["spec"]["tools"][0], RECORD
        obj = inventory(record())
        yield obj, obj["metadata"], ("name",)
        obj = inventory(record())
        yield obj, obj["spec"], ("minorChangeOf",)
    elif kind == "RunToolCatalogSnapshot":
        obj = snapshot(record())
        yield obj, obj["spec"]["bindings"][0], RECORD
        obj = snapshot(record())
        yield obj, obj["spec"], ("inventoryName", "catalogDigest", "runId", "capturedBy")
    elif kind == "CatalogApproval":
        obj = approval()
        yield (
            obj,
            obj["spec"],
            ("inventoryName", "catalogDigest", "snapshotDigest", "approvedBy", "expiresAt", "revoked"),
        )
    else:
        for overridden in (False, True):
            obj = policy(overrides=[{"namespaces": ["a"]}])
            rules = obj["spec"]["overrides"][0] if overridden else obj["spec"]
            yield obj, rules, (*RULES, "namespaces") if overridden else RULES
            obj = policy(overrides=[{"namespaces": ["a"]}])
            rules = obj["spec"]["overrides"][0] if overridden else obj["spec"]
            rules["agents"] = {}
            yield obj, rules["agents"], AGENTS


def borders(kind: str) -> Iterator[tuple[str, Object, bool]]:
    """Yield what was set, the object, and whether it is valid."""
    for obj, holder, members in _holders(kind):
        before = copy.deepcopy(holder)
        for name in members:
            pool = ITEMS.get(name) or POOLS[name]
            for value, good in [*((item, True) for item in pool.good), *((item, False) for item in pool.bad)]:
                holder.clear()
                holder.update(copy.deepcopy(before))
                holder[name] = [value] if name in ITEMS else copy.deepcopy(value)
                settle(obj)
                yield f"{name}={value!r}", obj, good


def sizes(kind: str) -> Iterator[tuple[str, Object, bool]]:
    """The same for the number of items in each list."""
    if kind in {"ToolInventory", "RunToolCatalogSnapshot"}:
        make = inventory if kind == "ToolInventory" else snapshot
        for count, good in ((0, True), (1, True), (MAX_TOOLS, True), (MAX_TOOLS + 1, False)):
            yield f"{count} records", make(*records(count)), good
    if kind == "ToolInventory":
        for count in (0, 1, MAX_MINOR_CHANGES, MAX_MINOR_CHANGES + 1):
            obj = inventory(record())
            obj["spec"]["minorChangeOf"] = [DIGEST] * count
            yield f"{count} minorChangeOf", obj, count <= MAX_MINOR_CHANGES
    if kind == "CatalogPolicy":
        for name, most in SIZES.items():
            for count in (0, 1, most, most + 1):
                yield (
                    f"{count} {name}",
                    _policy(name, count),
                    count <= most and (count > 0 or name != "namespaces"),
                )
        again = [{"namespaces": ["a", "b"]}, {"namespaces": ["c"]}]
        yield "a namespace twice in one list", policy(overrides=[{"namespaces": ["a", "a"]}]), True
        yield "a namespace in two lists", policy(overrides=[*again, {"namespaces": ["d", "b"]}]), False


def _policy(name: str, count: int) -> Object:
    names = [f"n-{index}" for index in range(count)]
    if name == "overrides":
        return policy(overrides=[{"namespaces": [item]} for item in names])
    if name == "namespaces":
        return policy(overrides=[{"namespaces": names}])
    return policy(deliverySubjects=names) if name == "deliverySubjects" else policy(agents={name: names})

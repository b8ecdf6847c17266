"""Objects of our kinds that everybody accepts, at random."""

from collections.abc import Callable
from random import Random
from typing import Any

from crds.objects import LONGEST_CAPABILITY, LONGEST_NAMESPACE, approval, inventory, policy, snapshot
from parity import texts

Object = dict[str, Any]


def tool(random: Random) -> Object:
    namespaces = ["a.b", "org.example", "0.9", f"{'l' * 63}.{'l' * 63}", LONGEST_NAMESPACE]
    capabilities = ["capability:a.b/c", "capability:org.example/text@1.0.0", LONGEST_CAPABILITY]
    return {
        "toolId": f"tool:{random.choice(namespaces)}/{random.choice(texts.LOCALS)}",
        "version": random.choice(texts.POOLS["version"].good),
        "capabilityClass": random.choice(capabilities),
        "sideEffectClass": random.choice(texts.CLASSES),
        "schemaDigest": texts.digest(random),
        "implementationId": texts.digest(random),
    }


def text(item: Object) -> str:
    return f"{item['toolId']} {item['version']}"


def tools(random: Random) -> list[Object]:
    found = {text(item): item for item in (tool(random) for _ in range(random.choice([0, 1, 1, 2, 3, 6])))}
    return [found[key] for key in sorted(found)]


def _inventory(random: Random) -> Object:
    obj = inventory(*tools(random), name=random.choice(texts.NAMES.good))
    if random.random() < 0.5:
        obj["spec"]["minorChangeOf"] = [texts.digest(random) for _ in range(random.choice([0, 1, 4]))]
    return obj


def _some(random: Random, members: dict[str, Callable[[], Any]]) -> Object:
    return {name: make() for name, make in members.items() if random.random() < 0.5}


def _snapshot(random: Random) -> Object:
    optional = _some(
        random,
        {
            "runId": lambda: "run_" + "".join(random.choices(texts.HEX, k=32)),
            "capturedBy": lambda: random.choice(texts.USERS.good),
        },
    )
    digest = texts.digest(random)
    return snapshot(
        *tools(random), inventoryName=random.choice(texts.NAMES.good), catalogDigest=digest, **optional
    )


def _approval(random: Random) -> Object:
    name, digest = random.choice(texts.NAMES.good), texts.digest(random)
    times = ["2030-01-31T12:00:00Z", "2028-02-29T23:59:59.999999Z", "0001-01-01T00:00:00Z"]
    optional = _some(
        random,
        {"expiresAt": lambda: random.choice(times), "revoked": lambda: random.choice([True, False])},
    )
    return approval(
        inventoryName=name,
        catalogDigest=digest,
        snapshotName=f"{name}-{digest[7:23]}",
        snapshotDigest=texts.digest(random),
        approvedBy=random.choice(texts.USERS.good),
        **optional,
    )


def _rules(random: Random) -> Object:
    def agents() -> Object:
        accounts = random.sample(texts.ACCOUNTS.good, random.choice([0, 1, 3]))
        chosen = {
            key: random.choice(texts.VALUES.good)
            for key in random.sample(texts.KEYS.good, random.choice([0, 1, 3]))
        }
        everything = random.choice([True, False])
        return _some(
            random,
            {
                "all": lambda: everything,
                "serviceAccountNames": lambda: accounts,
                "matchLabels": lambda: chosen,
            },
        )

    return _some(
        random,
        {
            "requiredApprovals": lambda: random.choice([1, 2, 10]),
            "maxApprovalAge": lambda: random.choice(texts.POOLS["maxApprovalAge"].good[:-1]),
            "deliverySubjects": lambda: random.sample(texts.USERS.good, random.choice([0, 1, 4])),
            "agents": agents,
            "reviewOn": lambda: random.choice(["AnyChange", "MaterialChange"]),
        },
    )


def _policy(random: Random) -> Object:
    spec = _rules(random)
    if random.random() < 0.6:
        names = random.sample(texts.NAMESPACES.good, random.choice([1, 2, 5]))
        cut = random.randint(1, len(names))
        spec["overrides"] = [
            {"namespaces": part, **_rules(random)} for part in (names[:cut], names[cut:]) if part
        ]
    return policy(**spec)


KINDS: dict[str, Callable[[Random], Object]] = {
    "ToolInventory": _inventory,
    "RunToolCatalogSnapshot": _snapshot,
    "CatalogApproval": _approval,
    "CatalogPolicy": _policy,
}


def settle(obj: Object) -> None:
    """Make the order and the names follow again what was changed, so that one fault is the only one."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return
    for member in ("tools", "bindings"):
        listed = spec.get(member)
        if isinstance(listed, list) and all(_sortable(item) for item in listed):
            listed.sort(key=text)
    name, digest = spec.get("inventoryName"), spec.get("catalogDigest")
    if not isinstance(name, str) or not isinstance(digest, str):
        return
    if obj["kind"] == "RunToolCatalogSnapshot" and isinstance(obj.get("metadata"), dict):
        obj["metadata"]["name"] = f"{name}-{digest[7:23]}"
    elif "snapshotName" in spec:
        spec["snapshotName"] = f"{name}-{digest[7:23]}"


def _sortable(item: object) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(key), str) for key in ("toolId", "version"))

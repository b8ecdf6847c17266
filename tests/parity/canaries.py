"""Objects that everybody refuses, each with a word or a number that must not come back in a refusal."""

import copy
from collections.abc import Iterator
from typing import Any

from crds.objects import DIGEST, approval, inventory, policy, record, snapshot
from parity.faults import places
from parity.objects import Object
from parity.verdicts import UNSTORED, fault

WORD = "canaryzq93x"  # lower case letters and digits: it may be part of whatever grammar there is
NUMBER = 31337421
CANARIES = (WORD, str(NUMBER))

VALUES: list[Any] = [
    WORD,
    NUMBER,
    -NUMBER,
    NUMBER + 0.5,
    True,
    [WORD],
    [NUMBER],
    {WORD: WORD},
    WORD * 100,
    None,
]
NEAR: dict[str, list[str]] = {
    "toolId": [f"tool:org.{WORD}/Up", f"tool:org.{WORD}/a@1.0.0", f"tool:{WORD}/a", f"tool:org.{WORD}/a\n"],
    "version": [f"1.0.0-{WORD}", f"{NUMBER}.0", f"0{NUMBER}.0.0", f"{NUMBER}.0.0\n"],
    "capabilityClass": [f"tool:org.{WORD}/a", f"capability:org.{WORD}/a@1.0", f"capability:org.{WORD}/a "],
    "sideEffectClass": [f"none {WORD}", f"{WORD}-write"],
    "schemaDigest": [f"sha256:{WORD}", f"{DIGEST[: -len(WORD)]}{WORD}"],
    "implementationId": [f"sha256:{WORD}", f"{DIGEST[: -len(WORD)]}{WORD}"],
    "catalogDigest": [f"sha256:{WORD}", f"{DIGEST[: -len(WORD)]}{WORD}"],
    "snapshotDigest": [f"sha256:{WORD}", f"{DIGEST[: -len(WORD)]}{WORD}"],
    "inventoryName": [f"{WORD} ", f"Up-{WORD}", f"{WORD}-"],
    "snapshotName": [f"{WORD}-{DIGEST[7:23]}"],
    "runId": [f"run_{WORD}", f"act_{WORD}"],
    "expiresAt": [f"2030-01-31T12:00:00Z{WORD}", f"2030-01-31T12:00:00+{NUMBER}"],
    "maxApprovalAge": [f"1h{WORD}", f"{NUMBER}h"],
    "reviewOn": [f"AnyChange{WORD}", f"{WORD}"],
    "minorChangeOf": [[f"sha256:{WORD}"], [f"{DIGEST[: -len(WORD)]}{WORD}"], [DIGEST, WORD]],
}


def _rules(**members: Any) -> Object:
    agents = {"all": False, "serviceAccountNames": ["a"], "matchLabels": {"a": "b"}}
    settings = {"requiredApprovals": 2, "maxApprovalAge": "720h", "deliverySubjects": ["a"], "agents": agents}
    settings["reviewOn"] = "MaterialChange"
    return {**settings, **members}


def full(kind: str) -> Object:
    """Return a valid object that has every member."""
    if kind == "ToolInventory":
        obj = inventory(record(), record("tool:org.example/z"))
        obj["spec"]["minorChangeOf"] = [DIGEST]
        return obj
    if kind == "RunToolCatalogSnapshot":
        return snapshot(record(), record("tool:org.example/z"), runId="run_" + "0a" * 16, capturedBy="admin")
    if kind == "CatalogApproval":
        return approval(expiresAt="2030-01-31T12:00:00Z", revoked=False)
    return policy(**_rules(overrides=[_rules(namespaces=["a"])]))


def _set(kind: str, number: int, value: object) -> Object:
    obj = full(kind)
    holder, key = list(places(obj["spec"]))[number]
    holder[key] = value
    return obj


def _with_unknown(kind: str, number: int) -> Object:
    obj = full(kind)
    mappings = [obj, *(node[key] for node, key in places(obj) if isinstance(node[key], dict))]
    mappings[number][WORD] = WORD
    return obj


def _lists(kind: str) -> Iterator[Object]:
    """Yield what is wrong about records or overrides together."""
    twice = record(f"tool:org.{WORD}/a", f"{NUMBER}.0.0")
    for listed in ([twice, twice], [record(f"tool:org.{WORD}/z"), twice]):
        if kind in {"ToolInventory", "RunToolCatalogSnapshot"}:
            yield inventory(*listed) if kind == "ToolInventory" else snapshot(*listed)
    if kind == "CatalogPolicy":
        yield policy(overrides=[{"namespaces": [WORD]}, {"namespaces": ["a", WORD]}])
        yield policy(agents={"matchLabels": {WORD * 40: "v"}})
        yield policy(agents={"matchLabels": {WORD: "v" * 64}})


def canaries(kind: str) -> Iterator[Object]:
    """Yield refused objects of a kind: a canary at every place, as a value, as a name, and in lists."""
    whole = full(kind)
    found = [{**whole, "spec": value} for value in VALUES]
    for number, (_, key) in enumerate(places(whole["spec"])):
        found += [_set(kind, number, copy.deepcopy(value)) for value in (*VALUES, *NEAR.get(key, ()))]
    mappings = 1 + sum(isinstance(holder[key], dict) for holder, key in places(whole))
    found += [_with_unknown(kind, number) for number in range(mappings)]
    found += _lists(kind)
    for obj in found:
        sent = {**obj, "metadata": {**UNSTORED, **obj["metadata"]}}
        if fault(sent, kind) is not None or WORD in obj["metadata"]:
            yield obj


def told(text: str) -> list[str]:
    """Return the canaries that a text holds."""
    return [canary for canary in CANARIES if canary in text]

"""A snapshot that lists what the inventory does is not taken apart a second time, and reads the same."""

import copy
from typing import Any

import pytest

from toolvet.core.errors import ContractError
from toolvet.kube.reads import _KnownTools, _snapshot
from toolvet.kube.resources import catalog_from_inventory, snapshot_from_object

TOOLS = [
    {
        "toolId": f"tool:org.example/tool-{letter}",
        "version": "1.0.0",
        "capabilityClass": "capability:org.example/records@1.0.0",
        "sideEffectClass": "read-only",
        "schemaDigest": f"sha256:{letter * 64}",
        "implementationId": f"sha256:{letter * 64}",
    }
    for letter in "abc"
]
KNOWN = _KnownTools(TOOLS, catalog_from_inventory({"spec": {"tools": TOOLS}}))


def _stored(bindings: object, **spec: object) -> dict[str, Any]:
    metadata = {"name": "assistant-0123456789abcdef", "uid": "0" * 8 + "-0000-0000-0000-" + "0" * 12}
    named = {"inventoryName": "assistant", "catalogDigest": "sha256:" + "0" * 64}
    return {"metadata": metadata, "spec": named | {"bindings": copy.deepcopy(bindings)} | spec}


@pytest.mark.parametrize(
    "bindings",
    [TOOLS, TOOLS[:2], [], [TOOLS[0] | {"version": "1.0.1"}, *TOOLS[1:]]],
    ids=["equal", "fewer", "none", "one differs"],
)
def test_reads_the_same_as_without_knowing(bindings: object) -> None:
    obj = _stored(bindings, runId="run_" + "1" * 32)
    read, expected = _snapshot(KNOWN, obj), snapshot_from_object(obj)
    assert read == expected
    assert (read.evidence.digest, read.catalog.digest) == (expected.evidence.digest, expected.catalog.digest)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"bindings": [*TOOLS, TOOLS[0]]}, "spec.bindings: duplicate_record"),
        ({"bindings": [TOOLS[0] | {"extra": "x"}]}, "spec.bindings[0]: unknown_field"),
        ({"bindings": TOOLS[::-1]}, "spec.bindings: unsorted_records"),
        ({"bindings": None}, "spec.bindings: invalid_type"),
        ({"inventoryName": 1}, "spec.inventoryName: invalid_type"),
        ({"extra": "x"}, "spec: unknown_field"),
    ],
)
def test_a_fault_is_the_same_fault(spec: dict[str, object], fault: str) -> None:
    obj = _stored(TOOLS)
    obj["spec"] |= spec
    with pytest.raises(ContractError) as without:
        snapshot_from_object(obj)
    with pytest.raises(ContractError) as known:
        _snapshot(KNOWN, obj)
    assert str(known.value) == str(without.value) == fault

"""Objects of our kinds for tests on the API server, valid unless a test says otherwise."""

from typing import Any

API_VERSION = "toolvet.dev/v1alpha1"
DIGEST = "sha256:" + "a" * 64
OTHER_DIGEST = "sha256:" + "b" * 64

LABEL = "l" * 63
LONGEST_NAMESPACE = ".".join([LABEL, LABEL, LABEL, "l" * 61])  # 253 characters
LONGEST_VERSION = "1.0." + "9" * 60  # 64 characters
_LONG_CAPABILITY = f"capability:{LONGEST_NAMESPACE}/{'c' * 64}@1.0."
LONGEST_CAPABILITY = _LONG_CAPABILITY + "9" * (512 - len(_LONG_CAPABILITY))


def record(tool_id: str = "tool:org.example/summarize", version: str = "1.9.0", **members: Any) -> dict:
    return {
        "toolId": tool_id,
        "version": version,
        "capabilityClass": "capability:org.example/text@1.0.0",
        "sideEffectClass": "read-only",
        "schemaDigest": DIGEST,
        "implementationId": OTHER_DIGEST,
        **members,
    }


def records(count: int) -> list[dict]:
    return [record(f"tool:org.example/tool-{index:04d}") for index in range(count)]


def longest_records(count: int) -> list[dict]:
    return [
        record(
            f"tool:{LONGEST_NAMESPACE}/t{index:063d}",
            LONGEST_VERSION,
            capabilityClass=LONGEST_CAPABILITY,
            sideEffectClass="non-idempotent-write",
        )
        for index in range(count)
    ]


def inventory(*tools: dict, name: str = "assistant") -> dict:
    return {
        "apiVersion": API_VERSION,
        "kind": "ToolInventory",
        "metadata": {"name": name},
        "spec": {"tools": list(tools)},
    }


def snapshot(*bindings: dict, name: str | None = None, **spec: Any) -> dict:
    spec = {"inventoryName": "assistant", "catalogDigest": DIGEST, "bindings": list(bindings), **spec}
    expected = f"{spec['inventoryName']}-{spec['catalogDigest'][7:23]}"
    return {
        "apiVersion": API_VERSION,
        "kind": "RunToolCatalogSnapshot",
        "metadata": {"name": name or expected},
        "spec": spec,
    }


def approval(name: str = "first", **spec: Any) -> dict:
    return {
        "apiVersion": API_VERSION,
        "kind": "CatalogApproval",
        "metadata": {"name": name},
        "spec": {
            "inventoryName": "assistant",
            "snapshotName": f"assistant-{DIGEST[7:23]}",
            "snapshotDigest": OTHER_DIGEST,
            "catalogDigest": DIGEST,
            "approvedBy": "admin",
            **spec,
        },
    }


def policy(name: str = "default", **spec: Any) -> dict:
    return {"apiVersion": API_VERSION, "kind": "CatalogPolicy", "metadata": {"name": name}, "spec": spec}

"""Objects of our kinds for tests on the API server, valid unless a test says otherwise."""

import re
from datetime import UTC, datetime, timedelta
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


def _object(kind: str, name: str, spec: dict) -> dict:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def source(name: str = "notes", **spec: Any) -> dict:
    given = {"inventoryName": "assistant", **spec}
    return _object("MCPSource", name, given if "ref" in spec else {"url": "https://mcp.example/mcp", **given})


def change(name: str = "notes-1", **spec: Any) -> dict:
    given = {
        "sourceName": "notes",
        "sourceUid": "01234567-89ab-cdef-0123-456789abcdef",
        "toolId": "tool:org.example/summarize",
        "version": "1.9.0",
        "event": "Changed",
        "severity": "Material",
        "literalSeverity": "Minor",
        "reasons": ["choice_added", "description_changed"],
        "before": {"fingerprint": DIGEST},
        "after": {"fingerprint": OTHER_DIGEST, "contract": DIGEST, "hints": DIGEST, "rest": DIGEST},
        **spec,
    }
    return _object("ToolChange", name, given)


def account(subject: str) -> str:
    """A subject as names of objects have it."""
    return "-".join(re.findall("[a-z0-9]+", subject.lower()))


def enablement(subject: str, source_name: str = "notes", *, name: str | None = None, **spec: Any) -> dict:
    given = {"subject": subject, "sourceName": source_name, **spec}
    return _object("ToolEnablement", name or f"{source_name}.{account(subject)}", given)


def acknowledgement(change_name: str = "notes-1") -> dict:
    return {"changeName": change_name, "fingerprint": OTHER_DIGEST}


def in_seconds(seconds: float) -> str:
    """A time as resources have it, to the second."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def call_name(requested_by: str, slot: int = 1) -> str:
    """The name that a held call must have in this hour."""
    return f"{account(requested_by)}.{datetime.now(UTC):%Y-%m-%dt%H}.{slot}"


def held_call(requested_by: str, slot: int = 1, **spec: Any) -> dict:
    given = {
        "enablementName": f"notes.{account(requested_by)}",
        "toolId": "tool:org.example/summarize",
        "definitionFingerprint": DIGEST,
        "argumentsDigest": OTHER_DIGEST,
        "requestedBy": requested_by,
        "expiresAt": in_seconds(3600),
        **spec,
    }
    return _object("HeldToolCall", call_name(requested_by, slot), given)

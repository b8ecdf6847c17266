"""Valid inputs in which every text of its own is marked, so that whatever an error repeats is seen."""

from typing import Any

WORD = "canaryzq93x"  # fits every grammar that takes letters
HEX = "5afec0de5afec0de"  # fits every grammar that takes hex digits
NUMBER = 31_337_421
CANARIES = (WORD, HEX, str(NUMBER))

DIGEST = "sha256:" + HEX * 4
RUN = "run_" + HEX * 2
TOOL = f"tool:org.{WORD}/{WORD}"
CAPABILITY = f"capability:org.{WORD}/{WORD}@{NUMBER}.0.0"
VERSION = f"{NUMBER}.0.0"
WORKFLOW = f"wf.{WORD}"
SCHEMA = {"type": "object", "title": WORD, "properties": {WORD: {"type": "integer", "maximum": NUMBER}}}
HINTS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def digests(count: int) -> list[str]:
    return [f"sha256:{HEX * 3}{number:016x}" for number in range(count)]


def record(name: str = WORD) -> dict[str, Any]:
    return {
        "tool_id": f"tool:org.{WORD}/{name}",
        "version": VERSION,
        "capability_class": CAPABILITY,
        "side_effect_class": "read-only",
        "schema_digest": DIGEST,
    }


def inventory() -> dict[str, Any]:
    tools = [record(), record(f"{WORD}-b"), record(f"{WORD}-a")]
    return {"schema_version": "openmed.agent.tool_inventory.v1", "tools": tools}


def snapshot() -> dict[str, Any]:
    bindings = [{"tool": tool, "implementation_id": DIGEST} for tool in inventory()["tools"]]
    return {"schema_version": "openmed.agent.tool_catalog_binding.v1", "run_id": RUN, "bindings": bindings}


def outcome() -> dict[str, Any]:
    return {
        "schema_version": "openmed.agent.outcome.v1",
        "outcome_class": "failed",
        "reason_code": "timeout",
    }


def event() -> dict[str, Any]:
    return {
        "workflow_id": WORKFLOW,
        "outcome": outcome(),
        "tool_call_count": 7,
        "duration_seconds": 1.5,
        "artifact_digests": digests(3),
    }


def counts() -> dict[str, int]:
    return {"abstained": 0, "failed": 1, "policy_denied": 0, "review_required": 2, "success": 3}


def summary() -> dict[str, Any]:
    return {
        "schema_version": "openmed.agent.run_summary.v1",
        "workflow_ids": [WORKFLOW, WORKFLOW + ".b"],
        "outcome_counts": counts(),
        "tool_call_count": 7,
        "duration_seconds": 1.5,
        "artifact_digests": digests(3),
    }


def summary_diff() -> dict[str, Any]:
    return {
        "workflow_ids_added": [WORKFLOW],
        "workflow_ids_removed": [WORKFLOW + ".b"],
        "outcome_count_deltas": counts(),
        "tool_call_count_delta": -7,
        "duration_seconds_delta": -1.5,
        "artifact_digests_added": digests(1),
        "artifact_digests_removed": [DIGEST],
    }


def spec() -> dict[str, Any]:
    return {
        "name": WORD,
        "description": WORD,
        "input_schema": SCHEMA,
        "output_schema": SCHEMA,
        "version": f"{VERSION}-{WORD}",
        "stability": "stable",
        "title": WORD,
        "read_only_hint": True,
        "destructive_hint": False,
    }


def listing() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "description": WORD,
            "inputSchema": SCHEMA,
            "outputSchema": SCHEMA,
            "annotations": HINTS,
        }
        for name in (WORD, f"{WORD}-b")
    ]


def mapping() -> dict[str, Any]:
    defaults = {"idNamespace": f"org.{WORD}", "version": VERSION, "capabilityClass": CAPABILITY}
    return {"defaults": defaults, "tools": {WORD: {"toolId": TOOL, "version": VERSION}}}

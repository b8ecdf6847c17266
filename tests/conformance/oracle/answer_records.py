"""Identifiers, inventories and their diffs, schema digests and side-effect classes by the reference."""

import json
from typing import Any

from openmed.agent import correlation, identifiers
from openmed.agent.outcomes import OutcomeClass, WorkflowOutcome
from openmed.agent.run_summary import RunEvent
from openmed.agent.tool_catalog_binding import tool_spec_schema_digest, tool_spec_side_effect_class
from openmed.agent.tool_catalog_diff import (
    ToolCatalogChange,
    ToolCatalogDiff,
    ToolCatalogFieldChange,
    diff_tool_catalogs,
)
from openmed.agent.tool_inventory import SideEffectClass, ToolInventory, ToolInventoryRecord
from openmed.mcp.tool_registry import ToolSpec
from vector_codec import decode

Results = dict[str, Any]

_GOVERNANCE = {
    "tool": identifiers.ToolId,
    "capability": identifiers.CapabilityId,
    "workflow": identifiers.WorkflowId,
    "policy": identifiers.PolicyId,
    "purpose": identifiers.PurposeId,
}
_RECORD = {
    "tool_id": "tool:org.example/summarize",
    "version": "1.0.0",
    "capability_class": "capability:org.example/text@1.0.0",
    "side_effect_class": "none",
    "schema_digest": "sha256:" + "0" * 64,
}
_HINTS = {
    "readOnlyHint": "read_only_hint",
    "destructiveHint": "destructive_hint",
    "idempotentHint": "idempotent_hint",
    "openWorldHint": "open_world_hint",
}


def decoded(value: object) -> Any:
    """Decode the vectors' stand-ins, with the reference's own enum."""
    return decode(value, SideEffectClass)


def hint_arguments(hints: dict[str, Any]) -> dict[str, Any]:
    """Return hints under the names that its tool spec has for them; an absent one stays absent."""
    return {_HINTS[name]: value for name, value in hints.items() if name in _HINTS}


def _identifier(case: dict[str, Any]) -> Results:
    asked, value = case["type"], decoded(case["value"])
    if asked.startswith("record."):
        field = asked.removeprefix("record.")
        return {"serialized": ToolInventoryRecord.from_dict(_RECORD | {field: value}).to_dict()[field]}
    if asked.startswith("run_summary."):
        outcome = WorkflowOutcome(OutcomeClass.SUCCESS, "completed")
        if asked == "run_summary.workflow_id":
            return {"serialized": RunEvent(value, outcome).workflow_id}
        return {"serialized": RunEvent("intake", outcome, artifact_digests=(value,)).artifact_digests[0]}
    if asked in ("run_id", "action_id"):
        kind = correlation.RunId if asked == "run_id" else correlation.ActionId
        found = kind.parse(value)
        return {"serialized": found.serialize(), "repr": repr(found)}
    parsed = _GOVERNANCE[asked].parse(value)
    return {
        "kind": parsed.kind,
        "namespace": parsed.namespace,
        "local_name": parsed.local_name,
        "version": parsed.version,
        "serialized": parsed.serialize(),
        "repr": repr(parsed),
    }


def _inventory(case: dict[str, Any]) -> Results:
    operation = case["op"]
    if operation == "inventory_from_mapping":
        return _inventory_results(ToolInventory.from_dict(decoded(case["document"])))
    if operation == "inventory_from_typed_records":
        records = [typed_record(record) for record in decoded(case["records"])]
        return _inventory_results(ToolInventory.from_records(records))
    if operation == "inventory_from_iterable":
        return _inventory_results(ToolInventory.from_records(decoded(case["iterable"])))
    document = decoded(case["record"])
    mapping = operation == "record_from_mapping"
    record = ToolInventoryRecord.from_dict(document) if mapping else ToolInventoryRecord(**document)
    written = record.to_dict()
    return {"record": written, "record_field_order": list(written), "repr": repr(record)}


def typed_record(document: object) -> Any:
    """Parse a mapping; hand on anything else as it is."""
    return ToolInventoryRecord.from_dict(document) if isinstance(document, dict) else document


def _inventory_results(inventory: ToolInventory) -> Results:
    return {
        "tool_count": len(inventory.tools),
        "json": inventory.to_json(),
        "markdown": inventory.to_markdown(),
        "repr": repr(inventory),
    }


def _catalog_diff(case: dict[str, Any]) -> Results:
    if case["op"] == "diff":
        baseline, candidate = decoded(case["baseline"]), decoded(case["candidate"])
        if case.get("typed"):
            baseline, candidate = ToolInventory.from_dict(baseline), ToolInventory.from_dict(candidate)
        return _diff_results(diff_tool_catalogs(baseline, candidate))
    arguments = decoded(case["args"])
    if case["op"] == "field_change":
        return {"value": ToolCatalogFieldChange(**arguments).to_dict()}
    if case["op"] == "change":
        arguments["fields"] = _in_place(lambda item: ToolCatalogFieldChange(**item), arguments["fields"])
        return {"value": ToolCatalogChange(**arguments).to_dict()}
    for name in ("added", "removed", "unchanged"):
        arguments[name] = _in_place(ToolInventoryRecord.from_dict, arguments[name])
    arguments["changed"] = _in_place(_change, arguments["changed"])
    return _diff_results(ToolCatalogDiff(**arguments))


def _change(document: dict[str, Any]) -> ToolCatalogChange:
    fields = tuple(ToolCatalogFieldChange(**field) for field in document["fields"])
    return ToolCatalogChange(document["tool_id"], document["version"], fields)


def _in_place(build: Any, items: Any) -> Any:
    if not isinstance(items, list | tuple):
        return items
    return type(items)(build(item) if isinstance(item, dict) else item for item in items)


def _diff_results(diff: ToolCatalogDiff) -> Results:
    groups = ("added", "removed", "changed", "unchanged")
    return {
        "is_empty": diff.is_empty,
        "counts": {name: len(getattr(diff, name)) for name in groups},
        "json": diff.to_json(),
        "markdown": diff.to_markdown(),
        "repr": repr(diff),
    }


def _schema_digest(case: dict[str, Any]) -> Results:
    given = json.loads(case["text"]) if "text" in case else decoded(case["spec"])
    arguments = {name: value for name, value in given.items() if name != "hints"}
    spec = ToolSpec(name="tool", description="", **arguments, **hint_arguments(given.get("hints", {})))
    digest = tool_spec_schema_digest(spec)
    schemas = {"input_schema": spec.input_schema, "output_schema": spec.output_schema}
    # The reference shows the text nowhere; this is CONTRACTS 1.3 in one line, and the digest checks it.
    text = json.dumps(schemas, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {"schema_digest": digest, "canonical_json": text}


def _side_effect(case: dict[str, Any]) -> Results:
    spec = ToolSpec("tool", "", {}, {}, **hint_arguments(decoded(case["hints"])))
    return {"side_effect_class": str(tool_spec_side_effect_class(spec).value)}


FAMILIES = {
    "identifiers": _identifier,
    "inventory": _inventory,
    "catalog_diff": _catalog_diff,
    "schema_digest": _schema_digest,
    "side_effect": _side_effect,
}

"""What a case of each family does with the core; every function returns the results by their name."""

import json
from collections.abc import Callable
from typing import Any

from contracts import family_cli
from contracts.family_eligibility import eligibility
from contracts.family_run_diff import run_diff
from contracts.family_run_summary import run_summary
from contracts.family_tool_change import tool_change
from contracts.vectors.vector_codec import decode
from toolvet.core.binding import RunToolCatalogSnapshot, ToolBinding
from toolvet.core.canonical import canonical_json
from toolvet.core.catalog_diff import (
    ToolCatalogChange,
    ToolCatalogDiff,
    ToolCatalogFieldChange,
    diff_tool_catalogs,
)
from toolvet.core.eligibility import CatalogEligibility
from toolvet.core.identifiers import (
    ActionId,
    GovernanceKind,
    RunId,
    parse_governance_id,
)
from toolvet.core.inventory import ToolInventory, ToolInventoryRecord
from toolvet.core.run_event import check_event_digests, check_workflow_id
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.tool_contract import schema_digest, schema_object

Results = dict[str, Any]

_DIGEST = "sha256:" + "0" * 64
_VALID_RECORD = {
    "tool_id": "tool:org.example/summarize",
    "version": "1.0.0",
    "capability_class": "capability:org.example/text@1.0.0",
    "side_effect_class": "none",
    "schema_digest": _DIGEST,
}


def _decoded(value: object) -> Any:
    return decode(value, SideEffectClass)


# identifiers


def _correlation(identifier: RunId | ActionId) -> Results:
    return {"serialized": str(identifier), "repr": repr(identifier)}


def _identifier(case: dict[str, Any]) -> Results:
    asked, value = case["type"], _decoded(case["value"])
    if asked.startswith("record."):
        field = asked.removeprefix("record.")
        record = ToolInventoryRecord.from_dict(_VALID_RECORD | {field: value})
        return {"serialized": record.to_dict()[field]}
    match asked:
        case "run_id":
            return _correlation(RunId(value))
        case "action_id":
            return _correlation(ActionId(value))
        case "run_summary.workflow_id":
            return {"serialized": check_workflow_id(value)}
        case "run_summary.artifact_digest":
            (digest,) = check_event_digests([value])
            return {"serialized": digest}
    found = parse_governance_id(value, GovernanceKind(asked))
    return {
        "kind": found.kind,
        "namespace": found.namespace,
        "local_name": found.local_name,
        "version": found.version,
        "serialized": str(found),
        "repr": repr(found),
    }


# inventory


def _inventory(case: dict[str, Any]) -> Results:
    match case["op"]:
        case "inventory_from_mapping":
            return _inventory_results(ToolInventory.from_dict(_decoded(case["document"])))
        case "inventory_from_typed_records":
            records = [_typed_record(record) for record in _decoded(case["records"])]
            return _inventory_results(ToolInventory.from_records(records))
        case "inventory_from_iterable":
            return _inventory_results(ToolInventory.from_records(_decoded(case["iterable"])))
        case "record_from_mapping":
            return _record_results(ToolInventoryRecord.from_dict(_decoded(case["record"])))
        case "record_typed":
            return _record_results(ToolInventoryRecord(**_decoded(case["record"])))
    raise AssertionError(f"unknown op {case['op']}")


def _typed_record(document: object) -> object:
    return ToolInventoryRecord.from_dict(document) if isinstance(document, dict) else document


def _inventory_results(inventory: ToolInventory) -> Results:
    return {
        "tool_count": len(inventory.tools),
        "json": inventory.to_json(),
        "markdown": inventory.to_markdown(),
        "repr": repr(inventory),
    }


def _record_results(record: ToolInventoryRecord) -> Results:
    written = record.to_dict()
    return {"record": written, "record_field_order": list(written), "repr": repr(record)}


# catalog_diff


def _catalog_diff(case: dict[str, Any]) -> Results:
    match case["op"]:
        case "diff":
            baseline, candidate = _decoded(case["baseline"]), _decoded(case["candidate"])
            if case.get("typed"):
                baseline, candidate = ToolInventory.from_dict(baseline), ToolInventory.from_dict(candidate)
            return _diff_results(diff_tool_catalogs(baseline, candidate))
        case "field_change":
            return {"value": ToolCatalogFieldChange(**_decoded(case["args"])).to_dict()}
        case "change":
            arguments = _decoded(case["args"])
            arguments["fields"] = _each(lambda item: ToolCatalogFieldChange(**item), arguments["fields"])
            return {"value": ToolCatalogChange(**arguments).to_dict()}
        case "construct":
            arguments = _decoded(case["args"])
            for name in ("added", "removed", "unchanged"):
                arguments[name] = _each(ToolInventoryRecord.from_dict, arguments[name])
            arguments["changed"] = _each(_typed_change, arguments["changed"])
            return _diff_results(ToolCatalogDiff(**arguments))
    raise AssertionError(f"unknown op {case['op']}")


def _typed_change(document: dict[str, Any]) -> ToolCatalogChange:
    fields = tuple(ToolCatalogFieldChange(**field) for field in document["fields"])
    return ToolCatalogChange(**document | {"fields": fields})


def _each(build: Callable[[Any], object], items: Any) -> Any:
    """Build typed objects of the mappings in a collection and keep the collection's own type."""
    if not isinstance(items, list | tuple):
        return items
    return type(items)(build(item) if isinstance(item, dict) else item for item in items)


def _diff_results(diff: ToolCatalogDiff) -> Results:
    return {
        "is_empty": diff.is_empty,
        "counts": diff.counts,
        "json": diff.to_json(),
        "markdown": diff.to_markdown(),
        "repr": repr(diff),
    }


# schema_digest


def _schema_digest(case: dict[str, Any]) -> Results:
    spec = json.loads(case["text"]) if "text" in case else _decoded(case["spec"])
    schemas = {name: schema_object(spec[name]) for name in ("input_schema", "output_schema")}
    digest = schema_digest(schemas["input_schema"], schemas["output_schema"])
    return {"schema_digest": digest, "canonical_json": canonical_json(schemas)}


# side_effect


def _side_effect(case: dict[str, Any]) -> Results:
    return {"side_effect_class": side_effect_class_from_hints(_decoded(case["hints"]))}


# snapshot


def _snapshot(case: dict[str, Any]) -> Results:
    match case["op"]:
        case "from_mapping":
            return _snapshot_results(RunToolCatalogSnapshot.from_dict(_decoded(case["document"])))
        case "construct":
            return _snapshot_results(_construct_snapshot(_decoded(case["args"])))
        case "eligibility_construct":
            arguments = _decoded(case["args"])
            reasons = arguments["reasons"]
            if arguments.get("as_tuple", True):
                reasons = tuple(reasons)
            return {"report": CatalogEligibility(arguments["snapshot_digest"], reasons).to_dict()}
    raise AssertionError(f"unknown op {case['op']}")


def _construct_snapshot(arguments: dict[str, Any]) -> RunToolCatalogSnapshot:
    bindings = [_typed_binding(item) for item in arguments["bindings"]]
    typed_run_id, as_tuple = (arguments.pop(name, True) for name in ("typed_run_id", "as_tuple"))
    arguments["bindings"] = tuple(bindings) if as_tuple else bindings
    if typed_run_id:
        arguments["run_id"] = RunId(arguments["run_id"])
    return RunToolCatalogSnapshot(**arguments)


def _typed_binding(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return ToolBinding(_typed_record(item["tool"]), item["implementation_id"])


def _snapshot_results(snapshot: RunToolCatalogSnapshot) -> Results:
    return {"snapshot_json": snapshot.to_json(), "snapshot_digest": snapshot.digest, "repr": repr(snapshot)}


FAMILIES: dict[str, Callable[[dict[str, Any]], Results]] = {
    "catalog_diff": _catalog_diff,
    "cli": family_cli.run_case,
    "eligibility": eligibility,
    "identifiers": _identifier,
    "inventory": _inventory,
    "run_diff": run_diff,
    "run_summary": run_summary,
    "schema_digest": _schema_digest,
    "side_effect": _side_effect,
    "snapshot": _snapshot,
    "tool_change": tool_change,
}

"""Family eligibility: a catalog captured, then checked, restored or invoked against what was observed later.

Every case runs twice where it can: against a registry that overrides the lookup, which takes the full
comparison, and against a plain one, whose answer is proved the cheap way. Both must agree.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from contracts.vectors.vector_codec import decode
from toolvet.runtime import (
    ContractError,
    RunId,
    RunToolCatalog,
    RunToolCatalogSnapshot,
    SideEffectClass,
    ToolInventory,
    ToolRegistry,
    ToolSpec,
)

Results = dict[str, Any]
Handlers = dict[str, Callable[..., Any]]

_HINTS = {
    "readOnlyHint": "read_only_hint",
    "destructiveHint": "destructive_hint",
    "idempotentHint": "idempotent_hint",
    "openWorldHint": "open_world_hint",
}


class OverridingRegistry(ToolRegistry):
    """Answers lookups as a case describes them; after ``good_for`` of them all is replaced."""

    def __init__(self, entries: list[dict[str, Any]], handlers: Handlers) -> None:
        super().__init__()
        self.entries = {(entry["name"], entry["version"]): entry for entry in entries}
        self.handlers = handlers
        self.good_for: int | None = None

    def implementation_binding(self, name: str, version: str) -> Any:
        entry = self.entries[name, version]
        if entry["handler"] is None:
            raise KeyError
        if entry.get("lookup") == "raises":
            raise RuntimeError("a registry's own failure")
        identity = "sha256:?" if entry.get("lookup") == "bad_identity" else entry["implementation_id"]
        answer = _spec(entry), self.handlers[entry["handler"]], identity
        if self.good_for is not None:
            self.good_for -= 1
            if self.good_for == 0:
                self.entries = {
                    key: entry | {"handler": "none:replaced", "implementation_id": "sha256:" + "9" * 64}
                    for key, entry in self.entries.items()
                }
        return answer


def _plain(entries: list[dict[str, Any]], handlers: Handlers) -> ToolRegistry:
    registry = ToolRegistry()
    for entry in entries:
        label = entry["handler"]
        registry.register(_spec(entry), handler=None if label is None else handlers[label])
        registry._registrations[entry["name"], entry["version"]].identity = entry["implementation_id"]
    return registry


def _spec(entry: dict[str, Any]) -> ToolSpec:
    schema = entry["input_schema"]
    if entry.get("lookup") == "schema_not_json":
        schema = schema | {"default": object()}
    return ToolSpec(
        name=entry["name"],
        description=entry.get("description", ""),
        input_schema=schema,
        output_schema=entry["output_schema"],
        version=entry.get("spec_version", entry["version"]),
        **{_HINTS[name]: value for name, value in entry["hints"].items()},
    )


def _handler(label: str) -> Callable[..., Any]:
    def echo(**arguments: Any) -> Any:
        return {"handler": label, "arguments": arguments}

    def count(value: int = 0) -> Any:
        return {"handler": label, "count": value + 1}

    def fail(**arguments: Any) -> Any:
        raise ValueError("a handler's own failure")

    def none(**arguments: Any) -> Any:
        return None

    return {"echo": echo, "count": count, "fail": fail, "none": none}[label.partition(":")[0]]


def eligibility(case: dict[str, Any]) -> Results:
    results = _outcome(partial(_run, case, OverridingRegistry))
    if _can_be_plain(case):
        assert _outcome(partial(_run, case, _plain)) == results
    if "error" in results:
        raise results["error"][0](*results["error"][1:])
    return results


def _can_be_plain(case: dict[str, Any]) -> bool:
    later = case.get("observed")
    entries = (case["registry"] or []) + (later if isinstance(later, list) else [])
    odd = any(
        entry.get("lookup") in {"raises", "bad_identity"} or "spec_version" in entry for entry in entries
    )
    return not odd and "race" not in case


def _outcome(run: Callable[[], Results]) -> Results:
    try:
        return run()
    except ContractError as error:
        return {"error": (type(error), error.code)}


def _run(case: dict[str, Any], build: Callable[[list[dict[str, Any]], Handlers], ToolRegistry]) -> Results:
    case = decode(case, SideEffectClass)
    later = case.get("observed")
    entries = (case["registry"] or []) + (later if isinstance(later, list) else [])
    labels = {entry["handler"] for entry in entries} | {"none:replaced"}
    handlers = {label: _handler(label) for label in labels if label is not None}
    registry: Any = None if case["registry"] is None else build(case["registry"], handlers)
    names = {(tool_id, version): name for tool_id, version, name in case["names"]}
    catalog = RunToolCatalog.capture(
        RunId(case["run_id"]), ToolInventory.from_dict(case["inventory"]), registry, names
    )
    evidence = {"snapshot_json": catalog.snapshot.to_json(), "snapshot_digest": catalog.snapshot.digest}
    observed: Any = {"same": registry, "wrong-type": object()}.get(later) if isinstance(later, str) else None
    if isinstance(later, list):
        observed = build(later, handlers)
    match case["op"]:
        case "capture":
            return evidence
        case "check":
            return evidence | _report(catalog, observed)
        case "restore":
            snapshot = RunToolCatalogSnapshot.from_dict(catalog.snapshot.to_dict())
            if "restore_names" in case:
                names = {(tool_id, version): name for tool_id, version, name in case["restore_names"]}
            restored = RunToolCatalog.restore(snapshot, observed, names)
            assert restored.snapshot.digest == catalog.snapshot.digest
            return evidence | _report(restored, observed)
        case "invoke":
            if case.get("race") == "replaced_after_final_check":
                observed.good_for = len(catalog.snapshot.bindings)
            return evidence | {
                "result": catalog.invoke(observed, case["tool_id"], case["version"], case["arguments"])
            }
    raise AssertionError(f"unknown op {case['op']}")


def _report(catalog: RunToolCatalog, observed: Any) -> Results:
    report = catalog.check(observed).to_dict()
    return {"report": report, "report_field_order": list(report)}

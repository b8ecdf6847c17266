"""Snapshots, reports, and catalogs bound to a registry, by the reference."""

import itertools
from typing import Any

from answer_records import decoded, hint_arguments, typed_record
from openmed.agent.correlation import RunId
from openmed.agent.tool_catalog_binding import (
    CatalogEligibility,
    RunToolCatalog,
    RunToolCatalogSnapshot,
    ToolImplementationBinding,
)
from openmed.agent.tool_inventory import ToolInventory
from openmed.mcp.tool_registry import ToolRegistry, ToolSpec

Results = dict[str, Any]


def _snapshot(case: dict[str, Any]) -> Results:
    if case["op"] == "from_mapping":
        return _snapshot_results(RunToolCatalogSnapshot.from_dict(decoded(case["document"])))
    arguments = decoded(case["args"])
    as_tuple, typed = arguments.pop("as_tuple", True), arguments.pop("typed_run_id", True)
    if case["op"] == "eligibility_construct":
        reasons = tuple(arguments["reasons"]) if as_tuple else arguments["reasons"]
        return {"report": CatalogEligibility(arguments["snapshot_digest"], reasons).to_dict()}
    bindings = [_typed_binding(item) for item in arguments["bindings"]]
    arguments["bindings"] = tuple(bindings) if as_tuple else bindings
    if typed:
        arguments["run_id"] = RunId.parse(arguments["run_id"])
    return _snapshot_results(RunToolCatalogSnapshot(**arguments))


def _typed_binding(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return ToolImplementationBinding(typed_record(item["tool"]), item["implementation_id"])


def _snapshot_results(snapshot: RunToolCatalogSnapshot) -> Results:
    return {"snapshot_json": snapshot.to_json(), "snapshot_digest": snapshot.digest, "repr": repr(snapshot)}


class _Handlers:
    """Equal labels are the same object, as the vectors say."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __call__(self, label: str) -> Any:
        return self._made.setdefault(label, _handler(label))


def _handler(label: str) -> Any:
    def echo(**arguments: Any) -> Any:
        return {"handler": label, "arguments": arguments}

    def count(value: Any = 0) -> Any:
        return {"handler": label, "count": value + 1}

    def fail(**_: Any) -> Any:
        raise RuntimeError(label)

    def none(**_: Any) -> Any:
        return None

    return {"echo": echo, "count": count, "fail": fail, "none": none}[label.partition(":")[0]]


class _Registry(ToolRegistry):
    """The registrations of a case, with the identities and the faults that it asks for."""

    def __init__(self, entries: list[dict[str, Any]], handlers: _Handlers) -> None:
        super().__init__()
        self._entries = {(entry["name"], entry["version"]): entry for entry in entries}
        self._handler_of = handlers
        self.lookups_until_replaced: int | None = None

    def implementation_binding(self, name: str, version: str) -> Any:
        entry = self._entries[name, version]
        if entry.get("handler") is None:
            raise KeyError(name)
        if entry.get("lookup") == "raises":
            raise RuntimeError(name)
        identity = "identity" if entry.get("lookup") == "bad_identity" else entry["implementation_id"]
        found = (_spec(entry), self._handler_of(entry["handler"]), identity)
        if self.lookups_until_replaced is not None:
            self.lookups_until_replaced -= 1
            if self.lookups_until_replaced == 0:
                self._replace()
        return found

    def _replace(self) -> None:
        for entry, number in zip(self._entries.values(), itertools.count(), strict=False):
            changed = {"handler": f"echo:replaced{number}", "implementation_id": f"sha256:{number:064x}"}
            self._entries[entry["name"], entry["version"]] = entry | changed


def _spec(entry: dict[str, Any]) -> ToolSpec:
    schema = entry["input_schema"]
    if entry.get("lookup") == "schema_not_json":
        schema = schema | {"x": {1}}
    return ToolSpec(
        name=entry["name"],
        description=entry.get("description", ""),
        input_schema=schema,
        output_schema=entry["output_schema"],
        version=entry.get("spec_version", entry["version"]),
        title=entry.get("title", ""),
        **hint_arguments(entry["hints"]),
    )


def _names(triples: Any) -> Any:
    return {(tool_id, version): name for tool_id, version, name in triples}


def _eligibility(case: dict[str, Any]) -> Results:
    handlers = _Handlers()
    inventory = ToolInventory.from_dict(case["inventory"])
    registry = _registry(case["registry"], handlers)
    names = _names(decoded(case["names"]))
    catalog = RunToolCatalog.capture(RunId.parse(case["run_id"]), inventory, registry, names)
    if case["op"] == "capture":
        return {"snapshot_json": catalog.snapshot.to_json(), "snapshot_digest": catalog.snapshot.digest}
    observed = case.get("observed", "same")
    later = registry if observed == "same" else _registry(observed, handlers)
    if case["op"] == "check":
        report = catalog.check(later).to_dict()
        return {"report": report, "report_field_order": list(report)}
    if case["op"] == "restore":
        snapshot = RunToolCatalogSnapshot.from_dict(catalog.snapshot.to_dict())
        restored = RunToolCatalog.restore(
            snapshot, later, _names(decoded(case.get("restore_names", case["names"])))
        )
        return {
            "snapshot_json": restored.snapshot.to_json(),
            "snapshot_digest": restored.snapshot.digest,
            "report": restored.check(later).to_dict(),
        }
    if case.get("race"):
        later.lookups_until_replaced = len(catalog.snapshot.bindings)
    arguments = decoded(case["arguments"])
    result = catalog.invoke(later, decoded(case["tool_id"]), decoded(case["version"]), arguments)
    return {"snapshot_digest": catalog.snapshot.digest, "result": result}


def _registry(given: Any, handlers: _Handlers) -> Any:
    if isinstance(given, list):
        return _Registry(decoded(given), handlers)
    return object() if given == "wrong-type" else None


FAMILIES = {"snapshot": _snapshot, "eligibility": _eligibility}

"""Every parser there is, by name: a valid input to start from, and what to do with any input."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fuzz import seeds
from toolvet.core.binding import RunToolCatalogSnapshot, ToolBinding
from toolvet.core.catalog_diff import (
    ToolCatalogChange,
    ToolCatalogDiff,
    ToolCatalogFieldChange,
    diff_tool_catalogs,
)
from toolvet.core.eligibility import CatalogEligibility
from toolvet.core.identifiers import ActionId, GovernanceKind, RunId, parse_governance_id
from toolvet.core.inventory import (
    ToolInventory,
    ToolInventoryRecord,
    check_capability_class,
    check_schema_digest,
    check_tool_id,
    check_version,
    parse_side_effect_class,
)
from toolvet.core.json_reader import read_json
from toolvet.core.outcome import WorkflowOutcome, allowed_reason_codes
from toolvet.core.run_diff import RunSummaryDiff, diff_run_summaries
from toolvet.core.run_event import RunEvent, check_event_digests, check_workflow_id, parse_events
from toolvet.core.run_summary import RunSummary
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.tool_contract import schema_digest
from toolvet.core.tool_definition import hints
from toolvet.core.tool_listing import ToolListing
from toolvet.core.tool_mapping import parse_mapping
from toolvet.runtime import (
    RunToolCatalog,
    ToolRegistry,
    ToolSpec,
    registry_from_listing,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)

RECORD = ToolInventoryRecord.from_dict(seeds.record())
INVENTORY = ToolInventory.from_dict(seeds.inventory())
SUMMARY = RunSummary.from_dict(seeds.summary())
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Parser:
    """``run`` takes the seed, anything made of it, and anything else.

    ``raw`` ones read JSON text as bytes; ``plain`` ones are only given what a JSON or YAML reader gives.
    """

    seed: Any
    run: Callable[[Any], object]
    raw: bool = False
    plain: bool = False


def _registry(arguments: Any) -> object:
    registry = ToolRegistry()
    spec = _spec(arguments)
    registry.register(spec, handler=print)
    found = registry.get(spec.name)
    return registry.all_specs(), tool_spec_schema_digest(found), tool_spec_side_effect_class(found)


def _spec(arguments: Any) -> ToolSpec:
    return ToolSpec(**_keywords(arguments, seeds.spec()))


def _keywords(given: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Only known names and no missing one: the rest is Python's own error, before any code of ours."""
    if not isinstance(given, dict):
        return dict(names)
    return {name: given.get(name, value) for name, value in names.items()}


def _catalog(names: Any) -> tuple[RunToolCatalog, ToolRegistry]:
    registry = ToolRegistry()
    registry.register(ToolSpec(seeds.WORD, "", {}, {}), handler=lambda **_: None)
    record = ToolInventoryRecord(
        seeds.TOOL, "1.0.0", seeds.CAPABILITY, SideEffectClass.DESTRUCTIVE, schema_digest({}, {})
    )
    return RunToolCatalog.capture(RunId(seeds.RUN), ToolInventory((record,)), registry, names), registry


def _invoke(call: Any) -> object:
    catalog, registry = _catalog(_NAMES)
    call = _keywords(call, _CALL)
    return catalog.invoke(registry, call["tool_id"], call["version"], call["arguments"])


def _diff(arguments: Any) -> ToolCatalogDiff:
    empty: tuple[Any, ...] = ()
    parts = dict.fromkeys(("added", "removed", "changed", "unchanged"), empty)
    return ToolCatalogDiff(**_keywords(arguments, parts))


def _listing(page: Any) -> object:
    return ToolListing().take(page) if isinstance(page, Mapping) else None


def _definitions(listed: Any) -> object:
    if not isinstance(listed, list):
        return None
    return registry_from_listing(listed, version="1.0.0", call=_call)


async def _call(_name: str, _arguments: dict[str, Any]) -> object:
    raise NotImplementedError


def _mapping(document: Any) -> object:
    return parse_mapping(document).resolve([seeds.WORD])


def _hints(definition: Any) -> object:
    return side_effect_class_from_hints(hints(definition)) if isinstance(definition, Mapping) else None


def _document(parse: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda data: parse(read_json(data, field="document", max_bytes=MAX_BYTES))


def _text(document: Any) -> bytes:
    return json.dumps(document).encode()


_FIELD_CHANGE = {"field": "schema_digest", "before": seeds.DIGEST, "after": "sha256:" + "0" * 64}
_FIELDS = {
    "tool_id": seeds.TOOL,
    "version": seeds.VERSION,
    "fields": (ToolCatalogFieldChange(**_FIELD_CHANGE),),
}
_NAMES = {(seeds.TOOL, "1.0.0"): seeds.WORD}
_CALL = {"tool_id": seeds.TOOL, "version": "1.0.0", "arguments": {seeds.WORD: seeds.NUMBER}}
_BINDING = {"tool": RECORD, "implementation_id": seeds.DIGEST}
_REPORT = {"snapshot_digest": seeds.DIGEST, "reasons": ("schema_changed",)}
_EVENT = seeds.event() | {"outcome": WorkflowOutcome.from_dict(seeds.outcome())}
_EVENTS = [seeds.event(), seeds.event()]

PARSERS: dict[str, Parser] = {
    **{
        f"identifier {kind}": Parser(
            f"{kind}:org.{seeds.WORD}/{seeds.WORD}@{seeds.VERSION}",
            lambda value, kind=kind: parse_governance_id(value, kind),
        )
        for kind in GovernanceKind
    },
    "tool id": Parser(seeds.TOOL, check_tool_id),
    "version": Parser(seeds.VERSION, check_version),
    "capability class": Parser(seeds.CAPABILITY, check_capability_class),
    "side-effect class": Parser("read-only", parse_side_effect_class),
    "digest": Parser(seeds.DIGEST, check_schema_digest),
    "run id": Parser(seeds.RUN, RunId),
    "action id": Parser(seeds.RUN.replace("run", "act"), ActionId),
    "summary workflow id": Parser(seeds.WORKFLOW, check_workflow_id),
    "summary digests": Parser(seeds.digests(3), check_event_digests),
    "record": Parser(seeds.record(), ToolInventoryRecord.from_dict),
    "typed record": Parser(
        seeds.record() | {"side_effect_class": SideEffectClass.NONE},
        lambda given: ToolInventoryRecord(**_keywords(given, seeds.record())),
    ),
    "inventory": Parser(seeds.inventory(), ToolInventory.from_dict),
    "typed inventory": Parser([RECORD], ToolInventory.from_records),
    "inventory text": Parser(_text(seeds.inventory()), _document(ToolInventory.from_dict), raw=True),
    "diff baseline": Parser(seeds.inventory(), lambda given: diff_tool_catalogs(given, INVENTORY)),
    "diff candidate": Parser(seeds.inventory(), lambda given: diff_tool_catalogs(INVENTORY, given)),
    "diff field": Parser(
        _FIELD_CHANGE, lambda given: ToolCatalogFieldChange(**_keywords(given, _FIELD_CHANGE))
    ),
    "diff change": Parser(_FIELDS, lambda given: ToolCatalogChange(**_keywords(given, _FIELDS))),
    "diff built": Parser({"added": (RECORD,)}, _diff),
    "binding": Parser(_BINDING, lambda given: ToolBinding(**_keywords(given, _BINDING))),
    "snapshot": Parser(seeds.snapshot(), RunToolCatalogSnapshot.from_dict),
    "snapshot text": Parser(_text(seeds.snapshot()), _document(RunToolCatalogSnapshot.from_dict), raw=True),
    "report": Parser(_REPORT, lambda given: CatalogEligibility(**_keywords(given, _REPORT))),
    "outcome": Parser(seeds.outcome(), WorkflowOutcome.from_dict),
    "outcome class": Parser("failed", allowed_reason_codes),
    "outcome text": Parser(_text(seeds.outcome()), WorkflowOutcome.from_json, raw=True),
    "event": Parser(seeds.event(), RunEvent.from_dict),
    "typed event": Parser(_EVENT, lambda given: RunEvent(**_keywords(given, _EVENT))),
    "events": Parser(_EVENTS, lambda given: parse_events(given) if isinstance(given, list) else None),
    "summary": Parser(seeds.summary(), RunSummary.from_dict),
    "typed summary": Parser(seeds.summary(), lambda given: RunSummary(**_keywords(given, seeds.summary()))),
    "summary of events": Parser([RunEvent(**_EVENT)], RunSummary.from_events),
    "summary text": Parser(_text(seeds.summary()), RunSummary.from_json, raw=True),
    "summary of any text": Parser(_text(seeds.summary()).decode(), RunSummary.from_json),
    "run diff": Parser(SUMMARY, lambda given: diff_run_summaries(SUMMARY, given)),
    "run diff built": Parser(
        seeds.summary_diff(), lambda given: RunSummaryDiff(**_keywords(given, seeds.summary_diff()))
    ),
    "json": Parser(_text(seeds.inventory()), _document(lambda document: document), raw=True),
    "schema": Parser(seeds.SCHEMA, lambda given: schema_digest(given, {})),
    "tool spec": Parser(seeds.spec(), _spec),
    "registry": Parser(seeds.spec(), _registry),
    "hints": Parser({"annotations": seeds.HINTS}, _hints, plain=True),
    "listing page": Parser({"tools": seeds.listing(), "nextCursor": seeds.WORD}, _listing, plain=True),
    "listing": Parser(seeds.listing(), _definitions, plain=True),
    "tool mapping": Parser(seeds.mapping(), _mapping, plain=True),
    "tool names": Parser(_NAMES, lambda given: _catalog(given)[0]),
    "invocation": Parser(_CALL, _invoke),
}

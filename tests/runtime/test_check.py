"""What check, findings and restore say of everything that can change (CONTRACTS 9.2, 9.3, 9.5, 9.7)."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any
from unittest.mock import Mock

import pytest

from runtime.build import CANARY, DESTRUCTIVE, RUN_ID, Bed, Overriding, bed, count, edit, record, spec
from toolvet.runtime import (
    RunToolCatalog,
    RunToolCatalogSnapshot,
    ToolCatalogBindingError,
    ToolCatalogReviewRequired,
    ToolFinding,
    ToolRegistry,
    ToolSpec,
)


def other(value: int = 0) -> dict[str, int]:
    return {"count": -value}


def again(made: Bed, handler: Callable[..., Any] = count, **changed: Any) -> ToolRegistry:
    """A registry of the same tools, the first of which is registered anew."""
    registry = ToolRegistry()
    registry.register(spec("rt-0", **changed), handler=handler)
    registry._registrations["rt-1", "1.0.0"] = made.registry._registrations["rt-1", "1.0.0"]
    return registry


def edited(made: Bed, **changed: Any) -> ToolRegistry:
    edit(made.specs[0], **changed)
    return made.registry


def schema_edited_in_place(made: Bed) -> ToolRegistry:
    made.registry.get("rt-0").input_schema["properties"]["value"]["type"] = "number"
    return made.registry


def same_identity(made: Bed, handler: Callable[..., Any]) -> ToolRegistry:
    registry = again(made, handler)
    kept = made.registry._registrations["rt-0", "1.0.0"].identity
    registry._registrations["rt-0", "1.0.0"].identity = kept
    return registry


def answering(made: Bed, answer: Callable[[ToolSpec, Any, str], Any]) -> ToolRegistry:
    def look_up(name: str, version: str) -> Any:
        found = made.registry.implementation_binding(name, version)
        return answer(*found) if name == "rt-0" else found

    return Overriding(look_up)


def raising(made: Bed, error: BaseException) -> ToolRegistry:
    def answer(*found: object) -> Any:
        raise error

    return answering(made, answer)


class SpecOfAnotherKind(ToolSpec):
    pass


def retyped(of: ToolSpec) -> ToolSpec:
    return SpecOfAnotherKind(**{item.name: getattr(of, item.name) for item in fields(of)})


class NoTruth:
    def __bool__(self) -> bool:
        raise RuntimeError(CANARY)


class Raises:
    @property
    def __class__(self) -> Any:
        raise RuntimeError(CANARY)


class Text(str):
    __slots__ = ()


@dataclass
class Row:
    name: str
    observe: Callable[[Bed], Any]
    reasons: list[str]
    findings: list[str] | None = None
    restore: str | None = None
    every_tool: bool = False


UNAVAILABLE = ["catalog_unavailable"]
ROWS = [
    Row("same everything", lambda made: made.registry, []),
    Row("removed", lambda _: ToolRegistry(), ["tool_unavailable"], every_tool=True),
    Row("handler missing", lambda made: ToolRegistry(made.specs), ["tool_unavailable"], every_tool=True),
    Row("renamed", lambda made: raising(made, KeyError(CANARY)), ["tool_unavailable"]),
    Row("only another version", lambda made: again(made, version="1.0.1"), ["tool_unavailable"]),
    Row("schema edited", lambda made: edited(made, output_schema={}), ["schema_changed"]),
    Row("schema edited in place", schema_edited_in_place, ["schema_changed"]),
    Row("output schema gone", lambda made: edited(made, output_schema=None), ["schema_changed"]),
    Row("schema of another shape", lambda made: edited(made, input_schema=[]), ["schema_changed"]),
    Row("class edited", lambda made: edited(made, **DESTRUCTIVE), ["side_effect_changed"]),
    Row("hint without truth", lambda made: edited(made, read_only_hint=NoTruth()), ["side_effect_changed"]),
    Row(
        "schema and class edited",
        lambda made: edited(made, output_schema={}, **DESTRUCTIVE),
        ["schema_changed"],
        ["schema_changed", "side_effect_changed"],
    ),
    Row("registered anew", again, ["implementation_changed"]),
    Row("other handler, registered anew", lambda made: again(made, other), ["implementation_changed"]),
    Row(
        "other handler of the same identity",
        lambda made: same_identity(made, other),
        ["implementation_changed"],
        restore="eligible",
    ),
    Row(
        "other identity and a schema edit",
        lambda made: again(made, output_schema={}),
        ["implementation_changed", "schema_changed"],
        ["schema_changed", "implementation_changed"],
        restore="schema_changed",
    ),
    Row(
        "other identity and a class edit",
        lambda made: again(made, **DESTRUCTIVE),
        ["implementation_changed", "side_effect_changed"],
        ["side_effect_changed", "implementation_changed"],
        restore="side_effect_changed",
    ),
    Row(
        "other identity, schema and class",
        lambda made: again(made, output_schema={}, **DESTRUCTIVE),
        ["implementation_changed", "schema_changed"],
        ["schema_changed", "side_effect_changed", "implementation_changed"],
        restore="schema_changed",
    ),
    Row(
        "schema cannot be written",
        lambda made: edited(made, output_schema={"default": object()}),
        ["invalid_schema"],
    ),
    Row(
        "not a number", lambda made: edited(made, output_schema={"default": float("nan")}), ["invalid_schema"]
    ),
    Row(
        "schema cannot be written, other identity and class",
        lambda made: again(made, output_schema={"default": {1, 2}}, **DESTRUCTIVE),
        ["invalid_schema"],
        ["invalid_schema", "side_effect_changed", "implementation_changed"],
        restore="invalid_schema",
    ),
    Row(
        "spec of another version",
        lambda made: edited(made, version="1.0.1"),
        ["tool_unavailable"],
    ),
    Row(
        "spec of another version, other identity",
        lambda made: answering(
            made, lambda _, handler, __: (spec("rt-0", version="2.0.0"), handler, "sha256:" + "0" * 64)
        ),
        ["implementation_changed", "tool_unavailable"],
        ["tool_unavailable", "implementation_changed"],
        restore="tool_unavailable",
    ),
    Row("registry gone", lambda _: None, UNAVAILABLE, every_tool=True),
    Row("wrong type", lambda _: {}, UNAVAILABLE, every_tool=True),
    Row("raises when asked what it is", lambda _: Raises(), UNAVAILABLE, every_tool=True),
    Row("lookup fails", lambda made: raising(made, RuntimeError(CANARY)), UNAVAILABLE),
    Row("lookup fails as an index would", lambda made: raising(made, IndexError(CANARY)), UNAVAILABLE),
    Row("nothing found", lambda made: answering(made, lambda *_: None), UNAVAILABLE),
    Row("two found", lambda made: answering(made, lambda of, handler, _: (of, handler)), UNAVAILABLE),
    Row("four found", lambda made: answering(made, lambda *found: (*found, 1)), UNAVAILABLE),
    Row("no spec", lambda made: answering(made, lambda _, *rest: ({}, *rest)), UNAVAILABLE),
    Row("spec of another kind", lambda made: answering(made, lambda of, *r: (retyped(of), *r)), UNAVAILABLE),
    Row("no handler", lambda made: answering(made, lambda of, _, i: (of, None, i)), UNAVAILABLE),
    Row("handler not callable", lambda made: answering(made, lambda of, _, i: (of, CANARY, i)), UNAVAILABLE),
    Row("identity malformed", lambda made: answering(made, lambda of, h, _: (of, h, CANARY)), UNAVAILABLE),
    Row("identity absent", lambda made: answering(made, lambda of, h, _: (of, h, None)), UNAVAILABLE),
    Row(
        "identity of another kind", lambda made: answering(made, lambda s, h, i: (s, h, Text(i))), UNAVAILABLE
    ),
    Row("spec cannot be copied", lambda made: edited(made, parameters=(Lock(),)), UNAVAILABLE),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_observed_leads_to_these_reasons(row: Row):
    made = bed()
    observed = row.observe(made)
    report = made.catalog.check(observed)
    assert report.to_dict() == {
        "snapshot_digest": made.catalog.snapshot.digest,
        "status": "re-review-required" if row.reasons else "eligible",
        "preview_valid": not row.reasons,
        "resume_eligible": not row.reasons,
        "reasons": row.reasons,
    }
    findings = [finding.to_dict() for finding in made.catalog.findings(observed)]
    count_at_fault = 0 if not row.reasons else 2 if row.every_tool else 1
    assert findings == [
        {"tool_id": f"tool:org.example/t-{index}", "version": "1.0.0", "reasons": row.findings or row.reasons}
        for index in range(count_at_fault)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_invoke_refuses_both_tools_for_the_first_reason_by_alphabet(row: Row):
    made = bed()
    observed = row.observe(made)
    for index in (0, 1):
        if not row.reasons:
            assert made.catalog.invoke(observed, *made.key(index), {"value": 5}) == {"count": 6 + index}
            continue
        with pytest.raises(ToolCatalogReviewRequired) as caught:
            made.catalog.invoke(observed, *made.key(index), {"value": 5})
        assert (type(caught.value), caught.value.code) == (ToolCatalogReviewRequired, min(row.reasons))
        assert len(caught.value.faults) == len(row.findings or row.reasons) * (2 if row.every_tool else 1)
        assert all(str(fault).startswith("tools[") for fault in caught.value.faults)
        assert CANARY not in f"{caught.value!r} {caught.value.args} {caught.value.faults}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_restore_puts_the_contract_before_the_identity(row: Row):
    made = bed()
    evidence = RunToolCatalogSnapshot.from_dict(made.catalog.snapshot.to_dict())
    observed = row.observe(made)
    expected = row.restore or (row.reasons[0] if row.reasons else "eligible")
    if expected == "eligible":
        restored = RunToolCatalog.restore(evidence, observed, made.names)
        assert restored.snapshot.digest == made.catalog.snapshot.digest
        assert restored.check(observed).preview_valid
        return
    with pytest.raises(ToolCatalogBindingError) as caught:
        RunToolCatalog.restore(evidence, observed, made.names)
    base = expected == "invalid_schema"
    assert type(caught.value) is (ToolCatalogBindingError if base else ToolCatalogReviewRequired)
    assert caught.value.code == expected
    assert caught.value.faults
    assert CANARY not in f"{caught.value!r} {caught.value.args} {caught.value.faults}"


def test_restore_takes_the_current_handler_where_the_identity_is_the_same():
    made = bed()
    observed = same_identity(made, other)
    restored = RunToolCatalog.restore(made.catalog.snapshot, observed, made.names)
    assert restored.invoke(observed, *made.key(0), {"value": 5}) == {"count": -5}


def test_restore_refuses_what_is_no_snapshot_and_names_that_are_not_its_own():
    made = bed()
    for snapshot in (None, made.catalog.snapshot.to_dict(), made.catalog):
        with pytest.raises(ToolCatalogBindingError) as caught:
            RunToolCatalog.restore(snapshot, made.registry, made.names)
        assert (type(caught.value), str(caught.value)) == (ToolCatalogBindingError, "invalid_snapshot")
    with pytest.raises(ToolCatalogBindingError) as caught:
        RunToolCatalog.restore(made.catalog.snapshot, made.registry, {})
    assert (type(caught.value), str(caught.value)) == (ToolCatalogBindingError, "invalid_selection")


@pytest.mark.parametrize(
    "change",
    [
        {"description": "other words"},
        {"title": "Another title"},
        {"open_world_hint": False},
        {"idempotent_hint": True},
        {"destructive_hint": False},
        {"stability": "deprecated"},
        {"input_schema": {"properties": {"value": {"type": "integer"}}, "type": "object"}},
    ],
    ids=str,
)
def test_what_is_outside_the_digest_goes_unnoticed(change: dict[str, Any]):
    made = bed()
    edit(made.specs[0], **change)
    assert made.catalog.check(made.registry).reasons == ()


def test_numbers_that_are_equal_but_written_differently_are_noticed():
    registry_bed = bed()
    for default in (1, 1.0, True):
        made = bed()
        made.specs[0].input_schema["default"] = default
        digests = {made.catalog.findings(made.registry)[0].reasons}
        assert digests == {("schema_changed",)}
    of, registry = spec(input_schema={"default": 1}), ToolRegistry()
    registry.register(of, handler=count)
    judged = set()
    for default in (1, 1.0, True, 1, 0.0, -0.0, "1"):
        of.input_schema["default"] = default
        judged.add(registry._registrations["rt-0", "1.0.0"].contract())
    assert len(judged) == 6
    assert registry_bed.catalog.check(registry_bed.registry).preview_valid


def test_an_empty_array_put_in_the_place_of_an_empty_schema_is_noticed():
    made = bed()
    made.specs[0].output_schema.clear()
    record_of_it = record("tool:org.example/t-0", made.specs[0])
    inventory = type(made.inventory).from_records([record_of_it])
    catalog = RunToolCatalog.capture(RUN_ID, inventory, made.registry, {record_of_it.key: "rt-0"})
    assert catalog.check(made.registry).reasons == ()
    edit(made.specs[0], output_schema=[])
    assert catalog.check(made.registry).reasons == ("schema_changed",)


def test_newer_versions_and_other_tools_beside_the_bound_ones_go_unnoticed():
    made = bed()
    made.registry.register(spec("rt-0", version="1.0.1", **DESTRUCTIVE), handler=other)
    made.registry.register(spec("rt-9"), handler=other)
    assert made.catalog.check(made.registry).reasons == ()


def test_a_change_that_is_taken_back_is_eligible_again():
    made = bed()
    made.specs[0].input_schema["title"] = "other"
    assert made.catalog.check(made.registry).reasons == ("schema_changed",)
    del made.specs[0].input_schema["title"]
    assert made.catalog.check(made.registry).reasons == ()


def test_a_lookup_replaced_on_the_object_or_its_class_is_asked(monkeypatch: pytest.MonkeyPatch):
    def raising_lookup(*_: object) -> Any:
        raise KeyError(CANARY)

    made = bed()
    monkeypatch.setattr(made.registry, "implementation_binding", raising_lookup)
    assert made.catalog.check(made.registry).reasons == ("tool_unavailable",)
    monkeypatch.undo()
    assert made.catalog.check(made.registry).reasons == ()
    monkeypatch.setattr(ToolRegistry, "implementation_binding", raising_lookup)
    assert made.catalog.check(made.registry).reasons == ("tool_unavailable",)


def test_a_registry_is_taken_by_kind():
    made = bed()
    standing_in = Mock(spec=ToolRegistry)
    standing_in.implementation_binding.side_effect = made.registry.implementation_binding
    assert made.catalog.check(standing_in).reasons == ()
    assert made.catalog.invoke(standing_in, *made.key(0), {"value": 1}) == {"count": 2}


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass_through_a_lookup(interrupt: type[BaseException]):
    made = bed()
    with pytest.raises(interrupt):
        made.catalog.check(raising(made, interrupt()))


def test_an_empty_catalog_is_eligible_without_a_registry_as_the_vectors_have_it():
    empty = RunToolCatalog.capture(bed().catalog.snapshot.run_id, _no_tools(), ToolRegistry(), {})
    for registry in (None, object(), ToolRegistry()):
        assert empty.check(registry).preview_valid
        assert RunToolCatalog.restore(empty.snapshot, registry, {}).snapshot == empty.snapshot
    with pytest.raises(ToolCatalogReviewRequired, match="unreviewed_tool"):
        empty.invoke(ToolRegistry(), "tool:org.example/t-0", "1.0.0", {})


def _no_tools() -> Any:
    return type(bed().inventory).from_records([])


def test_findings_carry_identifiers_and_codes_only():
    made = bed()
    finding = made.catalog.findings(again(made))[0]
    assert isinstance(finding, ToolFinding)
    assert CANARY not in repr(finding)
    for shown in (made.catalog, made.registry, made.specs[0], made.registry._registrations["rt-0", "1.0.0"]):
        assert "rt-0" not in repr(shown)
        assert CANARY not in repr(shown)

"""What capture refuses, with which class and code, and what it says of the place (CONTRACTS 9.2, 9.4)."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from runtime.build import CANARY, DESTRUCTIVE, RUN_ID, Overriding, bed, count, edit, record, spec
from toolvet.runtime import (
    RunToolCatalog,
    SideEffectClass,
    ToolCatalogBindingError,
    ToolCatalogReviewRequired,
    ToolInventory,
    ToolRegistry,
)


def refused(run_id: Any, inventory: Any, registry: Any, names: Any) -> ToolCatalogBindingError:
    with pytest.raises(ToolCatalogBindingError) as caught:
        RunToolCatalog.capture(run_id, inventory, registry, names)
    assert CANARY not in str(caught.value)
    assert str(caught.value) == caught.value.code
    return caught.value


def faults(error: ToolCatalogBindingError) -> list[str]:
    return [str(fault) for fault in error.faults]


def test_a_catalog_has_the_records_of_its_inventory_and_the_identities_of_its_registry():
    made = bed()
    bindings = made.catalog.snapshot.bindings
    assert tuple(binding.tool for binding in bindings) == made.inventory.tools
    assert [binding.implementation_id for binding in bindings] == [
        made.registry.implementation_binding(of.name, of.version)[2] for of in made.specs
    ]
    assert repr(made.catalog) == "RunToolCatalog(tool_count=2)"


def test_a_catalog_is_made_by_capture_and_restore_only_and_never_changed():
    with pytest.raises(ToolCatalogBindingError):
        RunToolCatalog()
    catalog = bed().catalog
    for change in (lambda: setattr(catalog, "_tools", ()), lambda: delattr(catalog, "_tools")):
        with pytest.raises(AttributeError):
            change()


def test_wrong_types_at_capture_are_an_invalid_snapshot():
    made = bed()

    class Inventory(ToolInventory):
        pass

    for run_id in (str(RUN_ID), None, 5):
        error = refused(run_id, made.inventory, made.registry, made.names)
        assert (type(error), error.code) == (ToolCatalogBindingError, "invalid_snapshot")
        assert faults(error) == ["run_id: invalid_type"]
    for inventory in (None, made.inventory.to_dict(), Inventory(made.inventory.tools)):
        error = refused(RUN_ID, inventory, made.registry, made.names)
        assert (type(error), error.code) == (ToolCatalogBindingError, "invalid_snapshot")
        assert faults(error) == ["inventory: invalid_type"]


class Raising(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError(CANARY)


class Endless(Mapping[Any, Any]):
    asked: ClassVar[int] = 0

    def items(self) -> Any:
        while True:
            Endless.asked += 1
            yield ("k", Endless.asked), "rt-0"

    def __getitem__(self, key: Any) -> Any:
        return "rt-0"

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


class RaisingKey:
    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(CANARY)


class RaisingKeys(dict[Any, Any]):
    def items(self) -> Any:
        return [(RaisingKey(), "rt-0"), (RaisingKey(), "rt-1")]


class Text(str):
    __slots__ = ()


KEYS = [("tool:org.example/t-0", "1.0.0"), ("tool:org.example/t-1", "1.0.0")]
EXTRA = ("tool:org.example/t-9", "1.0.0")


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (None, ["tool_names: invalid_type"]),
        ([(key, "rt-0") for key in KEYS], ["tool_names: invalid_type"]),
        (Raising(), ["tool_names: invalid_type"]),
        (RaisingKeys(), ["tool_names: invalid_type"]),
        ({}, ["tool_names[0]: missing", "tool_names[1]: missing"]),
        ({KEYS[0]: "rt-0"}, ["tool_names[1]: missing"]),
        (dict.fromkeys([*KEYS, EXTRA], "rt-0"), ["tool_names: unknown_key"]),
        (dict.fromkeys([KEYS[0], EXTRA], "rt-0"), ["tool_names[1]: missing", "tool_names: unknown_key"]),
        ({KEYS[0]: 5, KEYS[1]: Text("rt-1")}, ["tool_names[0]: invalid_type", "tool_names[1]: invalid_type"]),
        (Endless(), ["tool_names[0]: missing", "tool_names[1]: missing", "tool_names: unknown_key"]),
    ],
)
def test_names_that_are_not_exactly_those_of_the_inventory_are_an_invalid_selection(
    names: Any, places: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Endless, "asked", 0)
    made = bed()
    error = refused(RUN_ID, made.inventory, made.registry, names)
    assert (type(error), error.code) == (ToolCatalogBindingError, "invalid_selection")
    assert faults(error) == places
    assert Endless.asked <= len(KEYS) + 1  # a mapping without an end is not read to its end


def test_two_keys_may_share_a_runtime_name():
    registry = ToolRegistry()
    one, two = spec("rt", version="1.0.0"), spec("rt", version="2.0.0")
    for of in (one, two):
        registry.register(of, handler=count)
    inventory = ToolInventory.from_records([record("tool:org.example/t", of) for of in (one, two)])
    catalog = RunToolCatalog.capture(RUN_ID, inventory, registry, dict.fromkeys([*_keys(inventory)], "rt"))
    assert catalog.check(registry).preview_valid


def _keys(inventory: ToolInventory) -> list[tuple[str, str]]:
    return [tool.key for tool in inventory.tools]


def test_a_tool_that_is_missing_or_differs_is_named_by_its_index():
    made = bed(count, count, count, count)
    registry = ToolRegistry()
    registry.register(spec("rt-0"), handler=count)
    registry.register(spec("rt-1"))  # nothing runs it
    registry.register(spec("rt-2", output_schema={}, **DESTRUCTIVE), handler=count)
    registry.register(spec("rt-3", **DESTRUCTIVE), handler=count)
    error = refused(RUN_ID, made.inventory, registry, made.names)
    assert (type(error), error.code) == (ToolCatalogReviewRequired, "tool_unavailable")
    assert faults(error) == [
        "tools[1]: tool_unavailable",
        "tools[2].schema_digest: schema_changed",
        "tools[2].side_effect_class: side_effect_changed",
        "tools[3].side_effect_class: side_effect_changed",
    ]


def test_the_first_tool_at_fault_in_sorted_order_decides():
    made = bed()
    edit(made.specs[0], **DESTRUCTIVE)
    edit(made.specs[1], output_schema={})
    assert refused(RUN_ID, made.inventory, made.registry, made.names).code == "side_effect_changed"


def test_a_schema_that_cannot_be_written_is_a_base_error_at_capture():
    made = bed()
    made.specs[0].input_schema["default"] = object()
    error = refused(RUN_ID, made.inventory, made.registry, made.names)
    assert (type(error), error.code) == (ToolCatalogBindingError, "invalid_schema")
    assert faults(error) == ["tools[0].schema_digest: invalid_schema"]


def test_class_none_can_be_declared_but_never_captured_and_the_fault_says_why():
    of = spec("rt-0")
    declared = [
        record("tool:org.example/a", of),
        record("tool:org.example/b", of, side_effect_class=SideEffectClass.NONE),
    ]
    inventory = ToolInventory.from_records(declared)
    registry = ToolRegistry()
    registry.register(of, handler=count)
    error = refused(RUN_ID, inventory, registry, dict.fromkeys(_keys(inventory), "rt-0"))
    assert (type(error), error.code) == (ToolCatalogReviewRequired, "side_effect_changed")
    assert faults(error) == ["tools[1].side_effect_class: none_is_never_derived"]


@pytest.mark.parametrize("registry", [None, object(), {}, Overriding], ids=type)
def test_what_is_no_registry_is_refused_even_for_an_empty_catalog(registry: Any):
    made = bed()
    empty = ToolInventory.from_records([])
    for inventory, names in ((made.inventory, made.names), (empty, {})):
        error = refused(RUN_ID, inventory, registry, names)
        assert (type(error), error.code) == (ToolCatalogReviewRequired, "catalog_unavailable")
        assert faults(error) == ["registry: invalid_type"]


def test_an_empty_catalog_is_captured_from_an_empty_registry():
    catalog = RunToolCatalog.capture(RUN_ID, ToolInventory.from_records([]), ToolRegistry(), {})
    assert catalog.check(ToolRegistry()).preview_valid


def test_an_error_lists_no_more_faults_than_it_may():
    made = bed(*[count] * 40)
    looked_up: list[str] = []

    def missing(name: str, version: str) -> Any:
        looked_up.append(name)
        raise KeyError(CANARY)

    error = refused(RUN_ID, made.inventory, Overriding(missing), made.names)
    assert len(error.faults) == len(looked_up) == 16

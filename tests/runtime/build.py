"""Specs, registries and captured catalogs for the tests of the runtime."""

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType, ModuleType, TracebackType
from typing import Any

from toolvet.runtime import (
    RunId,
    RunToolCatalog,
    SideEffectClass,
    ToolInventory,
    ToolInventoryRecord,
    ToolRegistry,
    ToolSpec,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)

CANARY = "canary-7f3a91"
RUN_ID = RunId("run_" + "0" * 32)
TAKEN = {"type": "object", "properties": {"value": {"type": "integer"}}}
GIVEN = {"type": "object", "properties": {"count": {"type": "integer"}}}

Key = tuple[str, str]


def spec(name: str = "rt-0", **fields: Any) -> ToolSpec:
    fields = {
        "description": CANARY,
        "input_schema": TAKEN,
        "output_schema": GIVEN,
        "read_only_hint": True,
    } | fields
    return ToolSpec(name=name, **fields)


def record(tool_id: str, of: ToolSpec, **fields: Any) -> ToolInventoryRecord:
    fields = {
        "side_effect_class": tool_spec_side_effect_class(of),
        "schema_digest": tool_spec_schema_digest(of),
    } | fields
    return ToolInventoryRecord(
        tool_id=tool_id, version=of.version, capability_class="capability:org.example/local@1.0.0", **fields
    )


def count(value: int = 0) -> dict[str, int]:
    return {"count": value + 1}


@dataclass
class Bed:
    """A registry of tools rt-0, rt-1, ... and the catalog captured from it."""

    registry: ToolRegistry
    specs: list[ToolSpec]
    handlers: list[Callable[..., Any]]
    inventory: ToolInventory
    names: dict[Key, str]
    catalog: RunToolCatalog

    def key(self, index: int) -> Key:
        tool = self.inventory.tools[index]
        return tool.tool_id, tool.version

    def invoke(self, index: int = 0, registry: Any = None, **arguments: Any) -> Any:
        return self.catalog.invoke(registry or self.registry, *self.key(index), arguments)


def bed(*handlers: Callable[..., Any]) -> Bed:
    given = list(handlers or (count, lambda value=0: {"count": value + 2}))
    specs = [spec(f"rt-{index}") for index in range(len(given))]
    registry = ToolRegistry()
    for of, handler in zip(specs, given, strict=True):
        registry.register(of, handler=handler)
    records = [record(f"tool:org.example/t-{index}", of) for index, of in enumerate(specs)]
    inventory = ToolInventory.from_records(records)
    names = {tool.key: of.name for tool, of in zip(records, specs, strict=True)}
    catalog = RunToolCatalog.capture(RUN_ID, inventory, registry, names)
    return Bed(registry, specs, given, inventory, names, catalog)


def edit(of: ToolSpec, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(of, name, value)


DESTRUCTIVE = {"read_only_hint": False, "destructive_hint": True}
assert tool_spec_side_effect_class(spec(**DESTRUCTIVE)) is SideEffectClass.DESTRUCTIVE


class Overriding(ToolRegistry):
    """A registry by kind, whose lookup is whatever a test says."""

    def __init__(self, answer: Callable[[str, str], Any]) -> None:
        super().__init__()
        self.answer = answer

    def implementation_binding(self, name: str, version: str) -> Any:
        return self.answer(name, version)


def reachable(error: BaseException) -> Iterable[object]:
    """Every object that an error leads to: its attributes, causes, and the frames of our own code."""
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        found = left.pop()
        if id(found) in seen or isinstance(found, ModuleType | type):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, TracebackType):
            left += [found.tb_next, found.tb_frame]
        elif isinstance(found, FrameType):
            if "/toolvet/" in found.f_code.co_filename:
                left += found.f_locals.values()
        elif isinstance(found, BaseException):
            left += [found.__cause__, found.__context__, found.__traceback__, *found.args, vars(found)]
        elif not callable(found):  # a handler is the caller's own object, with all it closes over
            left += gc.get_referents(found)

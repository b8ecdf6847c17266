"""Hostile schemas: the work stays linear in their size, and what is not classified is material."""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from core.tool_definitions import LOOK_UP, Definition, changed, verdict
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag
from toolvet.core.errors import ContractError
from toolvet.core.json_identity import MAX_BYTES, MAX_DEPTH
from toolvet.core.tool_parts import read_tool

Schema = dict[str, Any]
Pair = tuple[Schema, Schema]


def wide(size: int) -> Pair:
    before = {"properties": {f"p{index}": {"type": "string"} for index in range(size)}}
    return before, {"properties": {f"p{index}": {"type": "integer"} for index in range(size)}}


def many_branches(size: int) -> Pair:
    before = {"anyOf": [{"const": index} for index in range(size)]}
    return before, {"anyOf": [{"const": index + size} for index in range(size)]}


def long_reference_chain(size: int) -> Pair:
    definitions: Schema = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(size)}
    before = {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{size}": {"type": "string"}}}
    return before, {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{size}": {"type": "object"}}}


def cyclic_references(size: int) -> Pair:
    ring = {
        f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{(index * 7 + 1) % size}"}, {"type": "string"}]}
        for index in range(size)
    }
    after = {**ring, "d0": {"anyOf": [{"$ref": "#/$defs/d1"}, {"type": "object"}]}}
    return {"$ref": "#/$defs/d0", "$defs": ring}, {"$ref": "#/$defs/d0", "$defs": after}


def every_pair_of_definitions(size: int) -> Pair:
    """Sites that refer to other definitions before than after: each pair could be compared anew."""
    side = int(size**0.5)
    definitions = {
        f"d{index}": {"properties": {f"p{part}": {"maximum": index} for part in range(side)}}
        for index in range(side)
    }
    sites = [(one, two) for one in range(side) for two in range(side)]
    before = {f"s{number}": {"$ref": f"#/$defs/d{one}"} for number, (one, _) in enumerate(sites)}
    after = {f"s{number}": {"$ref": f"#/$defs/d{two}"} for number, (_, two) in enumerate(sites)}
    return {"properties": before, "$defs": definitions}, {"properties": after, "$defs": definitions}


def one_large_definition_everywhere(size: int) -> Pair:
    """Members beside a reference are merged with what it leads to; merging a large one is copying it."""
    large = {f"x-{index}": index for index in range(size)}
    sites = {f"s{index}": {"$ref": "#/$defs/large", "minimum": index} for index in range(size)}
    after = {f"s{index}": {"$ref": "#/$defs/large", "minimum": index + 1} for index in range(size)}
    return {"properties": sites, "$defs": {"large": large}}, {"properties": after, "$defs": {"large": large}}


def doubling_references(size: int) -> Pair:
    """Each definition refers to the next one twice: written out, it would have 2 ** size parts."""
    step = {
        f"d{index}": {"properties": {name: {"$ref": f"#/$defs/d{index + 1}"} for name in ("a", "b")}}
        for index in range(size)
    }
    before = {"$ref": "#/$defs/d0", "$defs": {**step, f"d{size}": {"type": "string"}}}
    return before, {"$ref": "#/$defs/d0", "$defs": {**step, f"d{size}": {"type": "object"}}}


def unions_of_unions(size: int) -> Pair:
    def nested(kind: str) -> Schema:
        schema: Schema = {"type": kind}
        for _ in range(25):
            schema = {"anyOf": [schema, *({"const": index} for index in range(size // 25))]}
        return schema

    return nested("string"), nested("object")


def added_with_known_inputs(size: int) -> Pair:
    """What stood at a place before is looked up for each alternative that came."""
    before = {
        "properties": {f"p{index}": {"type": "string"} for index in range(size)},
        "anyOf": [{"type": "object"}],
    }
    after = {
        "properties": before["properties"],
        "anyOf": [{"required": [f"p{index}"]} for index in range(size)],
    }
    return before, after


def text_everywhere(size: int) -> Pair:
    before = {"x-more": [{"text": f"of all {index}"} for index in range(size)]}
    return before, {"x-more": [{"text": f"of all {index + 1}"} for index in range(size)]}


HOSTILE = [
    wide,
    many_branches,
    long_reference_chain,
    cyclic_references,
    every_pair_of_definitions,
    one_large_definition_everywhere,
    doubling_references,
    unions_of_unions,
    added_with_known_inputs,
    text_everywhere,
]


def definitions(pair: Pair) -> tuple[Definition, Definition]:
    before, after = (changed("inputSchema", schema) for schema in pair)
    return before, after


def seconds(pair: tuple[Definition, Definition]) -> float:
    times = []
    for _ in range(2):
        start = process_time()
        verdict(*pair)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_work_is_linear(hostile: Callable[[int], Pair]) -> None:
    small, large = (definitions(hostile(size)) for size in (300, 1200))
    # Four times the size; a quadratic walk would need sixteen times as long. Short runs are all noise.
    taken = seconds(large)
    assert taken <= 9 * max(seconds(small), 0.005)
    assert taken < 2
    assert verdict(*large).result is not ChangeResult.NONE


@pytest.mark.parametrize("hostile", [cyclic_references, doubling_references, unions_of_unions])
def test_what_changed_is_found_behind_the_references(hostile: Callable[[int], Pair]) -> None:
    found = verdict(*definitions(hostile(100)))
    assert ChangeReason.TYPE_WIDENED in found.reasons or ChangeReason.UNCLASSIFIABLE in found.reasons
    assert found.result is ChangeResult.MATERIAL


def test_work_beyond_the_budget_is_unclassifiable_hence_material(monkeypatch: pytest.MonkeyPatch) -> None:
    after = changed("inputSchema/properties/limit/maximum", 99)
    assert verdict(LOOK_UP, after).result is ChangeResult.MINOR
    monkeypatch.setattr("toolvet.core.change_findings.Budget.exhausted", property(lambda _: True))
    for reading in Reading:
        found = verdict(LOOK_UP, after, reading)
        assert (found.result, found.reasons) == (ChangeResult.MATERIAL, (ChangeReason.UNCLASSIFIABLE,))
    output = verdict(changed("outputSchema"), LOOK_UP)
    assert output.reasons == (ChangeReason.OUTPUT_WORDING_CHANGED,)


def chained(size: int, kind: str) -> Definition:
    """Alternatives that lead forth and back, so that what one end accepts has to travel to the other."""
    chain = {
        f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{other}"} for other in (index + 1, max(index - 1, 0))]}
        for index in range(size)
    }
    every = [{"$ref": f"#/$defs/d{index}"} for index in range(size)]
    return changed(
        "inputSchema", {"properties": {"a": {"anyOf": every}}, "$defs": {**chain, f"d{size}": {"type": kind}}}
    )


def test_long_ways_through_alternatives_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = chained(200, "string"), chained(200, "object")
    assert verdict(*sides).reasons == (ChangeReason.TYPE_NARROWED, ChangeReason.TYPE_WIDENED)
    monkeypatch.setattr("toolvet.core.schema_document.MAX_ROUNDS", 1)
    assert verdict(*sides).reasons == (ChangeReason.UNCLASSIFIABLE,)


def nested(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded() -> None:
    read_tool(changed("x-more", nested(MAX_DEPTH - 1)))
    for depth in (MAX_DEPTH, 500):
        with pytest.raises(ContractError, match=r"^definition: too_deep$"):
            read_tool(changed("x-more", nested(depth)))
    itself: list[Any] = []
    itself.append(itself)
    with pytest.raises(ContractError, match=r"^definition: too_deep$"):
        read_tool(changed("x-more", []) | {"x-more": itself})


def test_the_deepest_schema_is_compared() -> None:
    def deep(kind: str) -> Schema:
        schema: Schema = {"type": kind}
        for _ in range((MAX_DEPTH - 3) // 2):
            schema = {"properties": {"a": schema}}
        return schema

    assert verdict(*definitions((deep("string"), deep("object")))).reasons == (
        ChangeReason.TYPE_NARROWED,
        ChangeReason.TYPE_WIDENED,
    )


def test_size_is_bounded() -> None:
    empty = read_tool(changed("x-more", "")).size
    largest = changed("x-more", "a" * (MAX_BYTES - empty - 64))
    assert MAX_BYTES - 128 < read_tool(largest).size <= MAX_BYTES
    for more in ("a" * MAX_BYTES, "\u20ac" * (MAX_BYTES // 2), "\x00" * (MAX_BYTES // 5), [0] * MAX_BYTES):
        with pytest.raises(ContractError, match=r"^definition: too_large$"):
            read_tool(changed("x-more", more))
    shared: list[Any] = ["text"]
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(ContractError, match=r"^definition: too_large$"):
        read_tool({**LOOK_UP, "x-more": shared})


def test_beyond_16_kib_is_flagged_at_first_sight() -> None:
    assert verdict(None, changed("x-more", "a" * 17_000)).flags == (ToolFlag.OVER_16_KIB,)
    assert verdict(None, changed("x-more", "a" * 14_000)).flags == ()

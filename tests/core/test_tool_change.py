"""Laws of the classification of tool changes, over random definitions."""

import copy
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.random_schemas import DEFINITIONS, PAIRS, changed_definitions, reordered
from core.tool_definitions import LOOK_UP, Definition, changed, verdict
from toolvet.core.change_findings import MAX_PLACES
from toolvet.core.change_reason import (
    FLAG_MEANINGS,
    ChangeReason,
    ChangeResult,
    Reading,
    ToolFlag,
    largest,
)
from toolvet.core.change_rules import RULES
from toolvet.core.errors import ContractError
from toolvet.core.listing_change import compare_listings, read_listing
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.tool_change import MAX_FINDINGS, classify
from toolvet.core.tool_parts import read_tool

RANK = (ChangeResult.NONE, ChangeResult.MINOR, ChangeResult.MATERIAL)
EDGES = st.text(alphabet=" \t\r\n", max_size=5)
CANARY = "c4n4ry"

# Drawing two definitions takes longer than judging them.
examples = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_every_reason_has_a_rule_and_every_flag_a_meaning() -> None:
    assert set(RULES) == set(ChangeReason)
    assert set(FLAG_MEANINGS) == set(ToolFlag)


@pytest.mark.parametrize("reason", ChangeReason)
def test_strict_promotes_and_never_demotes(reason: ChangeReason) -> None:
    rule = RULES[reason]
    assert RANK.index(rule.strict) >= RANK.index(rule.literal)
    assert rule.strict is not ChangeResult.NONE
    assert rule.meaning


def test_the_largest_of_results() -> None:
    assert largest([]) is largest([ChangeResult.BASELINE]) is ChangeResult.NONE
    assert largest([ChangeResult.MINOR, ChangeResult.BASELINE]) is ChangeResult.MINOR
    assert largest([ChangeResult.MATERIAL, ChangeResult.MINOR]) is ChangeResult.MATERIAL


@examples
@given(PAIRS)
def test_strict_is_never_below_literal(pair: tuple[Definition, Definition]) -> None:
    strict, literal = (verdict(*pair, reading) for reading in (Reading.STRICT, Reading.LITERAL))
    assert RANK.index(strict.result) >= RANK.index(literal.result)
    assert set(literal.reasons) <= set(strict.reasons)
    assert strict.flags == literal.flags


@examples
@given(DEFINITIONS)
def test_equal_definitions_have_no_change_however_they_are_written(definition: Definition) -> None:
    for reading in Reading:
        found = verdict(definition, reordered(definition), reading)
        assert (found.result, found.reasons, found.finding_count) == (ChangeResult.NONE, (), 0)
    assert verdict(None, definition).result is ChangeResult.BASELINE
    assert verdict(None, definition).reasons == ()


@examples
@given(PAIRS)
def test_the_order_of_members_plays_no_part(pair: tuple[Definition, Definition]) -> None:
    before, after = pair
    assert verdict(before, after) == verdict(reordered(before), reordered(after))


@examples
@given(PAIRS)
def test_no_change_is_none_both_ways(pair: tuple[Definition, Definition]) -> None:
    before, after = pair
    for reading in Reading:
        there, back = verdict(before, after, reading), verdict(after, before, reading)
        # Only blanks at the edges count on one side alone, and only from 64 on: none here.
        assert (there.result is ChangeResult.NONE) is (back.result is ChangeResult.NONE)


@examples
@given(PAIRS)
def test_the_literal_reading_is_none_exactly_when_the_fingerprints_are_equal(
    pair: tuple[Definition, Definition],
) -> None:
    before, after = (read_tool(side) for side in pair)
    one, two = (side.digests(rfc8785.dumps) for side in (before, after))  # type: ignore[arg-type]
    literal = classify(before, after, Reading.LITERAL)
    assert (literal.result is ChangeResult.NONE) is (one.fingerprint == two.fingerprint)


def _beside_the_fingerprint(definition: Definition) -> bytes:
    tool = read_tool(definition)
    parts = [
        tool.output_schema,
        dict(tool.hints),
        {**tool.rest_value(), "annotations": dict(tool.annotations)},
    ]
    return rfc8785.dumps(parts)  # type: ignore[arg-type]


@examples
@given(PAIRS)
def test_the_strict_reading_sees_every_part(pair: tuple[Definition, Definition]) -> None:
    before, after = pair
    if _beside_the_fingerprint(before) != _beside_the_fingerprint(after):
        assert verdict(before, after).result is not ChangeResult.NONE


@examples
@given(changed_definitions())
def test_a_change_within_the_input_schema_is_never_missed(pair: tuple[Definition, Definition]) -> None:
    before, after = pair
    same = rfc8785.dumps(before["inputSchema"]) == rfc8785.dumps(after["inputSchema"])
    for reading in Reading:
        assert (verdict(before, after, reading).result is ChangeResult.NONE) is same


@examples
@given(DEFINITIONS, EDGES, EDGES, st.sampled_from(["title", "description"]))
def test_blanks_at_the_edges_are_no_change(
    definition: Definition, left: str, right: str, member: str
) -> None:
    spaced = {**definition, member: left + (definition.get(member) or "") + right}
    for reading in Reading:
        assert verdict(definition, spaced, reading).result is ChangeResult.NONE
    tools = (read_tool(side) for side in (definition, spaced))
    one, two = (tool.digests(rfc8785.dumps).fingerprint for tool in tools)  # type: ignore[arg-type]
    assert one == two


@examples
@given(DEFINITIONS, st.sampled_from("\u0085\u00a0\u2028\u3000\ufeff\u000b"), st.booleans())
def test_other_whitespace_at_the_edges_is_text(definition: Definition, odd: str, left: bool) -> None:
    text = definition.get("description") or ""
    spaced = {**definition, "description": odd + text if left else text + odd}
    assert verdict(definition, spaced).result is ChangeResult.MATERIAL


@examples
@given(PAIRS)
def test_a_verdict_does_not_change_what_it_judges(pair: tuple[Definition, Definition]) -> None:
    copies = copy.deepcopy(pair)
    first = verdict(*pair)
    assert pair == copies
    assert verdict(*pair) == first


def test_parts_are_a_copy() -> None:
    definition = copy.deepcopy(LOOK_UP)
    parts = read_tool(definition)
    before = parts.digests(rfc8785.dumps)  # type: ignore[arg-type]
    definition["inputSchema"]["properties"]["path"] = {"type": "string"}
    assert parts.digests(rfc8785.dumps) == before  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "value", "component"),
    [
        ("description", "Other.", "fingerprint"),
        ("title", "Other", "fingerprint"),
        ("name", "other", "fingerprint"),
        ("annotations/idempotentHint", True, "hints"),
        ("annotations/destructiveHint", True, "hints"),
        ("annotations/category", "rows", "rest"),
        ("annotations/title", "Other", "rest"),
        ("_meta", {"a": 1}, "rest"),
        ("icons", [], "rest"),
        ("execution", {}, "rest"),
        ("x-more", 1, "rest"),
        ("outputSchema/title", "Rows", "contract"),
    ],
)
def test_each_member_belongs_to_one_component(path: str, value: object, component: str) -> None:
    one, two = (
        read_tool(side).digests(rfc8785.dumps)  # type: ignore[arg-type]
        for side in (LOOK_UP, changed(path, value))
    )
    moved = [
        name
        for name in ("fingerprint", "contract", "hints", "rest")
        if getattr(one, name) != getattr(two, name)
    ]
    assert moved == [component]


def test_the_input_schema_belongs_to_the_fingerprint_and_the_contract() -> None:
    one, two = (
        read_tool(side).digests(rfc8785.dumps)  # type: ignore[arg-type]
        for side in (LOOK_UP, changed("inputSchema/title", "Rows"))
    )
    assert (one.hints, one.rest) == (two.hints, two.rest)
    assert one.fingerprint != two.fingerprint
    assert one.contract != two.contract


def test_what_the_canonical_form_cannot_say_has_no_digest() -> None:
    parts = read_tool(changed("inputSchema/maximum", 2**60))
    with pytest.raises(ContractError, match=r"^definition: not_canonical$"):
        parts.digests(rfc8785.dumps)  # type: ignore[arg-type]
    # It is still compared exactly.
    assert verdict(changed("inputSchema/maximum", 2**60), changed("inputSchema/maximum", 2**60 + 1)).reasons


@pytest.mark.parametrize("before", [{}, {"readOnlyHint": False}, {"readOnlyHint": True}])
@pytest.mark.parametrize("after", [{}, {"destructiveHint": False}, {"readOnlyHint": True}])
def test_the_class_is_reported_exactly_when_it_moves(before: dict[str, bool], after: dict[str, bool]) -> None:
    one, two = (read_tool(changed("annotations", side)) for side in (before, after))
    reported = ChangeReason.SIDE_EFFECT_CHANGED in classify(one, two).reasons
    assert reported is (one.side_effect_class is not two.side_effect_class)
    assert isinstance(one.side_effect_class, SideEffectClass)


# nothing of the server's in any result


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            _marked_name(name): _marked(item) if name not in ("type", "$ref", "src") else item
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_marked(item) for item in value]
    return f"{CANARY} {value}" if isinstance(value, str) else value


def _marked_name(name: str) -> str:
    return f"{name}{CANARY}" if name in ("a", "b", "c", "A", "B", "x-more", "category") else name


@examples
@given(PAIRS)
def test_verdicts_hold_no_text_of_the_server(pair: tuple[Definition, Definition]) -> None:
    before, after = (_marked(side) for side in pair)
    assert CANARY not in repr(verdict(before, after))
    before["name"], after["name"] = f"one-{CANARY}", f"two-{CANARY}"
    after_listing = read_listing([after, {"name": f"{CANARY}-3"}], f"Do {CANARY}.")
    found = compare_listings(read_listing([before]), after_listing)
    results = (*found.tools.values(), found.instructions, found.reasons)
    assert CANARY not in repr(results)
    assert CANARY not in repr(found)
    assert CANARY not in repr(after_listing) + repr(after_listing.tools.values())
    assert CANARY not in str(list(after_listing.malformed.values()))


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("name", ..., "name: missing"),
        ("name", [CANARY], "name: invalid_type"),
        ("name", "", "name: invalid_type"),
        ("title", [CANARY], "title: invalid_type"),
        ("description", {CANARY: 1}, "description: invalid_type"),
        ("inputSchema", ..., "input_schema: missing"),
        ("inputSchema", CANARY, "input_schema: invalid_type"),
        ("outputSchema", [CANARY], "output_schema: invalid_type"),
        ("annotations", CANARY, "annotations: invalid_type"),
        ("annotations/readOnlyHint", CANARY, "annotations: invalid_hint"),
        ("annotations/title", [CANARY], "annotations.title: invalid_type"),
        ("x-more", {CANARY: float("nan")}, "definition: non_finite_number"),
        ("x-more", {CANARY: float("-inf")}, "definition: non_finite_number"),
        ("x-more", f"{CANARY}\ud800", "definition: invalid_encoding"),
        ("x-more", {f"{CANARY}\udfff": 1}, "definition: invalid_encoding"),
        ("x-more", {CANARY.encode(): 1}, "definition: invalid_type"),
        ("x-more", {CANARY}, "definition: invalid_type"),
        ("x-more", CANARY * 50_000, "definition: too_large"),
    ],
)
def test_a_malformed_definition_is_refused_without_repeating_it(path: str, value: object, text: str) -> None:
    with pytest.raises(ContractError) as caught:
        read_tool(changed(path, value))
    error = caught.value
    assert str(error) == text
    assert CANARY not in repr((error, error.args, error.__cause__, error.__context__))


def test_two_tools_are_not_compared() -> None:
    with pytest.raises(ContractError, match=r"^name: not_one_tool$"):
        verdict(LOOK_UP, changed("name", "other"))


def test_no_definition_at_all() -> None:
    for value in (None, [], "text", 1):
        with pytest.raises(ContractError, match=r"^definition: invalid_type$"):
            read_tool(value)  # type: ignore[arg-type]


# findings are bounded


def test_findings_are_listed_up_to_a_bound_and_counted_beyond() -> None:
    wide = changed("inputSchema/properties", {f"p{index}": {"default": 1} for index in range(1000)})
    found = verdict(LOOK_UP, wide)
    assert found.reasons == (ChangeReason.INPUT_ADDED, ChangeReason.INPUT_REMOVED)
    assert found.finding_count == 1000 + len(LOOK_UP["inputSchema"]["properties"])
    assert len(found.findings) <= min(MAX_FINDINGS, 2 * MAX_PLACES)


def test_places_are_keywords_and_indexes() -> None:
    after = changed("inputSchema/properties/where/properties/table/description", "Which one.")
    (finding,) = verdict(LOOK_UP, after).findings
    assert finding.place == "inputSchema.properties[6].properties[0].description"
    after = changed("inputSchema/properties/query/x-secret-name", "Which one.")
    (finding,) = verdict(LOOK_UP, after).findings
    assert finding.place == "inputSchema.properties[4].keyword[2]"
    assert "secret" not in json.dumps(finding.place)

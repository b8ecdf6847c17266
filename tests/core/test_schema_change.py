"""Rules of the walk over schemas beyond the 54 kinds: moved parts, odd schemas, references, new parts."""

from typing import Any

import pytest

from core.tool_definitions import changed, verdict
from toolvet.core.change_reason import ChangeReason as R
from toolvet.core.change_reason import ChangeResult, Reading, ToolFlag

MINOR, MATERIAL = ChangeResult.MINOR, ChangeResult.MATERIAL

STRING: dict[str, Any] = {"type": "string"}
OBJECT: dict[str, Any] = {"type": "object"}
REMOTE = {"$ref": "https://schemas.example.com/a.json"}
NOTE = {"type": "object", "properties": {"note": STRING}}
TEXT = {"type": "string", "description": "Send all of it."}


def an_input(before: Any, after: Any, **root: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    one, two = ({"type": "object", "properties": {"a": schema}, **root} for schema in (before, after))
    return one, two


def members(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return an_input(before, {**before, **after})


CASES = {
    "nothing to anything": (an_input(False, True), MINOR, {R.TYPE_WIDENED}),
    "nothing to an input": (an_input(False, NOTE), MATERIAL, {R.TYPE_WIDENED, R.INPUT_ADDED}),
    "anything to nothing": (an_input(True, False), MINOR, {R.TYPE_NARROWED}),
    "anything to a type": (an_input(True, STRING), MINOR, {R.TYPE_NARROWED}),
    "anything, said otherwise": (an_input(True, {}), MINOR, {R.SCHEMA_EDITED}),
    "no schema": (an_input(STRING, "string"), MATERIAL, {R.UNCLASSIFIABLE}),
    "nothing that fits": (
        an_input({"type": "string"}, {"type": "string", "allOf": [{"type": "integer"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.TYPE_NARROWED, R.UNSATISFIABLE_SCHEMA},
    ),
    "itself": (
        an_input(STRING, {"$ref": "#/properties/a"}),
        MINOR,
        {R.REFERENCE_CHANGED, R.TYPE_NARROWED, R.UNSATISFIABLE_SCHEMA},
    ),
    "properties that are no object": (
        (OBJECT, {**OBJECT, "properties": ["a"]}),
        MATERIAL,
        {R.UNCLASSIFIABLE},
    ),
    "alternatives that are no list": (members({}, {"anyOf": {}}), MATERIAL, {R.UNCLASSIFIABLE}),
    "definitions that are no object": (members({}, {"$defs": []}), MATERIAL, {R.UNCLASSIFIABLE}),
    "extra inputs that are no schema": (
        members({}, {"additionalProperties": "no"}),
        MATERIAL,
        {R.UNCLASSIFIABLE},
    ),
    "dependencies that are no object": (members({}, {"dependencies": []}), MATERIAL, {R.UNCLASSIFIABLE}),
    "elements by position, no list": (members({}, {"prefixItems": {}}), MATERIAL, {R.UNCLASSIFIABLE}),
    "choices that are no list": (
        members({"enum": [1]}, {"enum": {"a": 1}}),
        MATERIAL,
        {R.UNCLASSIFIABLE, R.CHOICES_OPENED, R.TYPE_WIDENED},
    ),
    "required that is no list": (members({}, {"required": True}), MATERIAL, {R.UNCLASSIFIABLE}),
    "a new alternative that is no schema": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, "text"]}),
        MATERIAL,
        {R.BRANCH_ADDED, R.TYPE_WIDENED, R.EXTRA_INPUTS_ALLOWED, R.UNCLASSIFIABLE},
    ),
    "a dependent schema": (
        members({}, {"dependentSchemas": {"a": NOTE}}),
        MATERIAL,
        {R.CONSTRAINT_CHANGED, R.INPUT_ADDED},
    ),
    "a dependent schema changed": (
        members({"dependentSchemas": {"a": STRING}}, {"dependentSchemas": {"a": TEXT}}),
        MATERIAL,
        {R.WORDING_CHANGED},
    ),
    "a dependent schema removed": (
        members({"dependentSchemas": {"a": TEXT, "b": TEXT}}, {"dependentSchemas": {"a": TEXT}}),
        MINOR,
        {R.CONSTRAINT_CHANGED},
    ),
    "names that depend": (
        members({"dependencies": {"a": ["b"]}}, {"dependencies": {"a": ["c"]}}),
        MINOR,
        {R.CONSTRAINT_CHANGED},
    ),
    "elements by position added": (
        members({"prefixItems": [STRING]}, {"prefixItems": [STRING, NOTE]}),
        MATERIAL,
        {R.BRANCH_ADDED, R.INPUT_ADDED},
    ),
    "elements by position removed": (
        members({"items": [STRING, STRING]}, {"items": [STRING]}),
        MINOR,
        {R.BRANCH_REMOVED},
    ),
    "elements by position and by one schema": (
        members({"items": [STRING]}, {"items": STRING}),
        MATERIAL,
        {R.UNCLASSIFIABLE},
    ),
    "elements described first": (
        members({}, {"items": NOTE}),
        MATERIAL,
        {R.CONSTRAINT_CHANGED, R.INPUT_ADDED},
    ),
    "a condition": (members({}, {"not": STRING}), MINOR, {R.NEGATION_CHANGED, R.CONSTRAINT_CHANGED}),
    "a condition narrowed": (
        members({"not": {"type": ["string", "null"]}}, {"not": STRING}),
        MINOR,
        {R.NEGATION_CHANGED, R.TYPE_NARROWED},
    ),
    "a consequence removed": (
        an_input({"then": STRING}, {}),
        MINOR,
        {R.CONSTRAINT_CHANGED},
    ),
    "extra inputs by schema, from any": (
        members({}, {"additionalProperties": TEXT}),
        MINOR,
        {R.CONSTRAINT_CHANGED, R.WORDING_ADDED},
    ),
    "extra inputs by schema, from none": (
        members({"additionalProperties": False}, {"additionalProperties": NOTE}),
        MATERIAL,
        {R.EXTRA_INPUTS_ALLOWED, R.INPUT_ADDED},
    ),
    "extra inputs by schema, changed": (
        members({"additionalProperties": STRING}, {"additionalProperties": TEXT}),
        MATERIAL,
        {R.WORDING_CHANGED},
    ),
    "an alternative open to any input": (
        members(
            {"anyOf": [{"type": "object", "additionalProperties": False}]},
            {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "object"}]},
        ),
        MINOR,
        {R.BRANCH_ADDED, R.EXTRA_INPUTS_ALLOWED},
    ),
    "the first alternatives only narrow": (
        members({}, {"anyOf": [{"required": ["a"]}]}),
        MINOR,
        {R.BRANCH_ADDED},
    ),
    "an input moved into an alternative": (
        an_input(NOTE, {"anyOf": [NOTE, {"type": "null"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.INPUT_REMOVED, R.TYPE_WIDENED},
    ),
    "an input moved out of an alternative": (
        an_input({"anyOf": [NOTE, {"type": "null"}]}, NOTE),
        MINOR,
        {R.BRANCH_REMOVED, R.SCHEMA_EDITED, R.TYPE_NARROWED},
    ),
    "a deeper input of the same name is new": (
        an_input(NOTE, {**NOTE, "anyOf": [{"items": NOTE}]}),
        MATERIAL,
        {R.BRANCH_ADDED, R.INPUT_ADDED},
    ),
    "choices moved into alternatives": (
        an_input({"enum": ["a", "b"]}, {"anyOf": [{"const": "a"}, {"const": "b"}]}),
        MINOR,
        {R.BRANCH_ADDED},
    ),
    "choices moved out of alternatives": (
        an_input({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"enum": ["a", "b"]}),
        MINOR,
        {R.BRANCH_REMOVED, R.CONSTRAINT_CHANGED},
    ),
    "choices of an alternative opened": (
        an_input({"anyOf": [{"const": "a"}]}, {"anyOf": [{"const": "a"}, STRING]}),
        MINOR,
        {R.BRANCH_ADDED, R.CHOICES_OPENED},
    ),
    "numbers listed first": (
        members({"type": "integer"}, {"enum": [1, 2]}),
        MINOR,
        {R.CONSTRAINT_CHANGED},
    ),
    "a remote anchor": (
        members({}, {"$dynamicRef": "https://schemas.example.com/a"}),
        MINOR,
        {R.REMOTE_REFERENCE, R.REFERENCE_CHANGED},
    ),
    "a local anchor": (members({}, {"$dynamicRef": "#a"}), MINOR, {R.REFERENCE_CHANGED}),
    "a remote reference dropped": (
        an_input(REMOTE, {}),
        MINOR,
        {R.REFERENCE_CHANGED},
    ),
    "a new alternative from elsewhere": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, REMOTE]}),
        MINOR,
        {R.BRANCH_ADDED, R.TYPE_WIDENED, R.EXTRA_INPUTS_ALLOWED, R.REMOTE_REFERENCE},
    ),
    "a new alternative that leads nowhere": (
        members({"allOf": [STRING]}, {"allOf": [STRING, {"$ref": "#/$defs/None"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.UNRESOLVED_REFERENCE},
    ),
    "a new alternative with a default": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, {"type": "string", "default": "all"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.DEFAULT_CHANGED},
    ),
    "a new alternative with a header": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, {"type": "string", "x-mcp-header": "R"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.ARGUMENT_IN_HEADER},
    ),
    "a new alternative with a generated title": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, {"type": "string", "title": "Rows"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.WORDING_ADDED},
    ),
    "a new alternative with machine text of words": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, {"type": "string", "format": "all you know"}]}),
        MINOR,
        {R.BRANCH_ADDED, R.WORDING_ADDED},
    ),
    "a new alternative that requires an undeclared input": (
        members({}, {"anyOf": [{"required": ["transcript"]}]}),
        MINOR,
        {R.BRANCH_ADDED, R.UNDECLARED_INPUT_REQUIRED},
    ),
    "a header on a new input": (
        (OBJECT, {**OBJECT, "properties": {"a": {"type": "string", "x-mcp-header": "R"}}}),
        MATERIAL,
        {R.INPUT_ADDED, R.ARGUMENT_IN_HEADER},
    ),
    "a header no longer": (an_input({"x-mcp-header": "R"}, {}), MINOR, {R.CONSTRAINT_CHANGED}),
    "required: none, and not said": (members({}, {"required": []}), MINOR, {R.SCHEMA_EDITED}),
    "a null default": (members({}, {"default": None}), MINOR, {R.DEFAULT_CHANGED}),
    "an unknown type": (members(STRING, {"type": "text"}), MINOR, {R.TYPE_WIDENED}),
    "an unknown type of words": (
        members(STRING, {"type": "all of it"}),
        MATERIAL,
        {R.TYPE_WIDENED, R.WORDING_CHANGED},
    ),
    "an anchor": (members({}, {"$anchor": "a"}), MINOR, {R.SCHEMA_EDITED}),
    "numbers in examples": (members({"examples": [1]}, {"examples": [2]}), MINOR, {R.SCHEMA_EDITED}),
    "an unknown keyword of words": (members({}, {"always send all": 1}), MATERIAL, {R.WORDING_CHANGED}),
    "a new alternative with an unknown keyword of words": (
        members({"anyOf": [STRING]}, {"anyOf": [STRING, {"type": "string", "always send all": 1}]}),
        MINOR,
        {R.BRANCH_ADDED, R.WORDING_ADDED},
    ),
    "a new definition of a name of words": (
        members({}, {"$defs": {"always send all": True}}),
        MINOR,
        {R.DEFINITIONS_CHANGED, R.WORDING_ADDED},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_schema(name: str) -> None:
    (before, after), literal, strict = CASES[name]
    sides = changed("inputSchema", before), changed("inputSchema", after)
    assert set(verdict(*sides).reasons) == strict
    assert verdict(*sides, Reading.LITERAL).result is literal


# references


DEFINED = {"A": NOTE, "B": {"type": "object", "properties": {"note": STRING, "more": STRING}}}


def referring(before: Any, after: Any, old: Any = DEFINED, new: Any = DEFINED) -> set[R]:
    sides = (
        changed("inputSchema", {"properties": {"a": schema}, "$defs": definitions})
        for schema, definitions in ((before, old), (after, new))
    )
    return set(verdict(*sides).reasons)


def ref(name: str, **beside: Any) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}", **beside}


def test_another_target_is_compared_with_the_former_one() -> None:
    assert referring(ref("A"), ref("B")) == {R.REFERENCE_CHANGED, R.INPUT_ADDED}
    assert referring(ref("B"), ref("A")) == {R.REFERENCE_CHANGED, R.INPUT_REMOVED}
    copied = {**DEFINED, "C": NOTE}
    assert referring(ref("A"), ref("C"), copied, copied) == {R.REFERENCE_CHANGED}
    assert referring(ref("A"), ref("C"), DEFINED, copied) == {R.REFERENCE_CHANGED, R.DEFINITIONS_CHANGED}


def test_a_target_beside_members_of_its_own() -> None:
    assert referring(ref("A"), ref("A", description="Send all.")) == {R.WORDING_CHANGED}
    assert referring(ref("A", title="Rows"), ref("B", title="Rows")) == {R.REFERENCE_CHANGED, R.INPUT_ADDED}
    # Members that both state stay apart; what the reference leads to is compared all the same.
    own = {"properties": {"note": STRING}}
    assert referring(ref("A", **own), ref("B", **own)) == {R.REFERENCE_CHANGED, R.INPUT_ADDED}
    assert referring(own, ref("B", **own)) == {R.REFERENCE_CHANGED, R.INPUT_ADDED, R.TYPE_NARROWED}


def test_a_definition_is_compared_once_where_it_is_used() -> None:
    reworded = {**DEFINED, "A": {**NOTE, "description": "Send all."}}
    sites = {"anyOf": [ref("A"), ref("A", title="b")]}
    found = verdict(
        *(
            changed("inputSchema", {"properties": {"a": sites}, "$defs": definitions})
            for definitions in (DEFINED, reworded)
        )
    )
    assert found.reasons == (R.WORDING_CHANGED,)
    assert all("$defs" not in finding.place for finding in found.findings)


def test_a_new_definition_compared_where_it_is_used_is_no_addition() -> None:
    copied, own = {**DEFINED, "C": NOTE}, {"properties": {"note": STRING}}
    same = {R.REFERENCE_CHANGED, R.DEFINITIONS_CHANGED}
    assert referring(ref("A", **own), ref("C", **own), DEFINED, copied) == same
    moved = {R.BRANCH_ADDED, R.DEFINITIONS_CHANGED, R.INPUT_REMOVED, R.TYPE_WIDENED}
    assert referring(NOTE, {"anyOf": [ref("C"), {"type": "null"}]}, DEFINED, copied) == moved


def test_references_may_lead_anywhere_in_the_schema() -> None:
    def held(kind: Any) -> list[tuple[dict[str, Any], str]]:
        part = {"type": "object", "properties": {"note": {"type": kind}}}
        return [
            ({"x-more": {"a/b": part}}, "#/x-more/a~1b"),
            ({"x-more": {"a b": part}}, "#/x-more/a%20b"),
            ({"x-more": [STRING, part]}, "#/x-more/1"),
            ({"x-more": {"$anchor": "it", **part}}, "#it"),
        ]

    for (old, pointer), (new, _) in zip(held("string"), held(["string", "null"]), strict=True):
        sides = [
            changed("inputSchema", {"properties": {"a": {"$ref": pointer}}, **rest}) for rest in (old, new)
        ]
        assert R.TYPE_WIDENED in verdict(*sides).reasons, pointer


@pytest.mark.parametrize("pointer", ["#/x-more/2", "#/x-more/01", "#/x-more/-1", "#nowhere", "#/x-more/a"])
def test_references_that_lead_nowhere(pointer: str) -> None:
    assert referring({}, {"$ref": pointer}, {}, {}) == {R.UNRESOLVED_REFERENCE}


def test_a_new_input_of_an_existing_definition_is_new_where_it_is_used() -> None:
    assert R.INPUT_ADDED in referring({"anyOf": [STRING]}, {"anyOf": [STRING, ref("A")]})


def test_a_new_part_may_refer_to_itself() -> None:
    tree = {"T": {"type": "string", "anyOf": [ref("T"), {"items": ref("T")}]}}
    new = referring({"allOf": [STRING]}, {"allOf": [STRING, ref("T")]}, tree, tree)
    assert new == {R.BRANCH_ADDED}


def test_a_look_alike_within_the_schema_is_flagged() -> None:
    sides = [changed("inputSchema/description", text) for text in ("A cafe\u0301.", "A caf\u00e9.")]
    assert verdict(*sides).flags == (ToolFlag.CONFUSABLE,)
    assert verdict(None, sides[1]).flags == ()


def test_a_name_outside_ascii_is_flagged_at_first_sight() -> None:
    for name in ("r\u00e9sum\u00e9", "\u0440ath"):
        assert ToolFlag.CONFUSABLE_NAME in verdict(None, changed("name", name)).flags

"""The 54 kinds of change (docs/tool-changes.md), each with its verdict in both readings."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from core.tool_change_kinds import KINDS, MATERIAL, MINOR, NONE, Kind
from core.tool_definitions import LOOK_UP, changed, verdict
from toolvet.core.change_findings import Findings
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag
from toolvet.core.errors import ContractError
from toolvet.core.json_reader import read_json
from toolvet.core.listing_change import (
    ListingChange,
    ObservedListing,
    Presence,
    compare_listings,
    read_listing,
    viewpoint_flags,
)
from toolvet.core.tool_change import classify_instructions

ALL = set(range(1, 55))
IN_LISTINGS = {9, 10, 11, 12, 13, 14, 48, 49, 50, 51, 52, 54}


def of(number: int) -> list[Kind]:
    return [kind for kind in KINDS if kind.number == number]


def test_every_kind_has_an_example() -> None:
    assert {kind.number for kind in KINDS} | IN_LISTINGS == ALL
    assert {kind.number for kind in KINDS} & IN_LISTINGS == set()
    for number in IN_LISTINGS:
        assert any(name.startswith(f"test_{number:02}_") for name in globals()), number


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.number:02}-{kind.what}")
def test_kind(kind: Kind) -> None:
    strict = verdict(kind.before, kind.after)
    assert (strict.result, strict.reasons) == (kind.strict, kind.reasons)
    assert verdict(kind.before, kind.after, Reading.LITERAL).result is kind.literal
    assert set(strict.flags) == set(kind.flags)
    at_first_sight = set(verdict(None, kind.after).flags)
    assert at_first_sight <= set(kind.flags)
    assert set(kind.flags) - at_first_sight <= {
        ToolFlag.LIKELY_GENERATED,
        ToolFlag.ICON_HOST_CHANGED,
        ToolFlag.CONFUSABLE,
    }


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.reasons], ids=lambda kind: f"{kind.number:02}-{kind.what}"
)
def test_the_reasons_decide_and_nothing_else(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule that finds it, the kind is no longer what the table says."""
    add: Callable[..., None] = Findings.add
    monkeypatch.setattr(
        Findings, "add", lambda self, reason, place: reason in kind.reasons or add(self, reason, place)
    )
    assert verdict(kind.before, kind.after).result is NONE


# what needs a listing


def second(name: str, **members: object) -> dict[str, Any]:
    other = {"description": "Write rows of a made-up table.", "inputSchema": {"type": "object"}}
    return {"name": name, **other, **members}


def compared(before: list[Any], after: list[Any], reading: Reading = Reading.STRICT) -> ListingChange:
    return compare_listings(read_listing(before), read_listing(after), reading)


def test_09_a_renamed_tool_is_one_gone_and_one_come_that_look_alike() -> None:
    found = compared([LOOK_UP, second("write")], [changed("name", "find_rows"), second("write")])
    assert found.tools["find_rows"].presence is Presence.ADDED
    assert found.tools["find_rows"].verdict.result is ChangeResult.BASELINE
    assert found.tools["look_up"].presence is Presence.REMOVED
    for name in ("find_rows", "look_up"):
        assert found.tools[name].verdict.flags == (ToolFlag.LOOKS_RENAMED,)
    assert found.tools["write"].verdict.flags == ()
    assert found.result is MATERIAL
    assert found.reasons == (ChangeReason.TOOL_ADDED, ChangeReason.TOOL_REMOVED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (second("write-rows"), second("write_rows", description="Other words.")),
        (second("write"), second("note")),
        (
            changed("description", "Some.", of=LOOK_UP),
            changed("name", "other", of=changed("description", "Other.")),
        ),
    ],
    ids=["letters of the name", "description", "input schema"],
)
def test_09_each_trait_of_a_renamed_tool_is_enough(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = compared([before], [after])
    assert all(standing.verdict.flags == (ToolFlag.LOOKS_RENAMED,) for standing in found.tools.values())
    unlike = compared([before], [second("else", description="Another thing.")])
    assert all(standing.verdict.flags == () for standing in unlike.tools.values())


@pytest.mark.parametrize("name", ["verify_u\u0455er", "verify_user\u200b", "verify_\uff55ser", "Verify_user"])
def test_10_a_name_that_can_be_taken_for_another(name: str) -> None:
    found = compared([second("verify_user")], [second("verify_user"), second(name)])
    assert ToolFlag.CONFUSABLE_NAME in found.tools[name].verdict.flags
    assert found.tools["verify_user"].verdict.flags == ()
    instead = compared([second("verify_user")], [second(name)])
    assert ToolFlag.CONFUSABLE_NAME in instead.tools[name].verdict.flags


def test_11_added_and_removed() -> None:
    added = compared([LOOK_UP], [LOOK_UP, second("write")])
    assert added.tools["write"].presence is Presence.ADDED
    assert added.tools["write"].verdict.result is ChangeResult.BASELINE
    assert (added.result, added.reasons) == (MATERIAL, (ChangeReason.TOOL_ADDED,))
    removed = compared([LOOK_UP, second("write")], [LOOK_UP])
    assert removed.tools["write"].presence is Presence.REMOVED
    assert removed.tools["write"].verdict.result is MATERIAL
    assert (removed.result, removed.reasons) == (MATERIAL, (ChangeReason.TOOL_REMOVED,))
    assert compared([LOOK_UP], [LOOK_UP, second("write")], Reading.LITERAL).result is NONE
    assert compared([LOOK_UP, second("write")], [LOOK_UP], Reading.LITERAL).result is NONE


def test_11_the_first_sight_of_a_server_is_a_baseline() -> None:
    found = compare_listings(None, read_listing([LOOK_UP, second("write")]))
    assert found.result is ChangeResult.BASELINE
    assert found.reasons == ()
    assert {standing.verdict.result for standing in found.tools.values()} == {ChangeResult.BASELINE}


@pytest.mark.parametrize("reading", Reading)
def test_12_a_tool_that_comes_back_meets_its_old_baseline(reading: Reading) -> None:
    first, rewritten = read_listing([LOOK_UP]), read_listing([changed("description", "Send all.")])
    found = compare_listings(ObservedListing({}), rewritten, reading, baselines=first.tools)
    assert found.tools["look_up"].presence is Presence.READDED
    assert found.tools["look_up"].verdict.reasons == (ChangeReason.DESCRIPTION_CHANGED,)
    assert found.result is MATERIAL
    same = compare_listings(ObservedListing({}), first, reading, baselines=first.tools)
    assert same.result is NONE


def test_13_two_tools_of_one_name_refuse_the_listing() -> None:
    with pytest.raises(ContractError, match=r"^tools\[1\].name: duplicate_tool_name$"):
        read_listing([LOOK_UP, changed("description", "Other.")])


def test_14_a_member_twice_refuses_the_listing() -> None:
    text = b'{"tools": [{"name": "a", "description": "one", "description": "two"}]}'
    with pytest.raises(ContractError, match=r"^listing: duplicate_member$"):
        read_json(text, field="listing", max_bytes=1024)


@pytest.mark.parametrize(
    ("before", "after", "literal", "strict"),
    [
        ("Be brief.", "Be brief. Send the log.", NONE, MATERIAL),
        (None, "Be brief.", NONE, MATERIAL),
        (None, " \n", NONE, NONE),
    ],
)
def test_48_instructions(before: str | None, after: str, literal: ChangeResult, strict: ChangeResult) -> None:
    listings = read_listing([LOOK_UP], before), read_listing([LOOK_UP], after)
    assert compare_listings(*listings).result is strict
    assert compare_listings(*listings, Reading.LITERAL).result is literal
    assert classify_instructions(before, after).result is strict
    hidden = classify_instructions("Be brief.", "Be brief.\u2063")
    assert hidden.flags == (ToolFlag.CONCEALED_TEXT,)


def test_49_the_order_of_a_listing_is_no_change() -> None:
    found = compared([LOOK_UP, second("write")], [second("write"), LOOK_UP])
    assert (found.result, found.reasons) == (NONE, ())


def test_50_another_viewpoint_is_an_observation_of_its_own() -> None:
    admin, guest = read_listing([LOOK_UP, second("write")]), read_listing([LOOK_UP])
    assert viewpoint_flags(admin, guest) == (ToolFlag.VIEWPOINT_MISMATCH,)
    assert viewpoint_flags(admin, read_listing([second("write"), LOOK_UP])) == ()


def test_51_there_and_back_are_two_changes() -> None:
    other = changed("description", "Send all.")
    assert verdict(LOOK_UP, other).result is verdict(other, LOOK_UP).result is MATERIAL
    assert verdict(LOOK_UP, LOOK_UP).result is NONE


def test_52_small_changes_add_up_against_the_baseline() -> None:
    steps = [LOOK_UP]
    for path in ("mode", "limit", "where", "tags", "either", "colour"):
        steps.append(changed(f"inputSchema/properties/{path}", of=steps[-1]))
    for before, after in pairwise(steps):
        assert verdict(before, after).result is MINOR
    whole = verdict(LOOK_UP, steps[-1])
    assert (whole.result, whole.reasons) == (MINOR, (ChangeReason.INPUT_REMOVED,))
    assert whole.finding_count == 6
    back = changed("inputSchema/properties/mode", {"type": "string"}, of=steps[-1])
    assert verdict(LOOK_UP, back).reasons == (ChangeReason.CHOICES_OPENED, ChangeReason.INPUT_REMOVED)


def test_54_a_malformed_tool_among_good_ones_is_marked_and_the_others_stay() -> None:
    bad = changed("title", 7, of=second("bad"))
    found = compared([LOOK_UP, second("bad")], [LOOK_UP, bad, {"no": "name"}])
    assert found.tools["look_up"].verdict.result is NONE
    assert found.tools["bad"].presence is Presence.MALFORMED
    assert found.tools["bad"].verdict.result is MATERIAL
    assert found.tools["bad"].verdict.reasons == (ChangeReason.MALFORMED,)
    assert read_listing([LOOK_UP, bad, {"no": "name"}]).malformed == {"bad": "title: invalid_type"}
    alone = compared([LOOK_UP], [LOOK_UP, "text"])
    assert (alone.result, alone.reasons) == (MATERIAL, (ChangeReason.MALFORMED,))

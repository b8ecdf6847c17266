"""Two listings of one MCP server: a verdict for each tool, and one for the listing (CONTRACTS 13).

Names of tools are the server's text. They are the keys of the results, for the caller to map to ids of its
own; verdicts and representations do not hold them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import cast

from toolvet.core.change_findings import Findings, Place
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag, largest
from toolvet.core.definition_flags import flags_of_text
from toolvet.core.errors import ContractError
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.text_flags import name_skeleton
from toolvet.core.tool_change import (
    ToolChangeVerdict,
    classify,
    classify_instructions,
    first_sight,
    verdict_of,
)
from toolvet.core.tool_definition import Definition, tool_name
from toolvet.core.tool_parts import ToolParts, read_tool, trimmed


class Presence(StrEnum):
    """How a tool stands in two listings."""

    KEPT = "kept"
    ADDED = "added"
    READDED = "readded"
    REMOVED = "removed"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True, repr=False)
class ObservedListing:
    """The tools of one observation, taken apart; a malformed one among good ones is marked, not lost."""

    tools: Mapping[str, ToolParts]
    malformed: Mapping[str, str] = field(default_factory=dict)
    """The code of the refusal by the name of the tool."""
    nameless: int = 0
    """Elements that are no object or have no usable name."""
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class ToolStanding:
    """One tool of a comparison."""

    presence: Presence
    verdict: ToolChangeVerdict


@dataclass(frozen=True, slots=True, repr=False)
class ListingChange:
    """What two listings say of each tool, by name, and of the listing as a whole."""

    tools: Mapping[str, ToolStanding]
    instructions: ToolChangeVerdict
    result: ChangeResult
    """The largest of all; a tool that came or went is material in the strict reading."""
    reasons: tuple[ChangeReason, ...]


def read_listing(definitions: Sequence[object], instructions: str | None = None) -> ObservedListing:
    """Take all definitions of a listing apart; their order plays no part.

    Raises ContractError("tools[INDEX].name", "duplicate_tool_name"): which of two definitions an agent calls
    is anybody's guess, so that the listing as a whole says nothing.
    """
    tools: dict[str, ToolParts] = {}
    malformed: dict[str, str] = {}
    nameless = 0
    known: set[str] = set()
    for index, definition in enumerate(definitions):
        name = part = None
        code = ""
        try:
            name = tool_name(definition, index, known)
            part = read_tool(cast("Definition", definition))
        except ContractError as error:
            code = f"{error.field}: {error.code}" if name is not None else error.code
        if code == "duplicate_tool_name":
            raise ContractError(f"tools[{index}].name", code)
        if part is not None:
            tools[part.name] = part
        elif name is not None:
            malformed[name] = code
        else:
            nameless += 1
    return ObservedListing(tools, malformed, nameless, instructions)


def compare_listings(
    before: ObservedListing | None,
    after: ObservedListing,
    reading: Reading = Reading.STRICT,
    baselines: Mapping[str, ToolParts] | None = None,
) -> ListingChange:
    """Compare what is served now with what was approved, acknowledged or seen before.

    A tool is compared with its entry in ``baselines`` where it has one, so that one that was removed meets
    its old baseline when it comes back; else with its definition in ``before``. ``before`` is None at the
    first sight of the server. A tool without either is at its first sight.
    """
    former = before if before is not None else ObservedListing({})
    seen = former.tools.keys() | former.malformed.keys()
    known = {**former.tools, **(baselines or {})}
    standings: dict[str, ToolStanding] = {}
    for name, tool in after.tools.items():
        verdict = classify(known.get(name), tool, reading)
        if name not in known:
            standings[name] = ToolStanding(Presence.ADDED, verdict)
        else:
            standings[name] = ToolStanding(Presence.KEPT if name in seen else Presence.READDED, verdict)
    for name in after.malformed:
        standings[name] = ToolStanding(Presence.MALFORMED, _of_listing(reading, ChangeReason.MALFORMED))
    for name in seen - standings.keys():
        standings[name] = ToolStanding(Presence.REMOVED, _of_listing(reading, ChangeReason.TOOL_REMOVED))
    _flag_confusable_names(former, standings)
    _flag_renamed(former, after, standings)
    listing = [ChangeReason.MALFORMED] if after.nameless else []
    if before is None:
        instructions = first_sight(flags_of_text(after.instructions or ""))
    else:
        instructions = classify_instructions(before.instructions, after.instructions, reading)
        if any(standing.presence is Presence.ADDED for standing in standings.values()):
            listing.append(ChangeReason.TOOL_ADDED)
    return _summary(before is None, standings, [instructions, _of_listing(reading, *listing)])


def viewpoint_flags(one: ObservedListing, other: ObservedListing) -> tuple[ToolFlag, ...]:
    """Return ``viewpoint_mismatch`` where two callers of one server were shown different tools.

    MCP lets a listing depend on the credential. That is no change of any tool: each viewpoint is an
    observation of its own.
    """
    keys = StructuralKeys()
    same = (
        _shown(one, keys) == _shown(other, keys)
        and one.malformed == other.malformed
        and one.nameless == other.nameless
        and trimmed(one.instructions) == trimmed(other.instructions)
    )
    return () if same else (ToolFlag.VIEWPOINT_MISMATCH,)


def _shown(listing: ObservedListing, keys: StructuralKeys) -> set[int]:
    return {
        keys.key(
            [*tool.fingerprint_value().values(), tool.output_schema, dict(tool.hints), tool.rest_value()]
        )
        for tool in listing.tools.values()
    }


def _of_listing(reading: Reading, *reasons: ChangeReason) -> ToolChangeVerdict:
    findings = Findings()
    for reason in reasons:
        findings.add(reason, Place("tools"))
    return verdict_of(findings, reading)


def _summary(
    first: bool, standings: dict[str, ToolStanding], others: list[ToolChangeVerdict]
) -> ListingChange:
    verdicts = [standing.verdict for standing in standings.values()] + others
    result = largest(verdict.result for verdict in verdicts)
    if first and result is ChangeResult.NONE:
        result = ChangeResult.BASELINE
    reasons = tuple(sorted({reason for verdict in verdicts for reason in verdict.reasons}))
    return ListingChange({name: standings[name] for name in sorted(standings)}, others[0], result, reasons)


def _flag_confusable_names(former: ObservedListing, standings: dict[str, ToolStanding]) -> None:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for name in former.tools.keys() | standings.keys():
        names[name_skeleton(name)].add(name)
    for name, standing in standings.items():
        if standing.presence is Presence.ADDED and len(names[name_skeleton(name)]) > 1:
            _flag(standings, name, ToolFlag.CONFUSABLE_NAME)


def _flag_renamed(
    former: ObservedListing, after: ObservedListing, standings: dict[str, ToolStanding]
) -> None:
    keys = StructuralKeys()
    gone: defaultdict[Hashable, set[str]] = defaultdict(set)
    for name in former.tools.keys() - after.tools.keys() - after.malformed.keys():
        for trait in _traits(former.tools[name], keys):
            gone[trait].add(name)
    for name in [name for name, standing in standings.items() if standing.presence is Presence.ADDED]:
        for trait in _traits(after.tools[name], keys):
            if trait in gone:
                _flag(standings, name, ToolFlag.LOOKS_RENAMED)
                while gone[trait]:  # emptied, not dropped: each is flagged once, the next like it is too
                    _flag(standings, gone[trait].pop(), ToolFlag.LOOKS_RENAMED)


def _traits(tool: ToolParts, keys: StructuralKeys) -> Iterator[Hashable]:
    """Yield what a renamed tool would keep: its description, a schema that says something, its letters."""
    description = trimmed(tool.description)
    if description is not None:
        yield "description", description
    if tool.input_schema.get("properties"):
        # SDKs make the root's title of the tool's name.
        schema = {name: value for name, value in tool.input_schema.items() if name != "title"}
        yield "schema", keys.key(schema)
    yield "name", name_skeleton(tool.name.replace("_", "").replace("-", "").replace(".", ""))


def _flag(standings: dict[str, ToolStanding], name: str, flag: ToolFlag) -> None:
    standing = standings[name]
    flags = tuple(sorted({*standing.verdict.flags, flag}))
    standings[name] = replace(standing, verdict=replace(standing.verdict, flags=flags))

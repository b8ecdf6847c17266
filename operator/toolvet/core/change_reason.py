"""How much a change of an MCP tool matters: the closed reasons, each with its class in both readings.

``literal`` is the reading of the rules as they were first written down (CONTRACTS 13); ``strict`` adds
promotions and never takes one back. A reason has one class in each reading, so that a verdict is the
largest class among its reasons and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Reading(StrEnum):
    """Which of the two classes of a reason counts."""

    LITERAL = "literal"
    STRICT = "strict"


class ChangeResult(StrEnum):
    """What a comparison says; ``baseline`` is the first sight of a tool, which is no change."""

    BASELINE = "baseline"
    NONE = "none"
    MINOR = "minor"
    MATERIAL = "material"


_ORDER = (ChangeResult.NONE, ChangeResult.MINOR, ChangeResult.MATERIAL)


def largest(results: Iterable[ChangeResult]) -> ChangeResult:
    """Return the largest of these classes, ``none`` where there is none; a baseline counts as none."""
    ranks = (_ORDER.index(result) for result in results if result is not ChangeResult.BASELINE)
    return _ORDER[max(ranks, default=0)]


class ToolFlag(StrEnum):
    """What a reviewer should know beside the verdict; no flag changes a verdict."""

    CONCEALED_TEXT = "concealed_text"
    CONFUSABLE = "confusable"
    CONFUSABLE_NAME = "confusable_name"
    ICON_HOST_CHANGED = "icon_host_changed"
    INVALID_HEADER_MIRRORING = "invalid_header_mirroring"
    LIKELY_GENERATED = "likely_generated"
    LOOKS_RENAMED = "looks_renamed"
    OVER_16_KIB = "over_16_kib"
    REMOTE_REFERENCE = "remote_reference"
    VIEWPOINT_MISMATCH = "viewpoint_mismatch"


FLAG_MEANINGS: dict[ToolFlag, str] = {
    ToolFlag.CONCEALED_TEXT: "characters that are not shown, or that turn the direction of writing",
    ToolFlag.CONFUSABLE: "look-alike letters of two scripts in one word, text that is not in NFC form, or a "
    "change that cannot be seen",
    ToolFlag.CONFUSABLE_NAME: "a name that can be taken for another, or one with letters outside ASCII",
    ToolFlag.ICON_HOST_CHANGED: "icons come from another host",
    ToolFlag.INVALID_HEADER_MIRRORING: "an x-mcp-header that makes HTTP clients drop the tool",
    ToolFlag.LIKELY_GENERATED: "a changed schema title that looks like a generated identifier",
    ToolFlag.LOOKS_RENAMED: "one tool went and one like it came under another name",
    ToolFlag.OVER_16_KIB: "larger than the 16,384 bytes that are shown of it",
    ToolFlag.REMOTE_REFERENCE: "a $ref to somewhere else; it is never fetched",
    ToolFlag.VIEWPOINT_MISMATCH: "two callers of one server were shown different tools",
}


class ChangeReason(StrEnum):
    """Why a change is classified as it is."""

    ANNOTATION_CHANGED = "annotation_changed"
    ANNOTATION_WORDING_CHANGED = "annotation_wording_changed"
    ANNOTATIONS_TITLE_CHANGED = "annotations_title_changed"
    ARGUMENT_IN_HEADER = "argument_in_header"
    BRANCH_ADDED = "branch_added"
    BRANCH_REMOVED = "branch_removed"
    BRANCHES_REORDERED = "branches_reordered"
    CHOICE_ADDED = "choice_added"
    CHOICE_REMOVED = "choice_removed"
    CHOICES_OPENED = "choices_opened"
    CHOICES_REORDERED = "choices_reordered"
    CONST_CHANGED = "const_changed"
    CONSTRAINT_CHANGED = "constraint_changed"
    DEFAULT_CHANGED = "default_changed"
    DEFAULT_REMOVED = "default_removed"
    DEFINITIONS_CHANGED = "definitions_changed"
    DESCRIPTION_CHANGED = "description_changed"
    DIALECT_CHANGED = "dialect_changed"
    EDGE_WHITESPACE_LARGE = "edge_whitespace_large"
    EXECUTION_CHANGED = "execution_changed"
    EXTRA_INPUTS_ALLOWED = "extra_inputs_allowed"
    EXTRA_INPUTS_CLOSED = "extra_inputs_closed"
    HINT_CHANGED = "hint_changed"
    HINT_RESTATED = "hint_restated"
    ICONS_CHANGED = "icons_changed"
    INPUT_ADDED = "input_added"
    INPUT_REMOVED = "input_removed"
    INSTRUCTIONS_CHANGED = "instructions_changed"
    MALFORMED = "malformed"
    META_CHANGED = "meta_changed"
    META_LINK_CHANGED = "meta_link_changed"
    META_WORDING_CHANGED = "meta_wording_changed"
    NEGATION_CHANGED = "negation_changed"
    OUTPUT_SCHEMA_CHANGED = "output_schema_changed"
    OUTPUT_WORDING_CHANGED = "output_wording_changed"
    REFERENCE_CHANGED = "reference_changed"
    REMOTE_REFERENCE = "remote_reference"
    REQUIRED_GROWN = "required_grown"
    REQUIRED_REORDERED = "required_reordered"
    REQUIRED_SHRUNK = "required_shrunk"
    SCHEMA_EDITED = "schema_edited"
    SCHEMA_ERASED = "schema_erased"
    SCHEMA_TITLE_CHANGED = "schema_title_changed"
    SIDE_EFFECT_CHANGED = "side_effect_changed"
    TITLE_CHANGED = "title_changed"
    TITLE_MOVED = "title_moved"
    TOOL_ADDED = "tool_added"
    TOOL_REMOVED = "tool_removed"
    TYPE_NARROWED = "type_narrowed"
    TYPE_WIDENED = "type_widened"
    UNCLASSIFIABLE = "unclassifiable"
    UNDECLARED_INPUT_REQUIRED = "undeclared_input_required"
    UNKNOWN_MEMBER_CHANGED = "unknown_member_changed"
    UNKNOWN_MEMBER_WORDING_CHANGED = "unknown_member_wording_changed"
    UNRESOLVED_REFERENCE = "unresolved_reference"
    UNSATISFIABLE_SCHEMA = "unsatisfiable_schema"
    WORDING_ADDED = "wording_added"
    WORDING_CHANGED = "wording_changed"


@dataclass(frozen=True, slots=True)
class Rule:
    """The class of one reason in each reading, and what it means."""

    literal: ChangeResult
    strict: ChangeResult
    meaning: str

    def result(self, reading: Reading) -> ChangeResult:
        """Return the class in that reading."""
        return self.literal if reading is Reading.LITERAL else self.strict

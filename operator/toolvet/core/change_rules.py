"""The table of classes: every reason of a tool change in both readings, with its meaning.

Sources: CONTRACTS 13 for what was settled, and our decisions where it is silent (docs/tool-changes.md).
"""

from __future__ import annotations

from toolvet.core.change_reason import ChangeReason, ChangeResult, Rule

_NONE, _MINOR, _MATERIAL = ChangeResult.NONE, ChangeResult.MINOR, ChangeResult.MATERIAL


def _always_minor(meaning: str) -> Rule:
    return Rule(_MINOR, _MINOR, meaning)


def _always_material(meaning: str) -> Rule:
    return Rule(_MATERIAL, _MATERIAL, meaning)


def _promoted(meaning: str) -> Rule:
    """Promote an edit of the input schema that the literal reading calls minor."""
    return Rule(_MINOR, _MATERIAL, meaning)


def _unseen_minor(meaning: str) -> Rule:
    """Compare a part that the literal reading does not look at."""
    return Rule(_NONE, _MINOR, meaning)


def _unseen_material(meaning: str) -> Rule:
    """Compare such a part, on which a model or a client acts."""
    return Rule(_NONE, _MATERIAL, meaning)


_R = ChangeReason
RULES: dict[ChangeReason, Rule] = {
    _R.ANNOTATION_CHANGED: _unseen_minor("an annotation beside title and hints changed"),
    _R.ANNOTATION_WORDING_CHANGED: _unseen_material("text in such an annotation changed"),
    _R.ANNOTATIONS_TITLE_CHANGED: _unseen_material(
        "the title in the annotations changed, while another is displayed"
    ),
    _R.ARGUMENT_IN_HEADER: _promoted("an argument is now mirrored into an HTTP header, or into another one"),
    _R.BRANCH_ADDED: _always_minor("an alternative was added to a schema"),
    _R.BRANCH_REMOVED: _always_minor("an alternative was removed from a schema"),
    _R.BRANCHES_REORDERED: _always_minor("the alternatives of a schema stand in another order"),
    _R.CHOICE_ADDED: _promoted("a listed value (enum) was added or replaced"),
    _R.CHOICE_REMOVED: _always_minor("a listed value (enum) was removed"),
    _R.CHOICES_OPENED: _promoted("listed values were dropped: other values are accepted"),
    _R.CHOICES_REORDERED: _always_minor("the listed values are the same, stated otherwise"),
    _R.CONST_CHANGED: _promoted("the one accepted value (const) is another"),
    _R.CONSTRAINT_CHANGED: _always_minor("a bound, pattern, format or other constraint changed"),
    _R.DEFAULT_CHANGED: _promoted("a default value was added or changed"),
    _R.DEFAULT_REMOVED: _always_minor("a default value was removed"),
    _R.DEFINITIONS_CHANGED: _always_minor("a shared definition of the schema was added or removed"),
    _R.DESCRIPTION_CHANGED: _always_material("the description changed, appeared or went"),
    _R.DIALECT_CHANGED: _always_minor("the JSON Schema dialect changed"),
    _R.EDGE_WHITESPACE_LARGE: _unseen_minor("more than 64 blanks at the edges of title or description"),
    _R.EXECUTION_CHANGED: _unseen_minor("the execution member changed"),
    _R.EXTRA_INPUTS_ALLOWED: _promoted("inputs that are not declared are accepted now"),
    _R.EXTRA_INPUTS_CLOSED: _always_minor("inputs that are not declared are accepted no longer"),
    _R.HINT_CHANGED: _unseen_material("the value of a behaviour hint changed, defaults applied"),
    _R.HINT_RESTATED: _unseen_minor("a behaviour hint is written out or left out, its value being the same"),
    _R.ICONS_CHANGED: _unseen_minor("the icons changed"),
    _R.INPUT_ADDED: _always_material("an input was added, at whatever depth; a renamed input is a new one"),
    _R.INPUT_REMOVED: _always_minor("an input was removed"),
    _R.INSTRUCTIONS_CHANGED: _unseen_material("the instructions of the server changed"),
    _R.MALFORMED: _always_material("the definition cannot be understood"),
    _R.META_CHANGED: _unseen_minor("the _meta member changed"),
    _R.META_LINK_CHANGED: _unseen_material("a link in _meta changed"),
    _R.META_WORDING_CHANGED: _unseen_material("text in _meta changed"),
    _R.NEGATION_CHANGED: _promoted("a condition (not, if) changed: what it excludes is not known"),
    _R.OUTPUT_SCHEMA_CHANGED: _unseen_minor("the output schema changed, appeared or went"),
    _R.OUTPUT_WORDING_CHANGED: _unseen_material("text in the output schema changed"),
    _R.REFERENCE_CHANGED: _always_minor("a $ref leads elsewhere within the schema"),
    _R.REMOTE_REFERENCE: _promoted("a $ref to outside the schema was added or changed; it is never fetched"),
    _R.REQUIRED_GROWN: _always_minor("an input became required"),
    _R.REQUIRED_REORDERED: _always_minor("the required inputs stand in another order"),
    _R.REQUIRED_SHRUNK: _always_minor("an input is required no longer"),
    _R.SCHEMA_EDITED: _always_minor("another edit of the schema"),
    _R.SCHEMA_ERASED: _promoted("no input is declared any more and any is accepted"),
    _R.SCHEMA_TITLE_CHANGED: _always_material(
        "a schema title changed that looks like a generated identifier"
    ),
    _R.SIDE_EFFECT_CHANGED: _unseen_material("the side-effect class that follows from the hints changed"),
    _R.TITLE_CHANGED: _always_material("the displayed title changed, appeared or went"),
    _R.TITLE_MOVED: _unseen_minor("the same title is displayed, stated in another member"),
    _R.TOOL_ADDED: _unseen_material("a tool was added to the listing"),
    _R.TOOL_REMOVED: _unseen_material("a tool was removed from the listing"),
    _R.TYPE_NARROWED: _always_minor("fewer types are accepted"),
    _R.TYPE_WIDENED: _promoted("a type is accepted that was not"),
    _R.UNCLASSIFIABLE: _always_material("the change cannot be classified within bounds"),
    _R.UNDECLARED_INPUT_REQUIRED: _promoted("an input is required that is declared nowhere"),
    _R.UNKNOWN_MEMBER_CHANGED: _unseen_minor("a member that MCP does not define changed"),
    _R.UNKNOWN_MEMBER_WORDING_CHANGED: _unseen_material("text in such a member changed"),
    _R.UNRESOLVED_REFERENCE: _promoted("a $ref within the schema leads nowhere"),
    _R.UNSATISFIABLE_SCHEMA: _promoted("a schema accepts nothing, or refers to itself only: readers differ"),
    _R.WORDING_ADDED: _promoted("text came with a new alternative or definition of a schema"),
    _R.WORDING_CHANGED: _always_material("text in a surviving part of the input schema changed"),
}

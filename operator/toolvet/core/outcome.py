"""How a workflow ended: a closed class and one of its closed reasons (CONTRACTS 10.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolvet.core.canonical import canonical_json
from toolvet.core.errors import OutcomeError
from toolvet.core.lenient_json import load_json
from toolvet.core.record_members import MemberFault, read_members

OUTCOME_SCHEMA_VERSION: Final = "openmed.agent.outcome.v1"


class OutcomeClass(StrEnum):
    """The closed set of ways to end."""

    SUCCESS = "success"
    ABSTAINED = "abstained"
    REVIEW_REQUIRED = "review_required"
    POLICY_DENIED = "policy_denied"
    FAILED = "failed"


OUTCOME_NAMES: Final = tuple(sorted(str(member) for member in OutcomeClass))
"""The classes in the order in which summaries and diffs list them."""

_CLASSES: Final = {str(member): member for member in OutcomeClass}
_REASONS: Final = MappingProxyType(
    {
        OutcomeClass.SUCCESS: frozenset({"completed"}),
        OutcomeClass.ABSTAINED: frozenset({"insufficient_evidence", "out_of_scope", "low_confidence"}),
        OutcomeClass.REVIEW_REQUIRED: frozenset({"conflicting_evidence", "safety_review", "human_gate"}),
        OutcomeClass.POLICY_DENIED: frozenset({"consent_required", "purpose_mismatch", "phi_policy"}),
        OutcomeClass.FAILED: frozenset({"tool_error", "timeout", "invalid_input"}),
    }
)


def allowed_reason_codes(outcome_class: object) -> frozenset[str]:
    """Return the reasons of a class, given as a member or its text; raises OutcomeError."""
    return _REASONS[_parse_class(outcome_class)]


def _parse_class(value: object) -> OutcomeClass:
    if type(value) is OutcomeClass:
        return value
    member = _CLASSES.get(value) if type(value) is str else None
    if member is None:
        raise OutcomeError("outcome_class", "unknown_class")
    return member


@dataclass(frozen=True, slots=True, repr=False)
class WorkflowOutcome:
    """A class and one of its reasons."""

    outcome_class: OutcomeClass
    reason_code: str
    schema_version: str = OUTCOME_SCHEMA_VERSION

    def __post_init__(self) -> None:
        if type(self.schema_version) is not str or self.schema_version != OUTCOME_SCHEMA_VERSION:
            raise OutcomeError("schema_version", "invalid_schema_version")
        if type(self.outcome_class) is not OutcomeClass:
            raise OutcomeError("outcome_class", "unknown_class")
        if type(self.reason_code) is not str or self.reason_code not in _REASONS[self.outcome_class]:
            raise OutcomeError("reason_code", "unknown_reason")

    def __repr__(self) -> str:
        return "WorkflowOutcome(<content-free>)"

    @classmethod
    def from_dict(cls, mapping: object) -> WorkflowOutcome:
        """Parse a mapping; ``schema_version`` may be absent. A bad class is found before a bad version.

        Raises OutcomeError; of missing members its ``faults`` say which.
        """
        members = read_members(mapping, ("outcome_class", "reason_code"), ("schema_version",))
        match members.fault:
            case MemberFault.NO_MAPPING | MemberFault.UNREADABLE:
                raise OutcomeError("", "not_a_mapping")
            case MemberFault.MISSING_FIELD:
                missing = [OutcomeError(name, "missing_field") for name in members.missing]
                raise OutcomeError("", "missing_field", missing)
            case MemberFault.UNKNOWN_FIELD:
                raise OutcomeError("", "unknown_field")
        values = members.values
        return cls(
            outcome_class=_parse_class(values["outcome_class"]),
            reason_code=values["reason_code"],  # type: ignore[arg-type]  # checked by the constructor
            schema_version=values.get("schema_version", OUTCOME_SCHEMA_VERSION),  # type: ignore[arg-type]  # the same
        )

    @classmethod
    def from_json(cls, text: object) -> WorkflowOutcome:
        """Parse JSON text or bytes; raises OutcomeError, ``malformed_json`` where there is no document."""
        document, fault = load_json(text, overflow=False)
        if fault is not None:
            raise OutcomeError("", "malformed_json")
        return cls.from_dict(document)

    def to_dict(self) -> dict[str, str]:
        """Return the dict form, fields in the contract's order."""
        return {
            "schema_version": self.schema_version,
            "outcome_class": str(self.outcome_class),
            "reason_code": self.reason_code,
        }

    def to_json(self) -> str:
        """Return canonical JSON without a newline."""
        return canonical_json(self.to_dict())

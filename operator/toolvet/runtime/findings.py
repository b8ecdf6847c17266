"""What differs for one reviewed tool, and the contract's flat codes for it (CONTRACTS 9.3, 15.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from toolvet.core.errors import MAX_FAULTS, ContractError
from toolvet.core.inventory import ToolInventoryRecord
from toolvet.core.side_effect import SideEffectClass


class Reason(StrEnum):
    """Why a tool needs a new review; of several for one tool, the first here is raised (9.3, 9.7)."""

    CATALOG_UNAVAILABLE = "catalog_unavailable"
    TOOL_UNAVAILABLE = "tool_unavailable"
    INVALID_SCHEMA = "invalid_schema"
    SCHEMA_CHANGED = "schema_changed"
    SIDE_EFFECT_CHANGED = "side_effect_changed"
    IMPLEMENTATION_CHANGED = "implementation_changed"


_PLACES = {
    Reason.CATALOG_UNAVAILABLE: "",
    Reason.TOOL_UNAVAILABLE: "",
    Reason.INVALID_SCHEMA: ".schema_digest",
    Reason.SCHEMA_CHANGED: ".schema_digest",
    Reason.SIDE_EFFECT_CHANGED: ".side_effect_class",
    Reason.IMPLEMENTATION_CHANGED: ".implementation_id",
}


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """One tool of a catalog and all that differs: schema, class and identity, tested independently."""

    tool_id: str
    version: str
    reasons: tuple[Reason, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the finding as JSON takes it."""
        reasons = [str(reason) for reason in self.reasons]
        return {"tool_id": self.tool_id, "version": self.version, "reasons": reasons}


def contract_codes(reasons: Sequence[Reason]) -> set[str]:
    """Return the codes of one tool in the flat report, which masks some (CONTRACTS 9.5).

    A schema that cannot be written hides all else; a schema that changed hides a change of class.
    """
    if Reason.INVALID_SCHEMA in reasons:
        return {str(Reason.INVALID_SCHEMA)}
    hidden = {Reason.SIDE_EFFECT_CHANGED} if Reason.SCHEMA_CHANGED in reasons else set()
    return {str(reason) for reason in reasons if reason not in hidden}


def faults(
    records: Iterable[ToolInventoryRecord], found: Iterable[Sequence[Reason]]
) -> tuple[ContractError, ...]:
    """Return the precise places of what was found for sorted records, such as ``tools[3].schema_digest``.

    A record of class ``none`` says so: no hints ever lead to that class, hence nothing can be bound to it.
    """
    listed: list[ContractError] = []
    for index, (record, reasons) in enumerate(zip(records, found, strict=False)):
        for reason in reasons:
            underivable = (
                reason is Reason.SIDE_EFFECT_CHANGED and record.side_effect_class is SideEffectClass.NONE
            )
            code = "none_is_never_derived" if underivable else str(reason)
            listed.append(ContractError(f"tools[{index}]{_PLACES[reason]}", code))
        if len(listed) >= MAX_FAULTS:
            break
    return tuple(listed[:MAX_FAULTS])

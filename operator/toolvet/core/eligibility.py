"""The report whether a reviewed catalog may still be used (CONTRACTS 9.1, 9.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from toolvet.core.errors import BINDING_CODES, ToolCatalogBindingError
from toolvet.core.identifiers import is_digest


class EligibilityStatus(StrEnum):
    """Whether a new review is needed."""

    ELIGIBLE = "eligible"
    RE_REVIEW_REQUIRED = "re-review-required"


@dataclass(frozen=True, slots=True)
class CatalogEligibility:
    """A snapshot, and the distinct, sorted codes over all its tools; which tool, it never says."""

    snapshot_digest: str
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_digest(self.snapshot_digest) or type(self.reasons) is not tuple:
            raise ToolCatalogBindingError("invalid_bindings")
        if any(type(code) is not str or code not in BINDING_CODES for code in self.reasons):
            raise ToolCatalogBindingError("invalid_bindings")
        object.__setattr__(self, "reasons", tuple(sorted(set(self.reasons))))

    @property
    def status(self) -> EligibilityStatus:
        """Eligible exactly when there is no reason."""
        return EligibilityStatus.RE_REVIEW_REQUIRED if self.reasons else EligibilityStatus.ELIGIBLE

    @property
    def preview_valid(self) -> bool:
        """Tell whether what was previewed is what would run."""
        return not self.reasons

    @property
    def resume_eligible(self) -> bool:
        """Tell whether a paused run may go on; always the same as ``preview_valid``."""
        return not self.reasons

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order."""
        return {
            "snapshot_digest": self.snapshot_digest,
            "status": str(self.status),
            "preview_valid": self.preview_valid,
            "resume_eligible": self.resume_eligible,
            "reasons": list(self.reasons),
        }

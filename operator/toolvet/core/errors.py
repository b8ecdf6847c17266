"""The errors of the record contracts: a fixed field, a fixed code, never a value (CONTRACTS 1.4)."""

from __future__ import annotations

from collections.abc import Sequence

MAX_FAULTS = 16
"""How many precise faults one error lists: enough to mend a document, too few to be a copy of it."""


class ContractError(ValueError):
    """Input that breaks a contract, or an edge that could not be read.

    The text is ``field: code``; an error without a field is its code alone. Both are fixed public
    names, so that the text can be logged, stored and shown: a rejected value is never part of it.
    Where the contract's own field swallows the place, ``faults`` has the precise ones, such as
    ``tools[3].version: invalid_semver``, at most 16 of them (CONTRACTS 15.1); otherwise it is empty.
    """

    def __init__(self, field: str, code: str, faults: Sequence[ContractError] = ()) -> None:
        super().__init__(f"{field}: {code}" if field else code)
        self.field = field
        self.code = code
        # A fault that was raised somewhere has frames, and those hold what was rejected there.
        self.faults = tuple(fault.with_traceback(None) for fault in faults[:MAX_FAULTS])

    @property
    def field_name(self) -> str:
        """The field, under the name the reference gives it (CONTRACTS 1.4)."""
        return self.field

    def under(self, prefix: str) -> ContractError:
        """Return the same error with its place made precise, such as ``tools[3].version``."""
        place = f"{prefix}.{self.field}" if self.field else prefix
        return type(self)(place, self.code, [fault.under(prefix) for fault in self.faults])


class GovernanceIdError(ContractError):
    """A governance identifier that does not parse (CONTRACTS 2.1)."""


class CorrelationIdError(ContractError):
    """A run or action identifier that does not parse (CONTRACTS 2.4)."""


class ToolInventoryError(ContractError):
    """An inventory, or one record of it, that breaks the contract (CONTRACTS 5)."""


class ToolCatalogDiffError(ContractError):
    """Input of a catalog diff that is no inventory, or a diff built wrongly (CONTRACTS 7.4)."""


class AgentToolsCliError(ContractError):
    """A document, format or output that ``agents tools`` refuses (CONTRACTS 6)."""


class OutcomeError(ContractError):
    """An outcome of a run that breaks the contract (CONTRACTS 10.1)."""


class RunSummaryError(ContractError):
    """A run summary, or one value of it, that breaks the contract (CONTRACTS 10.3)."""


class RunSummaryPrivacyError(RunSummaryError):
    """A run summary that would carry what summaries must not (CONTRACTS 10.3)."""


class CallStoreError(ContractError):
    """Rules or held calls that could not be read or written: nothing is known, and nothing is allowed."""


class RunDiffError(ContractError):
    """Input of a run diff that is no summary, or a diff built wrongly (CONTRACTS 11)."""


BINDING_CODES = frozenset(
    {
        "catalog_unavailable",
        "implementation_changed",
        "invalid_bindings",
        "invalid_schema",
        "invalid_selection",
        "invalid_snapshot",
        "invocation_failed",
        "schema_changed",
        "side_effect_changed",
        "tool_unavailable",
        "unreviewed_tool",
    }
)
"""The contract's closed set (CONTRACTS 9.2)."""


class ToolCatalogBindingError(ContractError):
    """A binding or snapshot that breaks the contract; the text is the code alone (CONTRACTS 9.2).

    Any code but those of the closed set is ``invalid_bindings``, so that no text passes for a code.
    """

    def __init__(self, code: str, faults: Sequence[ContractError] = ()) -> None:
        super().__init__("", code if code in BINDING_CODES else "invalid_bindings", faults)

    def under(self, prefix: str) -> ContractError:
        """Return the error with its place: the contract's own text has none."""
        return ContractError(prefix, self.code, [fault.under(prefix) for fault in self.faults])


class ToolCatalogReviewRequired(ToolCatalogBindingError):  # noqa: N818  # the contract's own name
    """The reviewed catalog can no longer be used as it is (CONTRACTS 9.2)."""

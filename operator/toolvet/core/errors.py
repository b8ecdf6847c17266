"""The errors of the record contracts: a fixed field, a fixed code, never a value (CONTRACTS 1.4)."""

from __future__ import annotations


class ContractError(ValueError):
    """Input that breaks a contract, or an edge that could not be read.

    The text is ``field: code``; an error without a field is its code alone. Both are fixed public
    names, so that the text can be logged, stored and shown: a rejected value is never part of it.
    """

    def __init__(self, field: str, code: str) -> None:
        super().__init__(f"{field}: {code}" if field else code)
        self.field_name = field
        self.code = code

    def under(self, prefix: str) -> ContractError:
        """Return the same error with its place made precise, such as ``tools[3].version``."""
        return type(self)(f"{prefix}.{self.field_name}" if self.field_name else prefix, self.code)


class GovernanceIdError(ContractError):
    """A governance identifier that does not parse (CONTRACTS 2.1)."""


class CorrelationIdError(ContractError):
    """A run or action identifier that does not parse (CONTRACTS 2.4)."""


class ToolInventoryError(ContractError):
    """An inventory, or one record of it, that breaks the contract (CONTRACTS 5)."""


class ToolCatalogDiffError(ContractError):
    """Input of a catalog diff that is no inventory, or a diff built wrongly (CONTRACTS 7.4)."""


class RunSummaryError(ContractError):
    """A run summary, or one value of it, that breaks the contract (CONTRACTS 10.3)."""


class ToolCatalogBindingError(ContractError):
    """A binding or snapshot that breaks the contract; the text is the code alone (CONTRACTS 9.2)."""

    def __init__(self, code: str) -> None:
        super().__init__("", code)

    def under(self, prefix: str) -> ContractError:
        """Return the error with its place: the contract's own text has none."""
        return ContractError(prefix, self.code)

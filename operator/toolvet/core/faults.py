"""Every fault of a record in one error, the first one deciding its text (CONTRACTS 15.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from toolvet.core.errors import MAX_FAULTS, ContractError


class Faults:
    """Collects the contract errors of ``with`` blocks, each of which ends at its first one.

    What was collected keeps no traceback: its frames would lead to rejected values.
    """

    def __init__(self) -> None:
        self._errors: list[ContractError] = []

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, ContractError):
            return False
        self._errors.append(error.with_traceback(None))
        return True

    def __len__(self) -> int:
        return len(self._errors)

    @property
    def full(self) -> bool:
        """Tell whether one error could not show more."""
        return len(self.precise) >= MAX_FAULTS

    @property
    def precise(self) -> list[ContractError]:
        """The faults at their precise places, at most as many as one error shows."""
        found: list[ContractError] = []
        for error in self._errors[:MAX_FAULTS]:
            found += error.faults or (error,)
        return found[:MAX_FAULTS]

    def raise_first(self) -> None:
        """Raise the first error with all faults beside it; do nothing where there is none."""
        if not self._errors:
            return
        first = self._errors[0]
        if len(self._errors) == 1:
            raise first
        raise type(first)(first.field, first.code, self.precise)

    def raise_as(self, kind: type[ContractError], field: str, code: str) -> None:
        """Raise one error of this text with all faults beside it; do nothing where there is none."""
        if self._errors:
            raise kind(field, code, self.precise)


def check_fields(
    values: Mapping[str, object], checks: Mapping[str, Callable[[object], object]]
) -> dict[str, Any]:
    """Return what each check makes of its field; raises the first fault in the order of the checks."""
    checked: dict[str, Any] = {}
    faults = Faults()
    for field, check in checks.items():
        with faults:
            checked[field] = check(values[field])
    faults.raise_first()
    return checked


def placed(error: ContractError, place: str, *, whole: str) -> ContractError:
    """Return the error under a place; one whose field names the record as a whole gets the place itself."""
    if error.field != whole:
        return error.under(place)
    return type(error)(place, error.code, [fault.under(place) for fault in error.faults])

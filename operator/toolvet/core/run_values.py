"""Checks that run events, run summaries and run diffs share (CONTRACTS 2.5, 10.2, 10.3, 11).

Each returns the value it accepts and raises the error class of its caller, which never repeats a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Final

from toolvet.core.errors import MAX_FAULTS, ContractError, RunSummaryError
from toolvet.core.faults import Faults
from toolvet.core.identifiers import is_digest, is_summary_workflow_id
from toolvet.core.outcome import OUTCOME_NAMES

MAX_WORKFLOWS: Final = 1_024
MAX_ARTIFACTS: Final = 4_096
MAX_OUTCOMES: Final = 10_000
MAX_TOOL_CALLS: Final = 10_000_000
MAX_SECONDS: Final = 31_536_000.0
"""A year of 365 days."""

_Error = type[ContractError]
_NAMES: Final = frozenset(OUTCOME_NAMES)


def check_schema_version(value: object, expected: str, error: _Error) -> str:
    """Return the schema id, or refuse any other: ``schema_version: unsupported_version``."""
    if type(value) is not str or value != expected:
        raise error("schema_version", "unsupported_version")
    return value


def check_integer(value: object, field: str, code: str, error: _Error, *, least: int, most: int) -> int:
    """Return an exact integer within bounds: neither a boolean nor a float is one (CONTRACTS 1.1)."""
    if type(value) is not int or not least <= value <= most:
        raise error(field, code)
    return value


def check_tool_calls(value: object) -> int:
    """Return how many tool calls an event or a summary counts."""
    field, code = "tool_call_count", "invalid_count"
    return check_integer(value, field, code, RunSummaryError, least=0, most=MAX_TOOL_CALLS)


def check_seconds(value: object, field: str, error: _Error, *, least: float) -> float:
    """Return seconds as a float, the sign of zero kept; raises ``invalid_number`` or ``out_of_range``."""
    if type(value) is not int and type(value) is not float:
        raise error(field, "invalid_number")
    # NaN compares false with everything, and an integer of any size is compared exactly.
    if not least <= value <= MAX_SECONDS:
        raise error(field, "out_of_range")
    return float(value)


def check_workflow_ids(
    value: object, field: str, error: _Error, code: str = "invalid_identifier"
) -> tuple[str, ...]:
    """Return at most 1024 workflow ids that ascend by code point; they are not sorted for the caller."""
    items = check_items(value, field, is_summary_workflow_id, code, error, most=MAX_WORKFLOWS)
    return _ascending(items, field, error)


def check_artifact_digests(
    value: object, field: str, error: _Error, code: str = "invalid_digest"
) -> tuple[str, ...]:
    """Return at most 4096 digests that ascend by code point; they are not sorted for the caller."""
    items = check_items(value, field, is_digest, code, error, most=MAX_ARTIFACTS)
    return _ascending(items, field, error)


def check_items(
    value: object, field: str, is_valid: Callable[[object], bool], code: str, error: _Error, *, most: int
) -> tuple[str, ...]:
    """Return the items of any iterable but text; the error's ``faults`` say which are not valid.

    Raises ``invalid_sequence``, ``too_many_items`` or ``code``. No more than ``most`` + 1 items are drawn.
    """
    taken: tuple[str, ...] | None = None
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
        try:
            taken = tuple(islice(value, most + 1))
        except Exception:  # noqa: BLE001  # the iterable is the caller's code; the contract names one code
            taken = None
    if taken is None:
        raise error(field, "invalid_sequence")
    if len(taken) > most:
        raise error(field, "too_many_items")
    refuse_at((index for index, item in enumerate(taken) if not is_valid(item)), field, code, error)
    return taken


def refuse_at(indices: Iterable[int], field: str, code: str, error: _Error) -> None:
    """Raise where there is any index; the error's ``faults`` name them, as in ``workflow_ids[3]``."""
    faults = [error(f"{field}[{index}]", code) for index in islice(indices, MAX_FAULTS)]
    if faults:
        raise error(field, code, faults)


def _ascending(items: tuple[str, ...], field: str, error: _Error) -> tuple[str, ...]:
    pairs = enumerate(pairwise(items), start=1)
    misplaced = (index for index, (before, item) in pairs if before >= item)
    refuse_at(misplaced, field, "not_sorted_unique", error)
    return items


def check_outcome_numbers(
    value: object, field: str, code: str, error: _Error, *, least: int
) -> Mapping[str, int]:
    """Return one integer for each of the five outcome names, in their order, read-only.

    Raises ``invalid_mapping``, ``invalid_keys``, or ``FIELD.NAME: code`` of the first name at fault.
    """
    read: dict[object, object] | None = None
    if isinstance(value, Mapping):
        try:
            read = dict(islice(value.items(), len(_NAMES) + 1))
        except Exception:  # noqa: BLE001  # a hostile mapping may raise anything; the contract names one code
            read = None
    if read is None:
        raise error(field, "invalid_mapping")
    if read.keys() != _NAMES:
        raise error(field, "invalid_keys")
    numbers: dict[str, int] = {}
    faults = Faults()
    for name in OUTCOME_NAMES:
        with faults:
            place = f"{field}.{name}"
            numbers[name] = check_integer(read[name], place, code, error, least=least, most=MAX_OUTCOMES)
    faults.raise_first()
    return MappingProxyType(numbers)

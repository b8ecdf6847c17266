"""Bind reviewed records to what a registry has for them, under the names given (CONTRACTS 9.4, 9.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from toolvet.core.errors import (
    MAX_FAULTS,
    ContractError,
    ToolCatalogBindingError,
    ToolCatalogReviewRequired,
)
from toolvet.core.inventory import Key, ToolInventoryRecord
from toolvet.runtime.findings import Reason, faults
from toolvet.runtime.lookup import Captured, contract_reasons, look_up

Names = Mapping[Key, str]
"""The runtime name of each (tool_id, version); kept in memory, never part of any evidence."""

Wanted = tuple[ToolInventoryRecord, str | None]
"""A record, and the identity it was reviewed with; None where it is captured for the first time."""


def selection(tool_names: object, keys: Sequence[Key]) -> dict[Key, str]:
    """Return the names when they are given for exactly these keys and all are strings.

    Raises ToolCatalogBindingError("invalid_selection"); its faults say ``tool_names[3]: missing``, by the
    index of the sorted inventory.
    """
    taken: tuple[int, list[object]] | None = None
    missing = object()
    with suppress(Exception):  # a foreign mapping and its keys may raise anything
        if isinstance(tool_names, Mapping):
            items = list(islice(tool_names.items(), len(keys) + 1))
            given: dict[object, object] = dict(items)
            taken = len(items), [given.get(key, missing) for key in keys]
    if taken is None:
        raise ToolCatalogBindingError("invalid_selection", [ContractError("tool_names", "invalid_type")])
    count, values = taken
    names: dict[Key, str] = {}
    wrong: list[ContractError] = []
    for index, (key, value) in enumerate(zip(keys, values, strict=True)):
        if type(value) is str:
            names[key] = value
        else:
            code = "missing" if value is missing else "invalid_type"
            wrong.append(ContractError(f"tool_names[{index}]", code))
    if count > len(keys) - sum(value is missing for value in values):
        wrong.append(ContractError("tool_names", "unknown_key"))
    if wrong:
        raise ToolCatalogBindingError("invalid_selection", wrong)
    return names


def bind(registry: object, names: Names, wanted: Iterable[Wanted]) -> tuple[Captured, ...]:
    """Look every record up and keep what would run it; the first tool at fault decides the code.

    The tools after it are looked at for the faults of the error only, and no more than an error lists.
    """
    captured: list[Captured] = []
    records: list[ToolInventoryRecord] = []
    found: list[tuple[Reason, ...]] = []
    at_fault: list[Reason] = []
    for record, identity in wanted:
        bound = _bound(registry, names[record.key], record, identity)
        records.append(record)
        found.append(() if isinstance(bound, Captured) else bound)
        if isinstance(bound, Captured):
            captured.append(bound)
        else:
            at_fault.append(bound[0])
            if len(at_fault) == MAX_FAULTS:
                break
    if at_fault:
        first = at_fault[0]
        refusal = ToolCatalogBindingError if first is Reason.INVALID_SCHEMA else ToolCatalogReviewRequired
        raise refusal(str(first), faults(records, found))
    return tuple(captured)


def _bound(
    registry: object, name: str, record: ToolInventoryRecord, identity: str | None
) -> Captured | tuple[Reason, ...]:
    looked_up = look_up(registry, name, record.version)
    if isinstance(looked_up, Reason):
        return (looked_up,)
    spec, handler, current = looked_up
    reasons = contract_reasons(record, spec)
    if identity is not None and current != identity:
        reasons = (*reasons, Reason.IMPLEMENTATION_CHANGED)
    return reasons or Captured(record, name, current, handler)

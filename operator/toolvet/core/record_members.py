"""Members of a mapping whose names are known; the order of faults is that of run records (CONTRACTS 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice


class MemberFault(StrEnum):
    """Why a mapping gives no members."""

    NO_MAPPING = "no_mapping"
    UNREADABLE = "unreadable"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"


@dataclass(frozen=True, slots=True, repr=False)
class Members:
    """What was read: values by name, or the fault; ``missing`` names the fields that are not there."""

    values: dict[str, object]
    fault: MemberFault | None = None
    missing: tuple[str, ...] = ()


def read_members(mapping: object, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Members:
    """Read a mapping; unknown members are found before missing ones, and no name of them is kept."""
    if not isinstance(mapping, Mapping):
        return Members({}, MemberFault.NO_MAPPING)
    known = {*required, *optional}
    try:
        names = list(islice(mapping, len(known) + 1))
    except Exception:  # noqa: BLE001  # a hostile mapping may raise anything
        return Members({}, MemberFault.NO_MAPPING)
    if any(type(name) is not str or name not in known for name in names):
        return Members({}, MemberFault.UNKNOWN_FIELD)
    missing = tuple(name for name in required if name not in names)
    if missing:
        return Members({}, MemberFault.MISSING_FIELD, missing)
    try:
        return Members({name: mapping[name] for name in names})
    except Exception:  # noqa: BLE001  # the same
        return Members({}, MemberFault.UNREADABLE)

"""What a comparison found: reasons with places that hold no text of the server, and how much work is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from toolvet.core.change_reason import ChangeReason, ToolFlag

MAX_PLACES: Final = 16
"""Places kept of one reason; more are counted."""


@dataclass(frozen=True, slots=True, repr=False)
class Place:
    """A place in a definition: member and keyword names of the standards, and indexes.

    An input is its index in sorted order, an unknown keyword its index among the keywords: both names are
    the server's text. ``name`` is such a name for the comparison alone and is never shown.
    """

    segment: str
    parent: Place | None = None
    name: str | None = None

    def at(self, segment: str, name: str | None = None) -> Place:
        """Return a place within this one."""
        return Place(segment, self, name)

    def __str__(self) -> str:
        return ".".join(reversed([place.segment for place in self._upwards()]))

    def _upwards(self) -> Iterator[Place]:
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent


class Report(Protocol):
    """Takes findings of a schema."""

    def __call__(
        self, reason: ChangeReason, place: Place, *, prose: bool = False, within: bool = False
    ) -> None:
        """Take one finding.

        ``prose``: it brings or changes text that may be read as language. ``within``: it is part of an added
        input, which is a finding already.
        """


class Findings:
    """Reasons and the first places of each, in the order of discovery; and the flags."""

    def __init__(self) -> None:
        self.places: dict[ChangeReason, list[str]] = {}
        self.counts: dict[ChangeReason, int] = {}
        self.flags: set[ToolFlag] = set()

    def add(self, reason: ChangeReason, place: Place) -> None:
        """Record one finding."""
        known = self.places.setdefault(reason, [])
        self.counts[reason] = self.counts.get(reason, 0) + 1
        if len(known) < MAX_PLACES:
            known.append(str(place))

    def __contains__(self, reason: ChangeReason) -> bool:
        return reason in self.counts

    def __bool__(self) -> bool:
        return bool(self.counts)


class Budget:
    """Bounds the work: references can make a small schema endless."""

    def __init__(self, nodes: int) -> None:
        self._left = 16 * nodes + 4096

    def spend(self, work: int) -> None:
        """Account for that many members looked at."""
        self._left -= work

    @property
    def exhausted(self) -> bool:
        """Whether no more may be done."""
        return self._left < 0

"""Which alternative of a schema became which: equal ones, then those of the same types, then by order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Matched:
    """Indexes before and after; ``gone`` and ``come`` are those without a counterpart."""

    pairs: tuple[tuple[int, int], ...]
    gone: tuple[int, ...]
    come: tuple[int, ...]
    reordered: bool
    """Whether the lists hold the same alternatives in another order."""


def match_branches(
    old: list[object],
    new: list[object],
    key: Callable[[object], Hashable],
    types: tuple[Callable[[object], Hashable], Callable[[object], Hashable]],
) -> Matched:
    """Match two lists of alternatives in linear time.

    ``key`` is equal for equal schemas; ``types`` gives what an alternative before, and one after, accepts.
    As many as possible are matched: in a pair everything that was added is found, and the wording of both
    sides is compared.
    """
    gone, come = list(range(len(old))), list(range(len(new)))
    equal = _matching(gone, come, lambda index: key(old[index]), lambda index: key(new[index]))
    reordered = not gone and not come and any(before != after for before, after in equal)
    of_old, of_new = types
    alike = _matching(gone, come, lambda index: of_old(old[index]), lambda index: of_new(new[index]))
    left = _matching(gone, come, lambda _: None, lambda _: None)
    return Matched((*equal, *alike, *left), tuple(gone), tuple(come), reordered)


def _matching(
    gone: list[int],
    come: list[int],
    of_old: Callable[[int], Hashable],
    of_new: Callable[[int], Hashable],
) -> list[tuple[int, int]]:
    """Take from both lists what has the same trait, in order."""
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for index in gone:
        waiting[of_old(index)].append(index)
    pairs, unmatched = [], []
    for index in come:
        candidates = waiting[of_new(index)]
        if candidates:
            pairs.append((candidates.popleft(), index))
        else:
            unmatched.append(index)
    come[:] = unmatched
    gone[:] = sorted(index for indexes in waiting.values() for index in indexes)
    return pairs

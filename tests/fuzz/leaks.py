"""Whether an error holds anything of what was refused, wherever a log or a debugger would find it."""

import traceback
from collections.abc import Iterator

from fuzz.seeds import CANARIES
from toolvet.core.errors import MAX_FAULTS, ContractError


def reachable(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from or while, and its faults, each with the same."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [other for other in (found.__cause__, found.__context__) if other is not None]
        if isinstance(found, ContractError):
            waiting += found.faults


def texts(error: BaseException) -> Iterator[str]:
    """What the error shows in any way but its traceback."""
    for found in reachable(error):
        yield f"{found!s} {found!r} {found.args!r} {vars(found)!r} {getattr(found, '__notes__', '')!r}"


def complaint(error: BaseException, *, traceback_too: bool = False) -> str | None:
    """Say what is wrong with an error that a parser raised; None when nothing is."""
    if not isinstance(error, ContractError):
        return f"{type(error).__name__} is no contract error"
    if len(error.faults) > MAX_FAULTS:
        return "more faults than an error lists"
    chained = [type(found).__name__ for found in (error.__cause__, error.__context__) if found is not None]
    if chained:
        return f"chained to {chained}"
    shown = list(texts(error))
    if traceback_too:
        shown.append("".join(traceback.format_exception(error)))
    if any(canary in text for text in shown for canary in CANARIES):
        return f"{type(error).__name__} shows a rejected value"
    if any(fault.__traceback__ is not None for fault in reachable(error) if fault is not error):
        return "a fault keeps the frames that hold the value"
    return None

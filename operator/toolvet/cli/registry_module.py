"""A registry named on the command line as MODULE:ATTRIBUTE: the agent's own code, run to get it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from inspect import isawaitable
from operator import attrgetter

from toolvet.core.errors import ContractError
from toolvet.runtime import ToolRegistry

_STDOUT = 1
_STDERR = 2


def load_registry(reference: str) -> ToolRegistry:
    """Import the module, from the current folder first, and return the registry that the attribute names.

    The attribute, dotted where it is deep, is a ToolRegistry or something to call without arguments that
    returns one, ordinary or async. What the module writes to standard output goes to standard error.

    Raises ContractError: ``registry`` with invalid_reference, unreadable_module when the module is not
    found, raises, exits or has no such attribute, or not_a_registry; and ``registry.FIELD`` with the code
    of a ContractError that the module lets through. Nothing else of the module's own errors is kept.
    """
    module, _, attribute = reference.partition(":")
    if not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        raise ContractError("registry", "invalid_reference")
    found, fault = None, None
    with _output_to_stderr():
        try:
            found = _found(module, attribute)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # foreign code raises anything; its texts are its own
            fault = _fault(error)
    if fault is not None:
        raise fault
    if not isinstance(found, ToolRegistry):
        raise ContractError("registry", "not_a_registry")
    return found


def _found(module: str, attribute: str) -> object:
    folder = os.getcwd()  # noqa: PTH109  # sys.path holds text
    if folder not in sys.path:  # a console script has its own folder first, and not this one
        sys.path.insert(0, folder)
    value: object = attrgetter(attribute)(import_module(module))
    if isinstance(value, ToolRegistry) or not callable(value):
        return value
    made: object = value()
    return asyncio.run(_awaited(made)) if isawaitable(made) else made


def _fault(error: BaseException) -> ContractError:
    # A session's task group wraps what is raised inside it.
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ContractError):
        return ContractError(error.field, error.code, error.faults).under("registry")
    return ContractError("registry", "unreadable_module")


async def _awaited(made: Awaitable[object]) -> object:
    return await made


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Send to standard error what is written by Python, by libraries below it and by child processes."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)

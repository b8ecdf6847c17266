"""Which handler invoke calls, what it returns, what is left of an exception (CONTRACTS 9.6, 15.7)."""

import asyncio
import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from runtime.build import Bed, Overriding, bed, count, reachable, spec
from toolvet.runtime import ToolCatalogBindingError, ToolCatalogReviewRequired, ToolRegistry

SECRET = "secret-5b20d4"


async def async_count(value: int = 0) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"count": value + 1}


class AsyncObject:
    async def __call__(self, value: int = 0) -> dict[str, int]:
        return await async_count(value)


def ready(value: int = 0) -> Any:
    future = asyncio.get_running_loop().create_future()
    future.set_result({"count": value + 1})
    return future


ASYNC_HANDLERS = [
    async_count,
    AsyncObject(),
    functools.partial(async_count),
    lambda value=0: async_count(value),
]


def failing(**_: object) -> Any:
    raise ValueError(SECRET)


async def failing_later(**_: object) -> Any:
    await asyncio.sleep(0)
    raise ValueError(SECRET)


async def failing_from_another(**_: object) -> Any:
    try:
        return {}[SECRET]
    except KeyError as error:
        raise ExceptionGroup(SECRET, [ValueError(SECRET)]) from error


def failing_future(**_: object) -> Any:
    future = asyncio.get_running_loop().create_future()
    future.set_exception(ValueError(SECRET))
    return future


def failed_detached(error: ToolCatalogBindingError) -> None:
    assert (type(error), error.code, str(error)) == (
        ToolCatalogBindingError,
        "invocation_failed",
        "invocation_failed",
    )
    assert error.__cause__ is None
    assert error.__context__ is None
    for found in reachable(error):
        assert found is error or not isinstance(found, BaseException)
        assert not isinstance(found, str) or SECRET not in found
    shown = traceback.TracebackException.from_exception(error, capture_locals=False)
    assert SECRET not in "".join(shown.format())


def test_the_arguments_go_to_the_handler_by_keyword_and_its_result_comes_back_as_it_is():
    result = object()
    made = bed(lambda **arguments: (arguments, result), lambda: None)
    assert made.invoke(0, a=1, b=[2]) == ({"a": 1, "b": [2]}, result)
    assert made.invoke(1) is None


@pytest.mark.parametrize(
    ("tool_id", "version"),
    [
        ("tool:org.example/t-9", "1.0.0"),
        ("tool:org.example/t-0", "1.0.1"),
        (None, "1.0.0"),
        ("tool:org.example/t-0", None),
        ([], {}),
        (type("Text", (str,), {})("tool:org.example/t-0"), "1.0.0"),
    ],
)
def test_a_key_that_was_not_reviewed_is_refused_before_the_registry_is_looked_at(tool_id: Any, version: Any):
    catalog = bed().catalog
    asked: list[object] = []
    for registry in (None, Overriding(lambda *key: asked.append(key))):
        with pytest.raises(ToolCatalogReviewRequired) as caught:
            catalog.invoke(registry, tool_id, version, {SECRET: 1})
        assert caught.value.code == "unreviewed_tool"
    assert asked == []


@pytest.mark.parametrize("arguments", [None, 5, SECRET, [1], {1: 2}, {"unknown": SECRET}])
def test_arguments_that_cannot_be_passed_are_an_invocation_that_failed(arguments: Any):
    made = bed()
    with pytest.raises(ToolCatalogBindingError) as caught:
        made.catalog.invoke(made.registry, *made.key(0), arguments)
    failed_detached(caught.value)


@pytest.mark.parametrize("kind", [ValueError, StopIteration, MemoryError, RecursionError, ExceptionGroup])
def test_what_an_ordinary_handler_raises_is_detached(kind: Any):
    def handler(secret: str) -> Any:
        raise (kind(SECRET, [ValueError(SECRET)]) if kind is ExceptionGroup else kind(SECRET, secret))

    made = bed(handler)
    with pytest.raises(ToolCatalogBindingError) as caught:
        made.invoke(0, secret=SECRET)
    failed_detached(caught.value)


async def test_what_an_ordinary_handler_raises_is_detached_by_ainvoke():
    made = bed(failing)
    with pytest.raises(ToolCatalogBindingError) as caught:
        await made.catalog.ainvoke(made.registry, *made.key(0), {"secret": SECRET})
    failed_detached(caught.value)


@pytest.mark.parametrize("handler", [failing_later, failing_from_another, failing_future])
async def test_what_an_async_handler_raises_is_detached(handler: Any):
    made = bed(handler)
    with pytest.raises(ToolCatalogBindingError) as caught:
        await made.catalog.ainvoke(made.registry, *made.key(0), {"secret": SECRET})
    failed_detached(caught.value)


@pytest.mark.parametrize("handler", [failing_later, failing_from_another])
async def test_what_an_async_handler_raises_is_detached_where_invoke_returned_its_coroutine(handler: Any):
    made = bed(handler)
    with pytest.raises(ToolCatalogBindingError) as caught:
        await made.invoke(0, secret=SECRET)
    failed_detached(caught.value)


INTERRUPTS = [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit]


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_interrupts_pass_through(interrupt: type[BaseException]):
    raised = interrupt()

    def handler() -> Any:
        raise raised

    made = bed(handler)
    with pytest.raises(interrupt) as caught:
        made.invoke(0)
    assert caught.value is raised


async def test_cancellation_passes_through_an_async_handler():
    started = asyncio.Event()
    cancelled = []

    async def handler() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    made = bed(handler)
    running = asyncio.create_task(made.catalog.ainvoke(made.registry, *made.key(0), {}))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled == [True]


@pytest.mark.parametrize("handler", [*ASYNC_HANDLERS, ready, count])
async def test_ainvoke_awaits_what_is_async_and_calls_what_is_not(handler: Any):
    made = bed(handler)
    assert await made.catalog.ainvoke(made.registry, *made.key(0), {"value": 4}) == {"count": 5}


@pytest.mark.parametrize("handler", ASYNC_HANDLERS)
async def test_invoke_returns_the_coroutine_of_an_async_handler(handler: Any):
    made = bed(handler)
    pending = made.invoke(0, value=4)
    assert asyncio.iscoroutine(pending)
    assert await pending == {"count": 5}


async def test_a_coroutine_that_is_awaited_after_a_change_never_starts():
    started: list[bool] = []

    async def handler() -> None:
        started.append(True)

    made = bed(handler)
    pending = made.invoke(0)
    made.specs[0].input_schema["title"] = "changed"
    with pytest.raises(ToolCatalogReviewRequired) as caught:
        await pending
    assert caught.value.code == "schema_changed"
    assert started == []


class ReplacedAfterTheCheck(ToolRegistry):
    """Every registration is replaced right after the last lookup of the final check."""

    def __init__(self, made: Bed) -> None:
        super().__init__()
        self.made = made
        self.left = len(made.specs)
        self.replacements: list[str] = []

    def implementation_binding(self, name: str, version: str) -> Any:
        if self.left == 0:
            return spec(name), lambda **_: self.replacements.append(name), "sha256:" + "9" * 64
        self.left -= 1
        return self.made.registry.implementation_binding(name, version)


@pytest.mark.parametrize("handler", [count, async_count])
async def test_a_replacement_right_after_the_final_check_is_never_called(handler: Callable[..., Any]):
    made = bed(handler, handler)
    registry = ReplacedAfterTheCheck(made)
    assert await made.catalog.ainvoke(registry, *made.key(0), {"value": 1}) == {"count": 2}
    assert registry.left == 0
    with pytest.raises(ToolCatalogReviewRequired, match="implementation_changed"):
        await made.catalog.ainvoke(registry, *made.key(0), {"value": 1})
    assert registry.replacements == []


def test_a_removal_right_after_the_final_check_does_not_stop_the_call():
    made = bed()
    left = [len(made.specs)]

    def look_up(name: str, version: str) -> Any:
        if left[0] == 0:
            raise KeyError
        left[0] -= 1
        return made.registry.implementation_binding(name, version)

    assert made.invoke(0, registry=Overriding(look_up), value=1) == {"count": 2}


def test_an_exception_that_the_caller_is_handling_stays_the_callers_own():
    made = bed(failing)
    own = RuntimeError("the caller's")
    try:
        raise own
    except RuntimeError:
        with pytest.raises(ToolCatalogBindingError) as caught:
            made.invoke(0)
    assert caught.value.__context__ is own
    assert sys.exc_info() == (None, None, None)

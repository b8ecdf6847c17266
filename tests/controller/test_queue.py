import asyncio

import pytest

from toolvet.kube.queue import KeyedQueue, work


async def test_a_key_waits_once_and_in_order():
    queue = KeyedQueue()
    for key in ("a", "b", "a"):
        queue.add(key)
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]


async def test_a_key_added_while_worked_on_is_worked_on_again_and_by_nobody_else():
    queue = KeyedQueue()
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await asyncio.wait_for(queue.get(), 1) == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_the_earlier_of_two_delays_holds():
    queue = KeyedQueue()
    loop = asyncio.get_running_loop()
    started = loop.time()
    queue.add_after("a", 0.05)
    queue.add_after("a", 30)
    assert await asyncio.wait_for(queue.get(), 5) == "a"
    assert 0.05 <= loop.time() - started < 5
    queue.done("a")
    queue.add_after("b", 30)
    queue.add_after("b", 0.01)
    assert await asyncio.wait_for(queue.get(), 5) == "b"


async def test_an_event_does_not_wait_for_a_backoff():
    queue = KeyedQueue(first_delay=100)
    queue.failed("a")
    queue.add("a")
    assert await asyncio.wait_for(queue.get(), 1) == "a"
    queue.done("a")
    assert not queue._timers


async def test_delays_double_up_to_the_limit_and_end_with_success():
    queue = KeyedQueue(first_delay=0.2, max_delay=300)
    delays = [queue.failed("a") for _ in range(13)]
    assert delays[:4] == [0.2, 0.4, 0.8, 1.6]
    assert delays[-1] == 300
    assert queue.failed("b") == 0.2
    queue.succeeded("a")
    assert queue.failed("a") == 0.2
    for _ in range(5000):  # months of failing
        assert queue.failed("a") <= 300


async def test_workers_are_bounded_and_one_fault_stops_nobody():
    queue = KeyedQueue(first_delay=0.01)
    running = most = 0
    attempts, errors, finished = {}, [], asyncio.Event()

    def failed(key, error, _delay):
        errors.append((key, type(error)))

    async def step(key):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        attempts[key] = attempts.get(key, 0) + 1
        if key == 3 and attempts[key] < 3:
            raise ValueError
        if attempts.get(3) == 3 and len(attempts) == 10:
            finished.set()

    for key in range(10):
        queue.add(key)
    workers = [asyncio.create_task(work(queue, step, failed)) for _ in range(4)]
    await asyncio.wait_for(finished.wait(), 5)
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)
    assert most == 4
    assert errors == [(3, ValueError), (3, ValueError)]


async def test_what_the_listener_raises_ends_the_work():
    queue = KeyedQueue()
    queue.add("a")

    async def step(_key):
        raise ValueError

    def failed(_key, error, _delay):
        raise error

    with pytest.raises(ValueError, match=r"^$"):
        await asyncio.wait_for(work(queue, step, failed), 5)

"""A gate that ends lets every caller go with an answer: kept-alive connections, open ones, and nobody's."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from aiohttp import ClientSession, TCPConnector, web

from toolvet.webhook import draining
from toolvet.webhook.draining import QUIET_SECONDS, drain
from toolvet.webhook.server import Readiness, gate, runner
from webhook.edge import ScriptedReader

DEADLINE = 10.0


class Gate:
    def __init__(self, server: web.AppRunner, readiness: Readiness, reader: ScriptedReader) -> None:
        self.server = server
        self.reader = reader
        self._readiness = readiness
        self.url = f"http://127.0.0.1:{server.addresses[0][1]}/v1/enforce"

    def stop(self) -> "asyncio.Task[None]":
        self._readiness.draining = True
        return asyncio.create_task(drain(self.server))

    async def ask(self, session: ClientSession) -> bool:
        """Ask for a verdict; returns whether the gate keeps the connection."""
        async with session.post(self.url, data=b"{}") as response:
            assert response.status == 200
            await response.read()
            return response.headers.get("Connection") != "close"

    @property
    def connections(self) -> int:
        assert self.server.server is not None
        return len(self.server.server.connections)


@pytest.fixture
async def serving() -> AsyncIterator[Gate]:
    reader, readiness = ScriptedReader(), Readiness()
    server = runner(gate(reader, readiness, lambda: datetime.now(UTC)))
    await server.setup()
    try:
        await web.TCPSite(server, "127.0.0.1", 0).start()
        yield Gate(server, readiness, reader)
    finally:
        await server.cleanup()


async def test_a_connection_in_use_is_let_go_with_its_next_answer(serving: Gate) -> None:
    async with ClientSession(connector=TCPConnector(limit=1)) as session:
        assert await serving.ask(session)
        assert await serving.ask(session)
        assert serving.connections == 1  # the same one, kept alive
        ending = serving.stop()
        assert not await serving.ask(session)
        await asyncio.wait_for(ending, QUIET_SECONDS / 2)
        assert serving.connections == 0


async def test_an_answer_under_way_is_waited_for(serving: Gate) -> None:
    async with ClientSession() as session:
        assert await serving.ask(session)
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.server.addresses[0][1])
        writer.write(b"POST /v1/enforce HTTP/1.1\r\nHost: gate\r\nContent-Length: 2\r\n\r\n{")
        await writer.drain()
        ending = serving.stop()
        assert not await serving.ask(session)
        assert not ending.done()
        writer.write(b"}")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), DEADLINE)
        assert head.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in head.lower()
        writer.close()
        await asyncio.wait_for(ending, DEADLINE)


async def test_a_connection_that_nobody_uses_does_not_hold_it(serving: Gate) -> None:
    async with ClientSession() as session:
        assert await serving.ask(session)
        started = asyncio.get_running_loop().time()
        await asyncio.wait_for(serving.stop(), DEADLINE)
        assert asyncio.get_running_loop().time() - started >= QUIET_SECONDS
        assert serving.connections == 1


async def test_callers_without_end_do_not_hold_it(serving: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "LONGEST_SECONDS", 1.0)
    async with ClientSession() as session:
        _, writer = await asyncio.open_connection("127.0.0.1", serving.server.addresses[0][1])
        ending = serving.stop()
        while not ending.done():  # asked more often than it has quiet; the open connection stays
            await serving.ask(session)
        await ending
        writer.close()


async def test_none_of_many_callers_is_cut_off(serving: Gate) -> None:
    """Eight callers on connections of their own, each asking on until its connection is gone."""

    async def ask_on(session: ClientSession) -> int:
        count = 1
        while await serving.ask(session):
            count += 1
        return count

    sessions = [ClientSession(connector=TCPConnector(limit=1)) for _ in range(8)]
    try:
        asking = [asyncio.create_task(ask_on(session)) for session in sessions]
        while serving.connections < len(sessions):
            await asyncio.wait(asking, timeout=0.01)
        await asyncio.wait_for(serving.stop(), DEADLINE)
        assert all(count > 1 for count in await asyncio.gather(*asking))
    finally:
        for session in sessions:
            await session.close()

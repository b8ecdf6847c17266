"""The gate on a port of its own, with a scripted API server behind it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from aiohttp import ClientSession, web

from toolvet.webhook.server import Readiness, gate, runner
from webhook.edge import Edge, ScriptedReader


@pytest.fixture
async def edge() -> AsyncIterator[Edge]:
    reader, readiness = ScriptedReader(), Readiness()
    server = runner(gate(reader, readiness, lambda: datetime.now(UTC)))
    await server.setup()
    try:
        await web.TCPSite(server, "127.0.0.1", 0).start()
        async with ClientSession() as session:
            yield Edge(reader, readiness, session, server.addresses[0][1])
    finally:
        await server.cleanup()

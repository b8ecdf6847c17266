"""Probes over plain HTTP: /livez while everything that must run does, /readyz once the API server answered.

A standby is ready too: it takes over by itself, and a rollout must not wait for the Lease.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

_UNAVAILABLE = 503


def _probe(holds: Callable[[], bool]) -> Callable[[web.Request], object]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if holds() else web.Response(status=_UNAVAILABLE, text="not ok\n")

    return answer


@asynccontextmanager
async def probes(
    address: str | None, port: int, alive: Callable[[], bool], ready: Callable[[], bool]
) -> AsyncIterator[None]:
    """Serve the probes as long as the block runs. OSError where the port cannot be had."""
    app = web.Application()
    app.router.add_get("/livez", _probe(alive))  # type: ignore[arg-type]  # aiohttp's handler protocol
    app.router.add_get("/readyz", _probe(ready))  # type: ignore[arg-type]  # the same
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port).start()
        yield
    finally:
        await runner.cleanup()

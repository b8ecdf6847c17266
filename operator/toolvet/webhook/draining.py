"""The end of a gate: callers are let go one by one, so that no review is cut off.

The API server keeps connections open and takes one that it used before. Closed at the moment it is taken, the
review on it would be lost, and a governed change refused. So while it drains, the gate answers as ever and
closes each connection with its answer; what is left when all is quiet, nobody is using.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

QUIET_SECONDS = 2.0
"""Without any request for this long, open connections are nobody's any more."""
LONGEST_SECONDS = 15.0
"""With the chart's preStop well within terminationGracePeriodSeconds."""
_LOOK_EVERY = 0.1


async def drain(runner: web.AppRunner) -> None:
    """Return once no connection is open, none had a request for a while, or it took too long."""
    server, loop = runner.server, asyncio.get_running_loop()
    if server is None:
        return
    ends = loop.time() + LONGEST_SECONDS
    seen, quiet_from = server.requests_count, loop.time()
    while server.connections and loop.time() < ends:
        if server.requests_count != seen:
            seen, quiet_from = server.requests_count, loop.time()
        if loop.time() - quiet_from >= QUIET_SECONDS:
            return
        await asyncio.sleep(_LOOK_EVERY)

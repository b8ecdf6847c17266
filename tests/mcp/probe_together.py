"""Lists many servers at once in a process of its own, so that its memory can be measured; prints JSON.

Standard input: ``{"seconds": budget, "urls": {name: url}, "honest": url}``. The honest server is listed over
and over while the others are asked.
"""

import asyncio
import json
import resource
import sys
import time

from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.budget import Budget
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import Listing

POLICY = AddressPolicy.of("127.0.0.0/8")


async def timed(url, seconds):
    start = time.monotonic()
    found = await list_http_tools(url, policy=POLICY, budget=Budget(seconds=seconds))
    told = {"seconds": time.monotonic() - start}
    if isinstance(found, Listing):
        shown = {"tools": len(found.observed.tools), "malformed": len(found.observed.malformed)}
        return told | shown | {"nameless": found.observed.nameless, "size": found.size}
    return told | {"reason": found.reason, "detail": found.detail, "status": found.http_status}


async def keep_listing(url, done):
    found = []
    while not done.is_set():
        found.append(await timed(url, 30))
    return found


async def main(task):
    done = asyncio.Event()
    honest = asyncio.create_task(keep_listing(task["honest"], done))
    found = await asyncio.gather(*[timed(url, task["seconds"]) for url in task["urls"].values()])
    done.set()
    return {"found": dict(zip(task["urls"], found, strict=True)), "honest": await honest}


if __name__ == "__main__":
    report = asyncio.run(main(json.load(sys.stdin)))
    report["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    json.dump(report, sys.stdout)

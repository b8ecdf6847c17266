"""Lists many servers at once in a process of its own, so that its memory can be measured; prints JSON.

Standard input: ``{"seconds": budget, "urls": {name: url}, "honest": url}``. The honest server is listed over
and over while the others are asked.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

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


def peak_mib():
    """Peak resident memory of this program; ``ru_maxrss`` also counts what it was a copy of before exec."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) / 1024


async def main(task):
    done = asyncio.Event()
    honest = asyncio.create_task(keep_listing(task["honest"], done))
    found = await asyncio.gather(*[timed(url, task["seconds"]) for url in task["urls"].values()])
    done.set()
    return {"found": dict(zip(task["urls"], found, strict=True)), "honest": await honest}


if __name__ == "__main__":
    report = asyncio.run(main(json.load(sys.stdin)))
    report["peak_mib"] = peak_mib()
    json.dump(report, sys.stdout)

"""The controller's own reads and writes fail: it goes on, and what it says in the end is right."""

import asyncio
import contextlib
import re
import time

from controlplane.waiting import POLL_SECONDS, wait_until
from faults.edits import EDITS_EACH, Writer
from faults.play import Play, opened, right
from faults.proxy import Fault, Kind, Proxy
from faults.release import Release
from toolvet.kube.client import connect
from toolvet.kube.kubeconfig import load

AGENTS = [f"agent-{number}" for number in range(6)]
CALLS = re.compile("^(?!.*[?&]watch=)")
"""All but watches: those stay whole, so that nothing but a retry of its own makes a pass right."""
FAULTS = [
    Fault(Kind.CUT),
    Fault(Kind.ERROR, CALLS, share=0.3),
    Fault(Kind.TOO_MANY, CALLS),
    Fault(Kind.SLOW, seconds=0.5),
    Fault(Kind.FREEZE),
    Fault(Kind.TRUNCATED, share=0.5),
]
ENOUGH = 8  # requests that are hit, before a fault ends
BITES_SECONDS = 8.0  # a longer one would cost it the Lease, and then it ends itself
RECOVERED_SECONDS = 10.0  # a watch that broke is looked for again after 5 s at most


async def test_the_controller_goes_on_after_faults(release: Release, proxy: Proxy) -> None:
    bed, audit = release.bed, {"toolvet.dev/mode": "audit"}
    assert len(FAULTS) < EDITS_EACH
    async with connect(load(bed.kubeconfig(), None).credentials, user_agent="faults") as admin:
        with contextlib.ExitStack() as ends:
            namespace = ends.enter_context(bed.namespace("faulty-", audit))
            twin = ends.enter_context(bed.namespace("twin-", audit))
            controller = ends.enter_context(release.controller(api_port=proxy.port))
            play, record = await opened(admin, namespace, AGENTS)
            await play.converges()
            writer = Writer(admin, namespace, record, seed=1)
            for fault in FAULTS:
                await _bites(fault, proxy, play, writer)
                seconds = await play.converges()
                print(f"{fault.kind.name}: {fault.hits} requests hit, right again after {seconds:.1f} s")
                assert seconds < RECOVERED_SECONDS
                assert controller.poll() is None, controller.tail()
            kept, made, told = await right(play, record, twin)
            print(f"history {kept} of {made} generations, {told} Events")
            await _bites(Fault(Kind.GARBAGE), proxy, play, writer)
            # kopf gives a watch up that gets no JSON. Then the process ends, and is started again; a watch
            # that is gone unnoticed would be the worst.
            deadline = time.monotonic() + RECOVERED_SECONDS
            while controller.poll() is None and await play.behind():
                assert time.monotonic() < deadline, "it neither goes on nor ends"
                await asyncio.sleep(POLL_SECONDS)
            assert controller.poll() in {None, 1}


async def _bites(fault: Fault, proxy: Proxy, play: Play, writer: Writer) -> None:
    """Edit while requests fail."""
    with proxy.inject(fault):
        for name in play.agents:
            await writer.edit(name)
        # Where the watch itself is frozen, nothing else is asked.
        enough = 1 if fault.kind is Kind.FREEZE else ENOUGH
        await asyncio.to_thread(wait_until, lambda: fault.hits >= enough, BITES_SECONDS, "no requests")

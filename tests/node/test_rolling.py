"""Verdicts while the gate itself is rolled out: through Service and kube-proxy, none is lost."""

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import pytest

from controlplane.api import ApiError
from node.agent import Crew, deployment
from node.bed import Node
from node.release import NAME
from story.team import AGENT, tool

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

DECISIONS = 1000
SENDERS = 4
OTHER = "unapproved"
_COUNTED = re.compile(
    r'^apiserver_admission_webhook_request_total\{.*name="enforce\.toolvet\.dev".*\} (\S+)$', re.MULTILINE
)


def asked(bed: Node) -> int:
    """How often the API server has called the gate."""
    return int(
        sum(float(count) for count in _COUNTED.findall(bed.kubectl("get", "--raw", "/metrics").stdout))
    )


class Senders:
    """Ask for verdicts, right after one another, until told to stop; each of two bodies has its right one."""

    def __init__(self, crew: Crew) -> None:
        self._bed = crew.bed
        self._path = f"/apis/apps/v1/namespaces/{crew.namespace}/deployments?dryRun=All"
        self._bodies = {
            "admitted": deployment(crew.image, name="sent"),
            "refused": deployment(crew.image, name="sent", account=OTHER),
        }
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(SENDERS)
        self._running = [self._pool.submit(self._send) for _ in range(SENDERS)]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        for sender in self._running:
            sender.result()

    def _send(self) -> None:
        while not self._stop.is_set():
            for right, body in self._bodies.items():
                told = self._decide(body)
                with self._lock:
                    self.counts[right if told == right else f"lost: {told}"] += 1

    def _decide(self, body: dict) -> str:
        try:
            self._bed.api("POST", self._path, body)
        except ApiError as error:
            verdict = "denied the request: not_approved: " in str(error)
            return "refused" if error.status == 403 and verdict else str(error)
        except OSError as error:
            return str(error)
        return "admitted"


def test_a_thousand_decisions_during_rolling_restarts_and_none_lost(crew: Crew) -> None:
    crew.publish_agent()
    crew.review()
    crew.deploy()
    crew.publish(tool("read"), name=OTHER)
    before = asked(crew.bed)
    restarts = 0
    with Senders(crew) as senders:
        while senders.counts.total() < DECISIONS:
            crew.product.kubectl("rollout", "restart", f"deployment/{NAME}-webhook")
            crew.product.rolled_out("webhook")
            # And a real rollout, as a developer does it.
            crew.roll()
            crew.rolled_out(AGENT)
            restarts += 1
    counts = senders.counts
    print(f"{dict(counts)} during {restarts} rolling restarts of the gate")
    assert set(counts) == {"admitted", "refused"}, counts
    assert asked(crew.bed) - before >= counts.total()

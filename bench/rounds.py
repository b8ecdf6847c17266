"""Interleaved rounds: every arm in turn, quiet and with the background writer, over and over."""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.arms import Arm, Bench, calls
from bench.client import Connection, UnexpectedAnswerError
from bench.figures import cpu_seconds
from bench.writer import create_objects
from controlplane.processes import Process

ROUNDS = 13
BUDGET_SECONDS = 240.0  # no round begins later than this
WRITER_SECONDS = 60  # bound of one background writer, many times what its blocks need
LOADED_WRITES = 50
_CREATED = 201
_MILLI = 1000.0


@dataclass(slots=True)
class Block:
    """One arm in one round, in milliseconds."""

    webhook_cpu: float
    """A write; 0 without a webhook."""
    server_cpu: float
    """kube-apiserver, a write; with the background writer its writes are in it."""
    latencies: list[float]


@dataclass
class Results:
    """Blocks by arm, in the order of the rounds."""

    quiet: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))
    loaded: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))
    background: list[float] = field(default_factory=list)
    """Writes a second the background reached, by round."""
    rounds: int = 0


class Runner:
    """Runs the rounds of one bench."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server = bench.bed.processes["kube-apiserver"].pid
        self._background = bench.bed.create_namespace("bench-background-")

    def run(self) -> Results:
        """Return what ROUNDS rounds gave, or as many as fit into the time."""
        results = Results()
        started = time.monotonic()
        with Connection(self._bench.access) as connection:
            create_objects(connection, self._background)
            while results.rounds < ROUNDS and time.monotonic() - started < BUDGET_SECONDS:
                self._bench.say(f"round {results.rounds + 1} of {ROUNDS}")
                self._round(connection, results)
                results.rounds += 1
        return results

    def _round(self, connection: Connection, results: Results) -> None:
        for arm in self._bench.arms:
            results.quiet[arm.name].append(self._block(connection, arm, arm.writes))
        writer = self._start_writer()
        for arm in self._bench.arms:
            if arm.loaded:
                results.loaded[arm.name].append(self._block(connection, arm, LOADED_WRITES))
        writer.stop()
        results.background.append(float(writer.tail(1).split()[-1]))

    def _start_writer(self) -> Process:
        root = Path(__file__).resolve().parent.parent
        arguments = [str(WRITER_SECONDS), self._background, *self._bench.access.arguments()]
        return self._bench.bed.start_process(
            "background",
            [sys.executable, "-m", "bench.writer", *arguments],
            os.environ | {"PYTHONPATH": str(root)},
        )

    def _block(self, connection: Connection, arm: Arm, writes: int) -> Block:
        body = arm.body
        connection.expect(_CREATED, "POST", arm.path, body)  # the first one may open connections
        called = calls(connection, arm.webhook)
        webhook, server = self._used(arm)
        latencies = [connection.expect(_CREATED, "POST", arm.path, body) * _MILLI for _ in range(writes)]
        webhook_after, server_after = self._used(arm)
        if arm.webhook is not None and calls(connection, arm.webhook) - called != writes:
            raise UnexpectedAnswerError(f"{arm.name}: not every write was reviewed once")
        per_write = _MILLI / writes
        return Block((webhook_after - webhook) * per_write, (server_after - server) * per_write, latencies)

    def _used(self, arm: Arm) -> tuple[float, float]:
        return 0.0 if arm.pid is None else cpu_seconds(arm.pid), cpu_seconds(self._server)


def latencies(blocks: Sequence[Block]) -> list[float]:
    """Return the latencies of all rounds together."""
    return [value for block in blocks for value in block.latencies]

"""The tables that ``make bench`` prints."""

import os
import platform
from collections.abc import Callable, Sequence

from bench.arms import GATE_20, KOPF, KOPF_QUIET, Arm
from bench.figures import percentile, spread, table
from bench.rounds import LOADED_WRITES, Block, Results, latencies
from bench.startup import Startup

AIM = 2.0
_SPREAD = ["min", "median", "max"]


def processors(arms: Sequence[Arm], results: Results) -> str:
    """Processor time of one governed write, in the webhook and in the API server."""
    called = [arm for arm in arms if arm.pid is not None]
    webhook = _milliseconds("webhook CPU, ms a review", called, results, lambda block: block.webhook_cpu)
    server = _milliseconds("API server CPU, ms a write", arms, results, lambda block: block.server_cpu)
    return table([*webhook, [""] * 4, *server, [""] * 4, *_ratios(called, results)])


def _milliseconds(
    title: str, arms: Sequence[Arm], results: Results, figure: Callable[[Block], float]
) -> list[list[str]]:
    spreads = {arm.name: spread([figure(block) for block in results.quiet[arm.name]]) for arm in arms}
    return [[title, *_SPREAD], *([name, *found.cells()] for name, found in spreads.items())]


def _ratios(called: Sequence[Arm], results: Results) -> list[list[str]]:
    """Set the gate's CPU against kopf's, each round for itself."""
    rows = [["webhook CPU, ratio within a round", *_SPREAD]]
    for yardstick in (KOPF, KOPF_QUIET):
        base = results.quiet[yardstick]
        for arm in called:
            if arm.name in {KOPF, KOPF_QUIET}:
                continue
            pairs = zip(results.quiet[arm.name], base, strict=True)
            # Time is counted in steps: a block may have none at all.
            found = spread([own.webhook_cpu / (other.webhook_cpu or float("nan")) for own, other in pairs])
            aim = f" (aim: at most {AIM:.1f})" if (arm.name, yardstick) == (GATE_20, KOPF) else ""
            rows.append([f"{arm.name} / {yardstick}{aim}", *found.cells()])
    return rows


def waits(arms: Sequence[Arm], results: Results) -> str:
    """How long the sender waits for its write, alone and while others write to another kind."""
    rows = [["the sender waits, ms", "alone p50", "p90", "while others write p50", "p90"]]
    rows += [[arm.name, *_waits(results.quiet[arm.name]), *_waits(results.loaded[arm.name])] for arm in arms]
    return table(rows)


def _waits(blocks: Sequence[Block]) -> list[str]:
    found = latencies(blocks)
    return [f"{percentile(found, percent):.1f}" for percent in (50, 90)] if found else ["-", "-"]


def startups(measured: Sequence[Startup]) -> str:
    """Start-up of the command line."""
    spreads = [f"{kind} {name}" for kind in ("CPU", "wall") for name in _SPREAD]
    rows = [["start-up, ms", *spreads, "exit", "imports kopf, kubernetes"]]
    for item in measured:
        times = [*item.cpu.cells(0), *item.wall.cells(0)]
        rows.append([item.command, *times, str(item.exit_code), ", ".join(item.loaded) or "no"])
    return table(rows)


def memory(resident: Sequence[tuple[str, float]]) -> str:
    """Resident memory of the webhook processes at the end."""
    return table([["resident memory at the end", "MiB"], *([name, f"{mib:.0f}"] for name, mib in resident)])


def method(arms: Sequence[Arm], results: Results, versions: str) -> str:
    """Say what was measured, and on what."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    counts = ", ".join(f"{arm.writes} ({arm.name})" for arm in arms)
    rate = spread(results.background).middle
    return f"""\
{os.cpu_count()} cores, {system}, {versions}
{results.rounds} rounds, every arm in turn in each. One sender, one write at a time: the creation of a
Deployment as a dry run, which passes all admission and stores nothing. Writes a round:
{counts};
{LOADED_WRITES} where others write at the same time: ConfigMaps, {rate:.0f} a second (median).
CPU is user and system time of the whole process."""

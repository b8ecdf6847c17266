"""What the installation takes of a node while nothing happens, as the kubelet measures it."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.waiting import wait_until
from node.daemons import NODE_NAME
from node.release import NAMESPACE, Release

_MIB = 1 << 20
_SLACK_SECONDS = 60.0  # the kubelet looks every 10 to 20 s


@dataclass(frozen=True)
class Usage:
    """Of one Pod, its pause container included."""

    pod: str
    memory_mib: float  # working set
    cores: float  # mean over the time of the measurement


@dataclass(frozen=True)
class _Sample:
    when: datetime
    cpu_seconds: float
    memory: int


def measure(release: Release, seconds: float) -> list[Usage]:
    """Return what each Pod of the release used in the next ``seconds`` at least."""
    first = _samples(release)
    found: dict[str, _Sample] = {}

    def long_enough() -> bool:
        found.update(_samples(release))
        return all((found[pod].when - first[pod].when).total_seconds() >= seconds for pod in first)

    wait_until(long_enough, seconds + _SLACK_SECONDS, "the kubelet does not measure", pause=1.0)
    return [_usage(pod, first[pod], found[pod]) for pod in sorted(first)]


def table(usages: list[Usage]) -> str:
    """Return the figures as text, with their sums."""
    memory = sum(usage.memory_mib for usage in usages)
    cores = sum(usage.cores for usage in usages)
    rows = [(usage.pod, usage.memory_mib, usage.cores) for usage in usages] + [("together", memory, cores)]
    lines = [f"{'idle, on a node':42}{'MiB':>8}{'core':>9}"]
    return "\n".join([*lines, *(f"{name:42}{mib:8.1f}{used:9.4f}" for name, mib, used in rows)])


def _samples(release: Release) -> dict[str, _Sample]:
    stats = release.bed.api("GET", f"/api/v1/nodes/{NODE_NAME}/proxy/stats/summary")
    return {
        pod["podRef"]["name"]: _Sample(
            datetime.fromisoformat(pod["cpu"]["time"]),
            pod["cpu"]["usageCoreNanoSeconds"] / 1e9,
            pod["memory"]["workingSetBytes"],
        )
        for pod in stats["pods"]
        if pod["podRef"]["namespace"] == NAMESPACE and "usageCoreNanoSeconds" in pod.get("cpu", {})
    }


def _usage(pod: str, first: _Sample, last: _Sample) -> Usage:
    seconds = (last.when - first.when).total_seconds()
    return Usage(pod, last.memory / _MIB, (last.cpu_seconds - first.cpu_seconds) / seconds)

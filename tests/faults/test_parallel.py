"""Many people at once and two gates: each verdict is right."""

import asyncio
import json
import time

from faults.changes import create, governed
from faults.release import Release

DEPLOYMENTS = 200
REFUSED = 50
AT_ONCE = 50


async def test_two_hundred_deployments_by_fifty_at_once(release: Release) -> None:
    with release.gates(2) as gates:
        async with governed(release.bed) as (namespace, admin):
            limit = asyncio.Semaphore(AT_ONCE)

            async def apply(agent: str, number: int) -> tuple[str, str | None, float]:
                async with limit:
                    started = time.monotonic()
                    refusal = await create(admin, namespace, agent, number)
                    return agent, refusal, time.monotonic() - started

            ahead = max(DEPLOYMENTS // REFUSED, 1)
            wanted = [("yes", number) for number in range(1, DEPLOYMENTS + 1)]
            wanted += [("no", 1000 + number) for number in range(REFUSED)]
            # The refused ones lie between the others.
            wanted.sort(key=lambda item: item[1] if item[0] == "yes" else (item[1] - 1000) * ahead)
            found = await asyncio.gather(*(apply(*item) for item in wanted))
            path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
            stored = release.bed.api("GET", path)["items"]
        by_gate = [_decisions(gate.log.read_text(), namespace) for gate in gates]
    assert [refusal for agent, refusal, _ in found if agent == "yes" and refusal] == []
    assert all(refusal for agent, refusal, _ in found if agent == "no")
    made = [item for item in stored if item["spec"]["template"]["spec"]["serviceAccountName"] == "yes"]
    assert len(made) == DEPLOYMENTS + 1  # one was made before, to see that it can be
    assert min(by_gate) > DEPLOYMENTS // 10, f"decisions of each gate: {by_gate}"
    taken = sorted(seconds for agent, _, seconds in found if agent == "yes")
    p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    print(
        f"{DEPLOYMENTS} of {DEPLOYMENTS} created, {REFUSED} of {REFUSED} refused, {AT_ONCE} at once:"
        f" p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms; decided by each gate: {by_gate}"
    )


def _decisions(log: str, namespace: str) -> int:
    lines = (json.loads(line) for line in log.splitlines() if '"event": "decision"' in line)
    return sum(line["namespace"] == namespace for line in lines)

"""An installation in which nothing happens writes nothing but its Lease (the audit log counts)."""

import json
import os
import threading
import urllib.request
from collections import Counter

from controller.cluster import WRITES, Cluster, Controller, Team
from controller.objects import AGENT, approval, binding, catalog, deployment, inventory, snapshot
from controlplane.waiting import wait_until

IDLE_SECONDS = float(os.environ.get("TOOLVET_TEST_IDLE_SECONDS", "60"))
TICKS = os.sysconf("SC_CLK_TCK")


def usage(controller: Controller) -> tuple[float, int]:
    """Return CPU seconds so far and resident MiB."""
    with open(f"/proc/{controller.process.pid}/stat") as file:  # noqa: PTH123  # not a file of ours
        fields = file.read().rpartition(")")[2].split()
    with open(f"/proc/{controller.process.pid}/statm") as file:  # noqa: PTH123  # the same
        pages = int(file.read().split()[1])
    return (int(fields[11]) + int(fields[12])) / TICKS, pages * os.sysconf("SC_PAGE_SIZE") >> 20


def test_idle_writes_nothing_but_the_lease(cluster: Cluster, controller: Controller, team: Team):
    live = catalog(binding("read"))
    team.create(inventory(live))
    taken = team.create(snapshot(live))
    team.create(approval(taken))
    team.create(deployment())
    team.create(deployment("drifted", snapshot=f"{AGENT}-{'0' * 16}"))
    counts = {"governed": 2, "eligible": 1, "drifted": 1}
    team.soon(lambda: team.status("ToolInventory", AGENT).get("workloads") == counts, "not judged", 15)
    _wait_until_quiet(cluster)
    since, (cpu, _) = cluster.audit_size(), usage(controller)
    threading.Event().wait(IDLE_SECONDS)
    spent, resident = usage(controller)
    writes = Counter(
        (entry["verb"], entry["objectRef"]["resource"], entry["objectRef"].get("name"))
        for entry in cluster.audited(since)
        if entry["verb"] in WRITES
    )
    lease = ("update", "leases", f"{cluster.chart.fullname}-controller")
    renewals = writes.pop(lease, 0)
    assert writes == {}
    assert IDLE_SECONDS / 10 <= renewals <= IDLE_SECONDS / 3 + 1
    milliseconds = 1000 * (spent - cpu) / IDLE_SECONDS
    print(f"idle: {milliseconds:.1f} ms CPU a second, {resident} MiB, {renewals} renewals")


def _wait_until_quiet(cluster: Cluster):
    """Wait until earlier tests' namespaces are gone, and no write but the Lease's was seen for 3 s."""
    calm = threading.Event()
    wait_until(lambda: not _ending(cluster), 60, "an earlier test's namespace does not end")
    for _ in range(20):
        since = cluster.audit_size()
        calm.wait(3)
        found = [item for item in cluster.audited(since) if item["verb"] in WRITES]
        if all(item["objectRef"]["resource"] == "leases" for item in found):
            return
    raise AssertionError("it never comes to rest")


def _ending(cluster: Cluster):
    found = cluster.bed.api("GET", "/api/v1/namespaces")["items"]
    return [item for item in found if item["metadata"].get("deletionTimestamp")]


def test_what_nobody_wrote_is_not_written_again(cluster: Cluster, controller: Controller, team: Team):
    """A pass over an unchanged state asks for no write at all, not even one that would change nothing."""
    live = catalog(binding("read"))
    team.create(inventory(live))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("toolCount") == 1, "not judged")
    _wait_until_quiet(cluster)
    since = cluster.audit_size()
    team.change({"kind": "ToolInventory", "metadata": {"name": AGENT, "labels": {"seen": "yes"}}})

    def passed():
        return [
            entry
            for entry in cluster.audited(since)
            if entry["verb"] == "get" and entry["objectRef"].get("name") == AGENT
        ]

    team.soon(passed, "the label caused no pass")
    _wait_until_quiet(cluster)
    written = [item["objectRef"] for item in cluster.audited(since) if item["verb"] in WRITES]
    assert [item for item in written if item.get("namespace") == team.namespace] == []


def test_probes_and_log_lines(cluster: Cluster, controller: Controller, team: Team):
    for path in ("livez", "readyz"):
        with urllib.request.urlopen(f"http://127.0.0.1:{controller.health_port}/{path}", timeout=5) as answer:
            assert answer.status == 200
    lines = controller.process.log.read_text().splitlines()
    assert all("event" in json.loads(line) for line in lines)

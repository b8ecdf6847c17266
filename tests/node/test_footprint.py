"""What the installation takes while nothing happens; docs/performance.md has figures made the same way."""

import pytest

from node.footprint import measure, table
from node.release import Release

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

IDLE_SECONDS = 30.0


def test_the_kubelet_measures_every_pod_of_the_release(release: Release) -> None:
    usages = measure(release, IDLE_SECONDS)
    print(f"\n{table(usages)}")
    pods = [pod["metadata"]["name"] for part in ("webhook", "controller") for pod in release.pods(part)]
    assert sorted(usage.pod for usage in usages) == sorted(pods)
    assert all(usage.memory_mib > 1 and 0 < usage.cores < 2 for usage in usages)

from collections.abc import Iterator

import pytest

from controller.cluster import Cluster, Controller, Team
from controller.objects import AGENT, binding, catalog, inventory
from controlplane.bed import ControlPlane


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A control plane of its own: other tests' controllers must not take this one's Lease."""
    with ControlPlane(audit=True) as bed:
        yield Cluster(bed)


@pytest.fixture(scope="session")
def controller(cluster: Cluster) -> Controller:
    found = cluster.start_leader()
    with cluster.bed.namespace() as name:
        first = Team(cluster, name)
        first.create(inventory(catalog(binding("read"))))
        first.soon(lambda: first.status("ToolInventory", AGENT), "it does nothing", 30)
    return found


@pytest.fixture
def team(cluster: Cluster, controller: Controller) -> Iterator[Team]:
    """A namespace in audit mode: governed, and no gate is needed to create in it."""
    with cluster.bed.namespace(labels={"toolvet.dev/mode": "audit"}) as name:
        yield Team(cluster, name)
    assert controller.process.poll() is None, controller.process.tail()

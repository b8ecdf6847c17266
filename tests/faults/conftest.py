from collections.abc import Iterator

import pytest

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from faults.changes import next_second
from faults.forwarder import Forwarder
from faults.proxy import Proxy
from faults.release import Release


@pytest.fixture(scope="session")
def release() -> Iterator[Release]:
    """A control plane of its own: what is done to these processes is nobody else's business."""
    with (
        ControlPlane(audit=True) as bed,
        Installation(bed, processes=False) as installed,
        Forwarder(installed.gate_port) as service,
    ):
        next_second(bed)  # approvals count that are younger than the guard of approvers
        yield Release(installed, service)


@pytest.fixture(scope="session")
def proxy(release: Release) -> Iterator[Proxy]:
    """A proxy before the API server."""
    with Proxy(release.bed) as found:
        yield found

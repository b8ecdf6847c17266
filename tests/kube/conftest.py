"""Our own client on the real API server, as admin."""

from collections.abc import AsyncIterator

import pytest

from controlplane.bed import ControlPlane
from toolvet.kube.client import ApiClient, connect
from toolvet.kube.kubeconfig import load


@pytest.fixture
async def api(controlplane: ControlPlane) -> AsyncIterator[ApiClient]:
    credentials = load(controlplane.kubeconfig(), None).credentials
    async with connect(credentials, user_agent="toolvet-tests") as client:
        yield client

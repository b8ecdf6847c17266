"""A control plane with our custom resource definitions alone: no policy, no gate and no controller."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until
from crds.api import Resources
from crds.objects import approval, change, enablement, held_call, inventory, policy, snapshot, source
from parity.verdicts import Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SOURCES = sorted((Path(__file__).parents[2] / "crds").glob("*.yaml"))


@pytest.fixture(scope="package")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane() as bed:
        yield bed


@pytest.fixture(scope="package")
def defined(controlplane: ControlPlane) -> ControlPlane:
    for path in SOURCES:
        controlplane.api("POST", DEFINITIONS, yaml.safe_load(path.read_text()))
    resources = Resources(controlplane, "default")

    def served() -> bool:
        try:
            live = (source(), change(), enablement("alice"), held_call("alice"))
            for obj in (inventory(), snapshot(), approval(), policy(), *live):
                resources.create(obj, dry_run=True)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True

    wait_until(served, 20, "the definitions are not served")
    return controlplane


@pytest.fixture
def server(defined: ControlPlane) -> Iterator[Server]:
    asked = Server(defined, "default")
    yield asked
    asked.close()

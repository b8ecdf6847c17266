"""The custom resources and policies as the chart installs them; nothing serves the gate's port."""

from collections.abc import Iterator

import pytest

from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.chart import install_chart
from controlplane.ports import free_port
from controlplane.waiting import wait_until
from crds.api import Resources
from crds.objects import approval, change, enablement, held_call


def _is_refused(resources: Resources, obj: dict) -> bool:
    try:
        resources.create(obj, dry_run=True)
    except ApiError as error:
        return error.status in (403, 422)
    return False


@pytest.fixture(scope="package")
def controlplane() -> Iterator[ControlPlane]:
    """A control plane of these tests' own: on the session's one a controller may write statuses."""
    with ControlPlane() as bed:
        yield bed


@pytest.fixture(scope="package")
def installed_bed(controlplane: ControlPlane) -> ControlPlane:
    install_chart(controlplane, gate_port=free_port(), values={"collector": {"enabled": True}})
    resources = Resources(controlplane, "default")

    forged = (
        approval(approvedBy="somebody-else"),
        change(),
        enablement("somebody-else", name="wrong"),
        held_call("somebody-else"),
    )

    def policies_hold() -> bool:
        # Admission learns of a policy a moment after it is stored.
        return all(_is_refused(resources, obj) for obj in forged)

    wait_until(policies_hold, 20, "the policies do not hold")
    return controlplane


@pytest.fixture
def resources(installed_bed: ControlPlane, namespace: str) -> Resources:
    return Resources(installed_bed, namespace)

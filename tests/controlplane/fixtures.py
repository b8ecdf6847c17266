"""The control plane for pytest: one for the session, started by the first test that asks; a namespace a test.

Nothing here skips: where the control plane cannot be had, the tests that need it fail.
"""

from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest

from controlplane.bed import ControlPlane
from controlplane.build import BuildError, programs
from controlplane.installation import Installation


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the programs before the first test: a cold build takes longer than any test may."""
    beds = {"controlplane", "node"}
    needed = any(beds.intersection(getattr(item, "fixturenames", ())) for item in session.items)
    if needed and not session.config.option.collectonly:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        # Ten silent minutes would look like a hang: no capture here.
        shown = capture.global_and_fixture_disabled() if capture else nullcontext()
        with shown, suppress(BuildError):  # the fixture meets it again and fails each test that needs it
            programs()


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """The session's control plane, with an audit log."""
    with ControlPlane(audit=True) as bed:
        yield bed


@pytest.fixture(scope="session")
def product(controlplane: ControlPlane) -> Iterator[Installation]:
    """The chart on the session's control plane, one gate and one controller with the chart's own accounts."""
    with Installation(controlplane, {"collector": {"enabled": True, "allow": ["127.0.0.1"]}}) as installed:
        yield installed


@pytest.fixture
def namespace(controlplane: ControlPlane) -> Iterator[str]:
    """The name of a namespace of the test's own."""
    with controlplane.namespace() as name:
        yield name

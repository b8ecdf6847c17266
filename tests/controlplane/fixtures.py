"""The control plane for pytest: one for the session, started by the first test that asks; a namespace a test.

Nothing here skips: where the control plane cannot be had, the tests that need it fail.
"""

from collections.abc import Iterator

import pytest

from controlplane.bed import ControlPlane
from controlplane.build import programs


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the programs before the first test: a cold build takes longer than any test may."""
    needed = any("controlplane" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            programs()
        else:
            with capture.global_and_fixture_disabled():  # ten silent minutes would look like a hang
                programs()


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """The session's control plane, with an audit log."""
    with ControlPlane(audit=True) as bed:
        yield bed


@pytest.fixture
def namespace(controlplane: ControlPlane) -> Iterator[str]:
    """The name of a namespace of the test's own."""
    with controlplane.namespace() as name:
        yield name

"""One node for all tests of this folder, and the product on it."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest

from image import conftest as of_image
from image.build import built_image
from node.agent import Crew, gathered_crew
from node.bed import Node
from node.packages import PackageError, install_packages
from node.release import Release, install, is_installed


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get everything before the first test: from nothing it takes longer than any test may."""
    if session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    shown = capture.global_and_fixture_disabled() if capture else nullcontext()
    with shown, suppress(PackageError):  # the node meets it again and fails each test that needs it
        install_packages()
    of_image.pytest_collection_finish(session)


@pytest.fixture(scope="session")
def image() -> str:
    """The name of our image; its archive is made where it is not in the cache."""
    return built_image().reference


@pytest.fixture(scope="session")
def node(image: str) -> Iterator[Node]:
    """The session's node, with our image on it."""
    with Node(audit=True) as bed:
        bed.load_image(built_image().archive)
        yield bed


@pytest.fixture(scope="session")
def first_install(node: Node, image: str) -> Release:
    """The release as it came into an empty cluster."""
    return install(node, image)


@pytest.fixture
def release(node: Node, first_install: Release) -> Release:
    """The product, running; installed anew where a test has taken it away."""
    return first_install if is_installed(node) else install(node, first_install.image)


@pytest.fixture
def crew(release: Release) -> Iterator[Crew]:
    """A namespace of the test's own, enforced, with its people and an agent that is not deployed yet."""
    with gathered_crew(release) as found:
        yield found

"""One process of the reference for the whole folder; without it the tests fail, they do not skip."""

from collections.abc import Iterator

import pytest

from conformance.client import Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as started:
        yield started

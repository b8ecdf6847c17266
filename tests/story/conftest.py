from collections.abc import Iterator

import pytest

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from story.team import Team, gathered


@pytest.fixture(scope="session")
def product(controlplane: ControlPlane) -> Iterator[Installation]:
    """The chart, one gate and one controller, with the chart's own accounts."""
    with Installation(controlplane) as installed:
        yield installed


@pytest.fixture
def team(product: Installation) -> Iterator[Team]:
    with gathered(product) as found:
        yield found

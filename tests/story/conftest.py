from collections.abc import Iterator

import pytest

from controlplane.installation import Installation
from story.team import Team, gathered


@pytest.fixture
def team(product: Installation) -> Iterator[Team]:
    with gathered(product) as found:
        yield found

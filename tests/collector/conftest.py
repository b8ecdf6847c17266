from collections.abc import Iterator

import pytest

from controlplane.installation import Installation
from story.team import Team, gathered


@pytest.fixture(scope="module")
def collected(product: Installation) -> Iterator[Installation]:
    """The product with one collector."""
    process = product.start_collector("--lease-duration", "5")
    yield product
    process.stop()


@pytest.fixture
def team(collected: Installation) -> Iterator[Team]:
    with gathered(collected) as found:
        admin = ("create", "rolebinding", "collector", "--clusterrole")
        account = f"{collected.namespace}:{collected.chart.fullname}-collector"
        found.kubectl(
            *admin,
            f"{collected.chart.fullname}-collector-secrets",
            "--serviceaccount",
            account,
            as_user=found.bed.kubeconfig(),
        )
        yield found

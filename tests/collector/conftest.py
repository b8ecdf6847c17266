from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controlplane.installation import Installation
from story.team import Team, gathered


@pytest.fixture(scope="module")
def collected(product: Installation) -> Iterator[Installation]:
    """The product with one collector."""
    product.start_collector("--lease-duration", "5")
    yield product
    product.stop_collectors()


@contextmanager
def _trusting(product: Installation) -> Iterator[Team]:
    """A team that lets the collector keep its Secrets."""
    with gathered(product) as found:
        admin = ("create", "rolebinding", "collector", "--clusterrole")
        account = f"{product.namespace}:{product.chart.fullname}-collector"
        found.kubectl(
            *admin,
            f"{product.chart.fullname}-collector-secrets",
            "--serviceaccount",
            account,
            as_user=found.bed.kubeconfig(),
        )
        yield found


@pytest.fixture
def team(collected: Installation) -> Iterator[Team]:
    with _trusting(collected) as found:
        yield found


@pytest.fixture
def uncollected(product: Installation) -> Iterator[Team]:
    """A team whose sources a test looks at by itself."""
    with _trusting(product) as found:
        yield found

"""The run itself in a small size, and what the list of differences promises; the command is the full one."""

import os

import pytest

from conformance import generators
from conformance.allowed import ALLOWED
from conformance.client import Oracle
from conformance.differential import compare

CASES = 20_000 if os.environ.get("TOOLVET_FULL") else 2_000
SEED = 2  # another one than the command's: together they see more


@pytest.mark.parametrize("family", generators.FAMILIES)
def test_no_difference_that_is_not_listed(oracle: Oracle, family: str) -> None:
    report = compare(oracle, family, SEED, generators.shares(CASES)[family])
    print(report)
    assert [str(difference) for difference in report.differences[:5]] == []


def test_every_listed_difference_is_there(oracle: Oracle) -> None:
    families = {"eligibility": 1_500, "schema_digest": 300, "outcome_text": 500}
    reports = [compare(oracle, family, SEED, count) for family, count in families.items()]
    found = {name for report in reports for name in report.allowed}
    assert found == {entry.name for entry in ALLOWED}


@pytest.mark.parametrize("family", generators.FAMILIES)
def test_a_seed_says_which_cases(family: str) -> None:
    first, again, other = (generators.cases(family, seed, 20) for seed in (1, 1, 3))
    assert first == again
    assert first != other
    assert generators.cases(family, 1, 10) == first[:10]


def test_the_shares_are_the_whole() -> None:
    assert sum(generators.shares(20_000).values()) == 20_000

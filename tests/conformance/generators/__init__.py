"""Seeded random inputs, a module a family; each gives one input as the vectors encode it."""

from collections.abc import Callable
from random import Random
from typing import Any

from conformance.generators import (
    catalog_diff,
    cli,
    eligibility,
    identifiers,
    inventory,
    outcome_text,
    run_diff,
    run_summary,
    schema_digest,
    side_effect,
    snapshot,
)

Generator = Callable[[Random], dict[str, Any]]

# How often each family is drawn: by how much there is to get wrong in it, and by what a case costs.
FAMILIES: dict[str, tuple[Generator, int]] = {
    "identifiers": (identifiers.case, 20),
    "inventory": (inventory.case, 15),
    "catalog_diff": (catalog_diff.case, 12),
    "schema_digest": (schema_digest.case, 12),
    "side_effect": (side_effect.case, 3),
    "snapshot": (snapshot.case, 10),
    "eligibility": (eligibility.case, 12),
    "run_summary": (run_summary.case, 10),
    "run_diff": (run_diff.case, 5),
    "outcome_text": (outcome_text.case, 3),
    "cli": (cli.case, 1),
}


def shares(total: int) -> dict[str, int]:
    """Split a number of cases over the families; every family gets at least one."""
    parts = sum(weight for _, weight in FAMILIES.values())
    counts = {name: max(1, total * weight // parts) for name, (_, weight) in FAMILIES.items()}
    counts["identifiers"] += max(0, total - sum(counts.values()))  # what the division left over
    return counts


def cases(family: str, seed: int, count: int) -> list[dict[str, Any]]:
    """Return the first ``count`` inputs of a family; the same ones for the same seed, on any machine."""
    generate, _ = FAMILIES[family]
    random = Random(f"{seed}/{family}")  # noqa: S311  # reproducible on purpose; nothing here is a secret
    return [generate(random) for _ in range(count)]

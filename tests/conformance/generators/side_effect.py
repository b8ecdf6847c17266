"""Inputs of the family side_effect: hints by truthiness, as the reference takes them."""

from random import Random
from typing import Any

from conformance.generators import mutation
from conformance.generators.mutation import chance

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def case(random: Random) -> dict[str, Any]:
    hints = {}
    for name in _HINTS:
        if chance(random, 0.7):
            odd = chance(random, 0.3)
            hints[name] = (
                random.choice([*mutation.WRONG_TYPES, "false", "no"]) if odd else chance(random, 0.5)
            )
    if chance(random, 0.1):
        hints["title"] = "x"
    return {"hints": hints}

"""10,000 seeded changes of one member of a definition: the exact form moves, and the verdict with it."""

import copy
from collections import Counter
from random import Random
from typing import Any

import rfc8785

from core.build import seeded
from core.random_schemas import reordered
from core.tool_change_kinds import KINDS
from core.tool_definitions import LOOK_UP, Definition, verdict
from toolvet.core.change_reason import ChangeResult, Reading
from toolvet.core.errors import ContractError

MUTATIONS = 10_000
VALUES: list[Any] = ["x", "x y", 1, 2.5, True, False, None, [], {}, {"type": "string"}, ["a"]]
VALUES += [{"properties": {"z": {}}}, {"$ref": "#"}]


def mutated(random: Random, definition: Definition) -> Definition:
    after = copy.deepcopy(definition)
    places, stack = [], [after]
    while stack:
        part: Any = stack.pop()
        if isinstance(part, dict | list):
            keys = list(part) if isinstance(part, dict) else range(len(part))
            places += [(part, key) for key in keys if (part, key) != (after, "name")]
            stack += [part[key] for key in keys]
    holder, key = random.choice(places)
    kind = random.randrange(3)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = random.choice(VALUES)
    elif isinstance(holder, dict):
        holder["x-new"] = random.choice(VALUES)
    else:
        holder.append(random.choice(VALUES))
    return after


def test_every_mutation_moves_the_exact_form_and_the_verdict() -> None:
    random = seeded(6)
    pool = [LOOK_UP, *(kind.after for kind in KINDS if kind.number != 53)]
    seen: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        before = random.choice(pool)
        after = mutated(random, before)
        same = rfc8785.dumps(before) == rfc8785.dumps(after)
        try:
            found = verdict(before, after)
        except ContractError as error:
            seen[error.field] += 1
            continue
        assert (found.result is ChangeResult.NONE) is same, after
        assert rfc8785.dumps(reordered(after)) == rfc8785.dumps(after)
        seen[f"{found.result}, literal {verdict(before, after, Reading.LITERAL).result}"] += 1
    # Every outcome was met, and most mutations were judged, not refused.
    assert {"material, literal material", "material, literal minor", "material, literal none"} <= set(seen)
    assert {"minor, literal minor", "minor, literal none", "none, literal none"} <= set(seen)
    judged = sum(count for outcome, count in seen.items() if "literal" in outcome)
    assert judged > 0.9 * MUTATIONS

"""Inputs of the family run_diff: two summaries, and diffs built directly."""

from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.identifiers import summary_workflow_id
from conformance.generators.mutation import chance
from conformance.generators.run_summary import OUTCOMES, broken, summary

_MAX_CALLS = 10_000_000
_COUNTS: list[Any] = [
    0,
    1,
    -1,
    10_000,
    -10_000,
    10_001,
    -10_001,
    _MAX_CALLS,
    -_MAX_CALLS,
    _MAX_CALLS + 1,
    1.0,
    True,
    None,
]
_SECONDS: list[Any] = [
    *(0, 0.0, -0.0, 2.25, -0.1, 1e-7, 1_234_567.0, 31_536_000, -31_536_000.0, 31_536_000.1, True, None, "1"),
    *({"$float": "nan"}, {"$float": "-inf"}, {"$int": "9" * 400}),
]


def case(random: Random) -> dict[str, Any]:
    if chance(random, 0.45):
        return {"op": "construct", "args": _arguments(random)}
    before, after = summary(random), summary(random)
    if chance(random, 0.3):
        after = before | random.choice([{}, {"duration_seconds": -0.0}, {"tool_call_count": 7}])
    sides: list[Any] = [before, after]
    if chance(random, 0.15):
        place = random.randrange(2)
        # A mapping is parsed before; anything else is handed on as it is.
        sides[place] = random.choice([None, 5, "x", [], {"$object": True}, broken(random, sides[place])])
    return {"op": "diff", "before": sides[0], "after": sides[1]}


def _arguments(random: Random) -> dict[str, Any]:
    # In the same range, so that one is sometimes both added and removed.
    def digests() -> list[str]:
        return sorted({records.digest(random, 40) for _ in range(random.randrange(4))})

    def workflows() -> list[str]:
        return sorted(
            random.sample(["intake", "export.v2", "Intake", "a", "B", "10", "9"], random.randrange(3))
        )

    made: dict[str, Any] = {
        "workflow_ids_added": workflows(),
        "workflow_ids_removed": workflows(),
        "outcome_count_deltas": {name: random.choice([0, 0, 1, -2, 300]) for name in OUTCOMES},
        "tool_call_count_delta": random.choice([0, 5, -70_000]),
        "duration_seconds_delta": random.choice([0, 0.0, -0.0, 2.25, random.uniform(-1e6, 1e6)]),
        "artifact_digests_added": digests(),
        "artifact_digests_removed": digests(),
    }
    return made | _fault(random, made) if chance(random, 0.5) else made


def _fault(random: Random, made: dict[str, Any]) -> dict[str, Any]:
    match random.randrange(7):
        case 0:
            name = random.choice(["workflow_ids_added", "workflow_ids_removed"])
            ids = random.choice(
                [
                    ["b", "a"],
                    ["a", "a"],
                    [summary_workflow_id(random)],
                    {"$tuple": ["a"]},
                    {"$ids": random.choice([1024, 1025])},
                ]
            )
            return {name: random.choice([ids, mutation.wrong(random)])}
        case 1:
            name = random.choice(["artifact_digests_added", "artifact_digests_removed"])
            pair = sorted([records.digest(random), records.digest(random)])
            listed = random.choice(
                [
                    pair[::-1],
                    pair[:1] * 2,
                    [mutation.value(random, pair[0])],
                    {"$tuple": pair},
                    {"$digests": random.choice([4096, 4097])},
                ]
            )
            return {name: random.choice([listed, mutation.wrong(random)])}
        case 2:
            deltas = made["outcome_count_deltas"]
            return {"outcome_count_deltas": deltas | {random.choice(list(deltas)): random.choice(_COUNTS)}}
        case 3:
            return {"outcome_count_deltas": mutation.mapping(random, made["outcome_count_deltas"])}
        case 4:
            return {"tool_call_count_delta": random.choice(_COUNTS)}
        case 5:
            return {"duration_seconds_delta": random.choice(_SECONDS)}
    return {"schema_version": mutation.value(random, "openmed.agent.run_diff.v1")}

"""Inputs of the family snapshot: evidence parsed, evidence built, and reports built."""

from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.mutation import chance

_BINDING = "openmed.agent.tool_catalog_binding.v1"
_CODES = [
    *(
        "catalog_unavailable",
        "implementation_changed",
        "invalid_bindings",
        "invalid_schema",
        "invalid_selection",
    ),
    *("invalid_snapshot", "invocation_failed", "schema_changed", "side_effect_changed", "tool_unavailable"),
    "unreviewed_tool",
]
_NO_CODES = ["eligible", "", "Schema_changed", "schema_changed\n", None, 1, {"$tuple": []}]


def case(random: Random) -> dict[str, Any]:
    match random.randrange(10):
        case 0 | 1:
            return {"op": "eligibility_construct", "args": _report(random)}
        case 2 | 3 | 4:
            return {"op": "construct", "args": _arguments(random)}
    document = {"schema_version": _BINDING, "run_id": records.run_id(random), "bindings": _bindings(random)}
    return {"op": "from_mapping", "document": _broken(random, document) if chance(random, 0.5) else document}


def _bindings(random: Random) -> list[Any]:
    identity = records.digest(random)  # two bindings may share one
    return [
        {"tool": record, "implementation_id": identity if chance(random, 0.2) else records.digest(random)}
        for record in records.records(random, 6)
    ]


def _broken(random: Random, document: dict[str, Any]) -> Any:
    listed = document["bindings"]
    if not listed or chance(random, 0.4):
        return mutation.mapping(random, document)
    place = random.randrange(len(listed))
    binding = listed[place]
    match random.randrange(5):
        case 0:
            listed.append(binding | {"implementation_id": records.digest(random)})
        case 1:
            listed[place] = binding | {"tool": records.broken_record(random, binding["tool"])}
        case 2:
            return document | {"bindings": {"$tuple": listed}}
        case _:
            listed[place] = mutation.mapping(random, binding)
    return document | {"bindings": listed}


def _arguments(random: Random) -> dict[str, Any]:
    bindings = _bindings(random)
    made: dict[str, Any] = {"run_id": records.run_id(random), "bindings": bindings}
    if bindings and chance(random, 0.4):
        place = random.randrange(len(bindings))
        binding = bindings[place]
        # Both members stay: a missing argument is Python's own error, not the contract's.
        odd = [
            binding | {"implementation_id": mutation.value(random, binding["implementation_id"])},
            binding | {"tool": random.choice([None, "x", 5, {"$tuple": []}, {"$object": True}])},
            binding | {"tool": records.broken_record(random, binding["tool"])},
            random.choice([None, "x", {"$tuple": []}]),
        ]
        bindings.append(binding) if chance(random, 0.3) else bindings.__setitem__(place, random.choice(odd))
    if chance(random, 0.15):
        made["schema_version"] = mutation.value(random, _BINDING)
    if chance(random, 0.15):
        made["run_id"] = mutation.value(random, made["run_id"])
    for name in ("as_tuple", "typed_run_id"):
        if chance(random, 0.1):
            made[name] = False
    return made


def _report(random: Random) -> dict[str, Any]:
    reasons: list[Any] = random.choices(_CODES, k=random.randrange(5))
    if chance(random, 0.2):
        reasons.append(random.choice(_NO_CODES))
    digest: Any = records.digest(random)
    if chance(random, 0.2):
        digest = mutation.value(random, digest)
    made = {"snapshot_digest": digest, "reasons": reasons}
    return made | {"as_tuple": False} if chance(random, 0.1) else made

"""Inputs of the family catalog_diff: two inventories of common ancestry, and diffs built directly."""

from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.mutation import chance

_COMPARED = ("capability_class", "side_effect_class", "schema_digest")


def case(random: Random) -> dict[str, Any]:
    match random.randrange(10):
        case 0:
            return {"op": "field_change", "args": _field_change(random, breakable=True)}
        case 1:
            return {"op": "change", "args": _change(random, breakable=True)}
        case 2:
            return {"op": "construct", "args": _construct(random)}
    baseline = records.inventory(random)
    candidate: Any = baseline | {"tools": _edited(random, baseline["tools"])}
    sides = [baseline, candidate]
    if chance(random, 0.3):
        place = random.randrange(2)
        sides[place] = records.broken_inventory(random, sides[place])
    inputs = {"op": "diff", "baseline": sides[0], "candidate": sides[1]}
    return inputs | {"typed": True} if chance(random, 0.4) else inputs


def _edited(random: Random, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = {}
    for record in listed:
        match random.randrange(6):
            case 0:
                continue
            case 1:
                edited = record | {"version": records.version(random)}
            case 2 | 3:
                fields = random.sample(_COMPARED, random.randint(1, 3))
                edited = record | {field: _value(random, field) for field in fields}
            case _:
                edited = record
        found[edited["tool_id"], edited["version"]] = edited
    for record in records.records(random, 3):
        found.setdefault((record["tool_id"], record["version"]), record)
    edited_list = list(found.values())
    random.shuffle(edited_list)
    return edited_list


def _value(random: Random, field: str) -> str:
    return str(records.record(random)[field])


def _field_change(random: Random, *, breakable: bool) -> dict[str, Any]:
    field = random.choice(_COMPARED)
    made = {"field": field, "before": _value(random, field), "after": _value(random, field)}
    if breakable and chance(random, 0.6):
        name = random.choice(["field", "before", "after"])
        made[name] = mutation.value(random, made[name])
        if chance(random, 0.2):
            made["after"] = made["before"]
    return made


def _change(random: Random, *, breakable: bool) -> dict[str, Any]:
    fields: list[Any] = [_field_change(random, breakable=False) for _ in range(random.randint(1, 3))]
    if not breakable or chance(random, 0.6):
        fields = sorted(
            {field["field"]: field for field in fields}.values(),
            key=lambda field: _COMPARED.index(field["field"]),
        )
    made: dict[str, Any] = {
        "tool_id": records.tool_id(random),
        "version": records.version(random),
        "fields": {"$tuple": fields},
    }
    if breakable and chance(random, 0.4):
        name = random.choice(["tool_id", "version"])
        made[name] = mutation.value(random, made[name])
    if breakable and chance(random, 0.2):
        made["fields"] = random.choice(
            [fields, None, "x", 5, {"$tuple": ["x"]}, {"$tuple": []}, {"$set": []}]
        )
    return made


def _construct(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        name: {"$tuple": records.records(random, 3)} for name in ("added", "removed", "unchanged")
    }
    made["changed"] = {"$tuple": [_valid_change(random) for _ in range(random.randrange(3))]}
    if chance(random, 0.5):
        name = random.choice(list(made))
        listed = made[name]["$tuple"]
        made[name] = random.choice([listed, None, "x", 5, {"$tuple": [*listed, "x"]}, {"$tuple": [None]}, {}])
    if chance(random, 0.15):
        made["schema_version"] = mutation.value(random, "openmed.agent.tool_catalog_diff.v1")
    return made


def _valid_change(random: Random) -> dict[str, Any]:
    made = _change(random, breakable=False)
    # The harness of the vectors wants a plain list inside a tuple of changes.
    distinct = [field for field in made["fields"]["$tuple"] if field["before"] != field["after"]]
    made["fields"] = distinct or [{"field": "side_effect_class", "before": "none", "after": "read-only"}]
    return made

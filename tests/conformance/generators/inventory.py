"""Inputs of the family inventory: documents, records, typed records and iterables."""

from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.mutation import chance

_LIMIT = 10_000


def case(random: Random) -> dict[str, Any]:
    if chance(random, 0.0007):
        return {"op": "inventory_from_mapping", "document": _at_the_limit(random)}
    match random.randrange(10):
        case 0 | 1:
            record = records.record(random)
            broken = records.broken_record(random, record) if chance(random, 0.6) else record
            return {"op": "record_from_mapping", "record": broken}
        case 2:
            return {"op": "record_typed", "record": _typed(random)}
        case 3:
            return {"op": "inventory_from_typed_records", "records": _listed(random)}
        case 4 if chance(random, 0.3):
            iterable = random.choice([*mutation.WRONG_TYPES, "abc", [None], [{}]])
            return {"op": "inventory_from_iterable", "iterable": iterable}
    document = records.inventory(random)
    broken = records.broken_inventory(random, document) if chance(random, 0.55) else document
    return {"op": "inventory_from_mapping", "document": broken}


def _typed(random: Random) -> dict[str, Any]:
    record = records.record(random)
    record["side_effect_class"] = {"$enum": record["side_effect_class"]}
    if chance(random, 0.6):
        # All five stay: a missing argument is Python's own error, not the contract's.
        field = random.choice(records.FIELDS)
        record[field] = mutation.value(random, record[field])
    return record


def _listed(random: Random) -> list[Any]:
    listed: list[Any] = records.records(random)
    if listed and chance(random, 0.4):
        place = random.randrange(len(listed))
        duplicate = listed[place] | {"schema_digest": records.digest(random)}
        listed.append(
            random.choice(
                [duplicate, None, "x", 5, {"$tuple": []}, records.broken_record(random, listed[place])]
            )
        )
    return listed


def _at_the_limit(random: Random) -> dict[str, Any]:
    made = {"count": _LIMIT + random.choice([0, 1]), "salt": "m", "reverse": chance(random, 0.5)}
    return {"schema_version": records.INVENTORY, "tools": {"$records": made}}

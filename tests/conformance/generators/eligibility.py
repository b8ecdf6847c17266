"""Inputs of the family eligibility: a registry captured, changed in many ways, and used again."""

import hashlib
import json
from random import Random
from typing import Any

from conformance.generators import records
from conformance.generators.mutation import chance

_SCHEMAS = [
    {"type": "object", "properties": {"value": {"type": "integer"}}},
    {"properties": {"value": {"type": "integer"}}, "type": "object"},
    {"type": "object", "properties": {"value": {"type": "integer", "description": "A number"}}},
    {"type": "object", "properties": {"value": {"minimum": 1}}},
    {"type": "object", "properties": {"value": {"minimum": 1.0}}},
    {},
]
_HINTS = [
    ({"readOnlyHint": True, "destructiveHint": False}, "read-only"),
    ({"readOnlyHint": True}, "read-only"),
    ({"readOnlyHint": True, "openWorldHint": False}, "read-only"),
    ({}, "destructive"),
    ({"destructiveHint": True, "idempotentHint": True}, "destructive"),
    ({"destructiveHint": False, "idempotentHint": True}, "idempotent-write"),
    ({"destructiveHint": False}, "non-idempotent-write"),
]
_VERSIONS = ["0.1.0", "1.9.0", "1.10.0", "2.0.0", "10.0.0"]
# A pre-release is a version of a spec, though of no record; the last ones only to a lenient reader.
_SPEC_VERSIONS = ["7.0.0", "1.0.0-rc.1", "1.0", "1.9.0\n", "1\u0660.0.0"]
_LOOKUPS = ["raises", "bad_identity", "schema_not_json"]
_ARGUMENTS: list[Any] = [
    *({}, {"value": 1}, {"value": -0.5}, {"value": True}, {"value": "text"}, {"value": None}),
    *({"nope": 1}, {"value": 1, "other": [1]}, [1], None, "x", 5, {"$map": [[1, 2]]}),
]

Entry = dict[str, Any]


def case(random: Random) -> dict[str, Any]:
    tools, registry, names = _catalog(random)
    operation = random.choice(["capture", "check", "check", "invoke", "restore"])
    inputs: dict[str, Any] = {
        "op": operation,
        "run_id": records.run_id(random),
        "inventory": {"schema_version": records.INVENTORY, "tools": tools},
        "registry": registry,
        "names": names,
    }
    if operation == "capture" or chance(random, 0.1):
        _spoil_capture(random, inputs)
    if operation != "capture":
        inputs["observed"] = _observed(random, registry)
    if operation == "restore" and chance(random, 0.2):
        inputs["restore_names"] = _other_names(random, names)
    if operation == "invoke":
        inputs |= _call(random, tools)
        if chance(random, 0.2) and isinstance(inputs["registry"], list):
            # What is replaced after the final check must have been the same until then.
            inputs |= {"race": "replaced_after_final_check", "observed": "same"}
    return inputs


def _catalog(random: Random) -> tuple[list[Any], list[Entry], list[Any]]:
    tools, registry, names = [], [], []
    keys = {
        (records.tool_id(random, 7), random.choice(_VERSIONS)) for _ in range(random.choice([0, 1, 1, 2, 3]))
    }
    for number, (tool_id, version) in enumerate(sorted(keys)):
        hints, side_effect = random.choice(_HINTS)
        schemas = random.choice(_SCHEMAS), random.choice(_SCHEMAS)
        record = {
            "tool_id": tool_id,
            "version": version,
            "capability_class": "capability:org.example/text@1.0.0",
            "side_effect_class": side_effect,
            "schema_digest": _schema_digest(*schemas),
        }
        label = f"{random.choice(['echo', 'count', 'count', 'fail', 'none'])}:h{number}"
        entry = {
            "name": f"runtime {number}",
            "version": version,
            "input_schema": schemas[0],
            "output_schema": schemas[1],
            "hints": hints,
            "handler": label,
            "implementation_id": records.digest(random),
        }
        tools.append(record)
        registry.append(entry)
        names.append([tool_id, version, entry["name"]])
    order = random.sample(range(len(tools)), len(tools))
    return [tools[number] for number in order], registry, names


def _schema_digest(input_schema: Any, output_schema: Any) -> str:
    """CONTRACTS 8, once more: a fault of ours must not hide in what the cases are made with."""
    schemas = {"input_schema": input_schema, "output_schema": output_schema}
    text = json.dumps(schemas, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(b"openmed.agent.tool-contract.v1\0" + text.encode()).hexdigest()


def _spoil_capture(random: Random, inputs: dict[str, Any]) -> None:
    if chance(random, 0.2):
        inputs["names"] = _other_names(random, inputs["names"])
    elif chance(random, 0.3):
        inputs["registry"] = _observed(random, inputs["registry"], unusable=(None,))
    elif inputs["inventory"]["tools"] and chance(random, 0.3):
        record = random.choice(inputs["inventory"]["tools"])
        record["side_effect_class"] = random.choice(records.CLASSES)


def _observed(
    random: Random, registry: list[Entry], unusable: tuple[Any, ...] = (None, "wrong-type", "same", "same")
) -> Any:
    if chance(random, 0.3):
        return random.choice(unusable)
    changed = [_changed(random, entry) if chance(random, 0.4) else entry for entry in registry]
    kept = [entry for entry in changed if not chance(random, 0.06)]
    if chance(random, 0.2):
        kept.append({**_extra(random), "name": "extra"})
    random.shuffle(kept)
    return kept


def _extra(random: Random) -> Entry:
    return {
        "version": "1.0.0",
        "input_schema": {},
        "output_schema": {},
        "hints": {},
        "handler": "echo:extra",
        "implementation_id": records.digest(random),
    }


def _changed(random: Random, entry: Entry) -> Entry:
    """One to three changes of a registration."""
    for _ in range(random.choice([1, 1, 2, 3])):
        entry = entry | _change(random)
    return entry


def _change(random: Random) -> Entry:
    changes: list[Entry] = [
        {"input_schema": random.choice(_SCHEMAS)},
        {"output_schema": random.choice(_SCHEMAS)},
        {"hints": random.choice(_HINTS)[0]},
        {"implementation_id": records.digest(random)},
        {"handler": random.choice(["echo:other", "count:other"])},
        {"handler": None},
        {"lookup": random.choice(_LOOKUPS)},
        {"spec_version": random.choice(_SPEC_VERSIONS)},
        {"version": "8.8.8"},
        {"name": f"renamed {random.randrange(10**9)}"},
        {"description": "rewritten wording", "title": "Other"},
    ]
    return random.choice(changes)


def _other_names(random: Random, names: list[Any]) -> list[Any]:
    extra = ["tool:org.example/zzz", "1.0.0", "x"]
    if not names:
        return [extra]
    place = random.randrange(len(names))
    rest = [triple for number, triple in enumerate(names) if number != place]
    tool_id, version, name = names[place]
    return random.choice(
        [
            rest,
            [*names, extra],
            [*rest, [tool_id, "8.8.8", name]],
            [*rest, [tool_id, version, random.choice([5, None, True, {"$tuple": []}])]],
            [*rest, [tool_id, version, "no such name"]],
            [[tool_id, version, name] for tool_id, version, _ in names],
            list(reversed(names)),
        ]
    )


def _call(random: Random, tools: list[Any]) -> dict[str, Any]:
    asked = random.choice(tools) if tools else {"tool_id": "tool:org.example/x", "version": "1.0.0"}
    tool_id, version = asked["tool_id"], asked["version"]
    if chance(random, 0.1):
        tool_id = random.choice([None, 1, "tool:org.example/unknown", {"$tuple": []}, ""])
    if chance(random, 0.1):
        version = random.choice([None, 1, "8.8.8", version + "\n", ["1.0.0"]])
    return {"tool_id": tool_id, "version": version, "arguments": random.choice(_ARGUMENTS)}

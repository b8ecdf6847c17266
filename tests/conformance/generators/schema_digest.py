"""Inputs of the family schema_digest: schemas with every kind of number, text and key."""

import json
from random import Random
from typing import Any

from conformance.generators import mutation
from conformance.generators.mutation import chance

_KEYWORDS = [
    *(
        "type",
        "title",
        "description",
        "properties",
        "default",
        "enum",
        "const",
        "minimum",
        "$comment",
        "$ref",
    ),
    *(
        "x-vendor",
        "Type",
        "\u00e9",
        "e\u0301",
        "\uffff",
        "\U00010000",
        "\x7f",
        "",
        "a/b",
        '"',
        "\\",
        "\ud800",
    ),
]
_TEXTS = [
    *("", "plain", "\x00\x01\x1f", '"\\/\b\f\n\r\t', "\x7f\x80", "\u00e9", "e\u0301", "\u2028\u2029", "<&>"),
    *("\uffff", "\U0001f600", "\ud83d", "\ude00\ud83d", "sha256:", "x" * 300),
]
_NUMBERS = [
    *(0, 1, -1, 100, 2**53, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**40, 0.0, -0.0, 1.0, 0.1, 1e-4, 1e-5),
    *(9.9e-5, 1e15, 1e16, 1.5e300, 5e-324, 2.2250738585072014e-308, 123456789.123, 100.0, 1e22, 1e21),
]
# Text of a number that no writer would give back, or that is no JSON number to a strict reader.
_NUMBER_TEXTS = [
    "1e2",
    "1E2",
    "1E+2",
    "-0",
    "-0.0",
    "0e0",
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "1.10",
    "0.00001",
    "10e-1",
]
_PLACE = 987654321987654321
_ODD = [
    {"$float": "nan"},
    {"$float": "-inf"},
    {"$set": [1]},
    {"$bytes": "00"},
    {"$object": True},
    {"$tuple": [1, {"$tuple": []}]},
]
_ODD_KEYS: list[list[Any]] = [
    [1],
    [None],
    [True],
    [1.5],
    [1, 2, 10, 9],
    [1, "a"],
    [None, "a"],
    [{"$tuple": ["a"]}],
    [True, 2],
    [{"$float": "nan"}],
]


def case(random: Random) -> dict[str, Any]:
    spec = {"input_schema": _schema(random, 4), "output_schema": _schema(random, 3)}
    match random.randrange(10):
        case 0 | 1 | 2:
            return {"text": _text(random, spec)}
        case 3:
            return {"spec": spec | {random.choice(list(spec)): _not_json(random)}}
        case 4:
            other = {
                "title": "Other",
                "version": "9.9.9",
                "description": "Other",
                "hints": {"readOnlyHint": True},
            }
            name = random.choice([name for name in other if name != "description"])
            return {"spec": spec | {name: other[name]}}
    return {"spec": spec}


def _schema(random: Random, depth: int) -> dict[str, Any]:
    schema = {}
    for _ in range(random.randrange(6)):
        name = random.choice(_KEYWORDS)
        schema[name] = _value(random, depth)
    return schema


def _value(random: Random, depth: int) -> Any:
    match random.randrange(9 if depth else 6):
        case 0 | 1:
            return random.choice(_TEXTS)
        case 2 | 3:
            return random.choice(_NUMBERS)
        case 4:
            return random.choice([True, False, None])
        case 5:
            return random.choice([random.uniform(-1, 1), random.uniform(-1e9, 1e9), random.getrandbits(90)])
        case 6:
            return [_value(random, depth - 1) for _ in range(random.randrange(4))]
    return _schema(random, depth - 1)


def _text(random: Random, spec: dict[str, Any]) -> str:
    """JSON text as another writer may give it: odd numbers, blanks, raw characters, members twice."""
    placed = spec["input_schema"] | {"default": _PLACE}
    raw = chance(random, 0.5)
    indent = random.choice([None, 1])
    text = json.dumps(
        {"input_schema": placed, "output_schema": spec["output_schema"]}, ensure_ascii=not raw, indent=indent
    )
    text = text.replace(str(_PLACE), random.choice(_NUMBER_TEXTS))
    if chance(random, 0.2):
        text = '{"input_schema": {"x": 1}, ' + text[1:]  # the last one of two wins
    return text


def _not_json(random: Random) -> Any:
    schema = _schema(random, 1)
    match random.randrange(4):
        case 0:
            return random.choice([*mutation.WRONG_TYPES, "text", [["a", 1]], [["a"]], {"$tuple": [["a", 1]]}])
        case 1:
            keys = random.choice(_ODD_KEYS)
            return schema | {"x": {"$map": [[key, random.choice(_NUMBERS)] for key in keys]}}
    return schema | {"x": random.choice([*_ODD, [random.choice(_ODD)]])}

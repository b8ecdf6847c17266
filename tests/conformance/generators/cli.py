"""Inputs of the family cli: ``agents tools`` with good and bad files, formats and outputs."""

import json
from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.mutation import chance

_LIMIT = 10 * 1024 * 1024
_FORMATS = ["text", "json", "JSON", "Text", "xml", "", "markdown", "json "]
_TEXTS = [
    "",
    " ",
    "not json",
    "{'a':1}",
    "[]",
    "5",
    "null",
    '"x"',
    "[" * 100_000,
    '{"a":' * 100_000,
    "NaN",
    "{}{}",
    "1" * 5_000,
]


def case(random: Random) -> dict[str, Any]:
    arguments: list[str] = []
    files: dict[str, Any] = {}

    if chance(random, 0.8):
        arguments += ["--inventory", "in.json"]
        if not chance(random, 0.08):
            files["in.json"] = _file(random)
    if chance(random, 0.6):
        chosen = random.choice(["text", "json"]) if chance(random, 0.8) else random.choice(_FORMATS)
        arguments += random.choice([["--format", chosen], [f"--format={chosen}"]])
    if chance(random, 0.3):
        name = random.choice(["out.md", "old.md", "old.md", "old.md", "no/out.md", "folder"])
        arguments += random.choice([["--output", name], ["-o", name]])
        if name == "old.md":
            files[name] = {"text": "previous content\n" * random.choice([1, 500])}
        if name == "folder":
            files[name] = {"dir": True}
    if chance(random, 0.06):
        arguments = random.choice(
            [[*arguments, "--bogus"], [*arguments, "stray"], ["--inventory"], ["--format"], ["-o"]]
        )
    inputs = {"args": arguments, "files": files}
    expected = [name for name, content in files.items() if name == "old.md" and "text" in content]
    return inputs | {"expect_files": expected} if expected else inputs


def _file(random: Random) -> dict[str, Any]:
    document = records.inventory(random)
    match random.randrange(12):
        case 0:
            return {"text": random.choice(_TEXTS)}
        case 1:
            return {"text": mutation.text(random, json.dumps(document)).replace("\ud800", "?")}
        case 2:
            return {
                "hex": json.dumps(document)
                .encode(random.choice(["utf-16", "utf-32-le", "utf-8-sig", "utf-16-be"]))
                .hex()
            }
        case 3:
            return {"hex": random.choice(["ff00ff", "efbbbf", "00", "7b22ff223a317d", ""])}
        case 4:
            repeated = '{"schema_version": "v0", "tools": [1], ' + json.dumps(document)[1:]
            return {"text": repeated}
        case 5:
            return {"dir": True}
        case 6 if chance(random, 0.1):
            return {"zeros": _LIMIT + random.choice([0, 1])}
        case 7 | 8:
            return {"json": _plain(records.broken_inventory(random, document))}
    return {"json": document}


def _plain(value: Any) -> Any:
    """Leave out what stands for something that JSON cannot say."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$") and next(iter(value)) != "$ref":
            return "stand-in"
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value

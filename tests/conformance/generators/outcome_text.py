"""Inputs of the family outcome_text, which the vectors lack: JSON texts and bytes of one outcome."""

import json
from random import Random
from typing import Any

from conformance.generators import mutation
from conformance.generators.mutation import chance
from conformance.generators.run_summary import outcome

_ENCODINGS = ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "utf-8"]
_TOKENS = [
    "NaN",
    "-Infinity",
    "1e999",
    "1e400",
    "1.0",
    "-0",
    "01",
    "null",
    "[]",
    "9" * 5_000,
    '"\\ud800"',
    '"\\u0000"',
]
_OTHERS = ["", " ", "null", "5", '"x"', "[]", "{}", "{}{}", "[" * 200, "[" * 64 + "]" * 64, "\ufeff{}"]


def case(random: Random) -> dict[str, Any]:
    text = json.dumps(outcome(random), indent=random.choice([None, 1]))
    match random.randrange(9):
        case 0 | 1:
            text = mutation.text(random, text)
        case 2:
            text = text.replace(
                '"outcome_class"', f'"{random.choice(["x", "outcome_class"])}": 1, "outcome_class"'
            )
        case 3:
            text = text[: text.rindex(":") + 1] + random.choice(_TOKENS) + "}"
        case 4:
            text = random.choice(_OTHERS)
        case 5:
            depth = random.choice([2, 64, 65, 300])
            text = "[" * depth + "]" * depth
        case 6:
            return {"text": mutation.wrong(random)}
    if chance(random, 0.4):
        encoded = text.encode(random.choice(_ENCODINGS), "surrogatepass")
        return {"text": {"$bytes": encoded.hex()}}
    return {"text": text}

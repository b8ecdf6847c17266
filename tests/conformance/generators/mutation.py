"""Ways to break a value that was valid; some leave it valid, which is as good a case."""

from random import Random
from typing import Any

Mapping = dict[str, Any]

WRONG_TYPES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2.0, -0.0, "", [], {}),
    *({"$tuple": []}, {"$tuple": ["a"]}, {"$set": []}, {"$bytes": "61"}, {"$object": True}),
    *({"$float": "nan"}, {"$float": "inf"}, {"$int": "9" * 30}, {"$map": [[1, 2]]}, ["a"], {"a": 1}),
]
# Look-alikes and what a lenient reader folds, trims or takes for a digit.
CHARACTERS = [
    *"\n\r\t\0 -_.:/@AZa9",
    *("\u0661", "\uff11", "\u00b2", "\u0430", "\u212a", "\u00e9", "e\u0301", "\u200b", "\ufeff", "\u2028"),
    *("\ud800", "\U0001f600", "\x7f", "\u00a0"),
]


def chance(random: Random, share: float) -> bool:
    return random.random() < share


def wrong(random: Random) -> Any:
    return random.choice(WRONG_TYPES)


def text(random: Random, value: str) -> str:
    """Change a string in one place, or at its end, or in its case or length."""
    at = random.randrange(len(value) + 1)
    match random.randrange(11):
        case 0:
            return value + random.choice(["\n", " ", "\r\n", "\0", "."])
        case 1:
            return random.choice([" ", "\ufeff", "\n", "-"]) + value
        case 2:
            return value[:at] + random.choice(CHARACTERS) + value[at:]
        case 3:
            return value[:at] + random.choice(CHARACTERS) + value[at + 1 :]
        case 4:
            return value[:at] + value[at + 1 :]
        case 5:
            return value[:at] + value[at : at + 1].swapcase() + value[at + 1 :]
        case 6:
            return value[:at]
        case 7:
            return value[:at] + value[at : at + 1] * random.choice([2, 3, 63, 64, 65, 200]) + value[at:]
    digits = [place for place, char in enumerate(value) if char in "0123456789"]
    if not digits:
        return value.upper()
    place = random.choice(digits)
    # ARABIC-INDIC DIGITs: digits for str.isdigit and for \d, not for the contract.
    return value[:place] + chr(0x660 + int(value[place])) + value[place + 1 :]


def value(random: Random, given: Any) -> Any:
    """Change a string, or replace whatever it is by something of another type."""
    if isinstance(given, str) and chance(random, 0.7):
        return text(random, given)
    return wrong(random)


def mapping(random: Random, given: Mapping) -> Any:
    """Break the set of members, or one value, or the order (which must not matter)."""
    names = list(given)
    name = random.choice(names) if names else "x"
    match random.randrange(10):
        case 0:
            return {other: given[other] for other in names if other != name}
        case 1:
            return given | {random.choice(["x", "description", "", "$ref", name + "\n"]): wrong(random)}
        case 2:
            rest = {other: given[other] for other in names if other != name}
            return rest | {text(random, name): given.get(name)}
        case 3:
            odd = random.choice([1, None, True, {"$tuple": ["a"]}, 1.5])
            return {"$map": [*([other, given[other]] for other in names if other != name), [odd, 1]]}
        case 4:
            random.shuffle(names)
            return {other: given[other] for other in names}
        case 5:
            return wrong(random)
    return given | {name: value(random, given.get(name))}

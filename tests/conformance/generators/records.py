"""Valid parts of the record contracts, near their bounds as often as far from them."""

import hashlib
import string
from random import Random
from typing import Any

from conformance.generators import mutation
from conformance.generators.mutation import chance

INVENTORY = "openmed.agent.tool_inventory.v1"
CLASSES = ("none", "read-only", "idempotent-write", "non-idempotent-write", "destructive")
FIELDS = ("tool_id", "version", "capability_class", "side_effect_class", "schema_digest")
_LOWER_DIGITS = string.ascii_lowercase + string.digits
_MAX_LABEL = 63
_MAX_LOCAL = 64


def digest(random: Random, among: int = 1_000_000) -> str:
    """One of ``among`` digests: few of them where equal ones are wanted."""
    return "sha256:" + hashlib.sha256(str(random.randrange(among)).encode()).hexdigest()


def run_id(random: Random) -> str:
    return "run_" + random.randbytes(16).hex()


def _size(random: Random, maximum: int) -> int:
    return (
        random.choice([1, 1, 2, 3, 5, 8, maximum - 1, maximum])
        if chance(random, 0.3)
        else random.randint(1, 9)
    )


def _letters(random: Random, size: int, middle: str) -> str:
    return "".join(random.choice(middle) for _ in range(size))


def label(random: Random) -> str:
    size = _size(random, _MAX_LABEL)
    inner = _letters(random, max(0, size - 2), _LOWER_DIGITS + "-")
    return (random.choice(_LOWER_DIGITS) + inner + random.choice(_LOWER_DIGITS))[:size].rstrip("-") or "a"


def namespace(random: Random) -> str:
    if chance(random, 0.03):  # 253 characters is the most; 254 and 255 are too many
        full = "l" * _MAX_LABEL
        return ".".join([full, full, full, "l" * random.choice([60, 61, 62, 63])])
    return ".".join(label(random) for _ in range(random.choice([2, 2, 2, 3, 4])))


def local_name(random: Random) -> str:
    size = _size(random, _MAX_LOCAL)
    return random.choice(string.ascii_lowercase) + _letters(random, size - 1, _LOWER_DIGITS + "-")


def number(random: Random) -> str:
    return str(
        random.choice([0, 1, 2, 9, 10, 11, 99, 2**31, 2**63, 2**64, 10**30])
        if chance(random, 0.4)
        else random.randrange(20)
    )


def version(random: Random) -> str:
    if chance(random, 0.03):  # 64 characters is the most
        return "1.0." + "9" * random.choice([59, 60, 61])
    return ".".join(number(random) for _ in range(3))


def identifier(random: Random, kind: str, *, versioned: bool) -> str:
    text = f"{kind}:{namespace(random)}/{local_name(random)}"
    return f"{text}@{version(random)}" if versioned else text


def tool_id(random: Random, among: int = 0) -> str:
    """A tool id; with ``among``, one of that many, so that keys meet and sort closely."""
    if not among:
        return identifier(random, "tool", versioned=False)
    # As CONTRACTS 5.3 has it: "-" before "." before "/" before digits before letters.
    names = [
        "tool:a-c.b/z",
        "tool:a.b.c/z",
        "tool:a.b/z",
        "tool:a.b/z-",
        "tool:a.b/z0",
        "tool:a0.b/z",
        "tool:aa.b/z",
    ]
    return random.choice(names[:among])


def record(random: Random, among: int = 0) -> dict[str, Any]:
    near = chance(random, 0.7)
    return {
        "tool_id": tool_id(random, among),
        "version": ".".join(str(random.choice([0, 1, 2, 9, 10])) for _ in range(3))
        if near
        else version(random),
        "capability_class": identifier(random, "capability", versioned=chance(random, 0.8)),
        "side_effect_class": random.choice(CLASSES),
        "schema_digest": digest(random),
    }


def records(random: Random, most: int = 12) -> list[dict[str, Any]]:
    """Records of different keys in random order; many share a tool or nearly its name."""
    among = random.choice([0, 1, 3, 7])
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(random.choice([0, 1, 2, 3, 5, most])):
        made = record(random, among)
        found[made["tool_id"], made["version"]] = made
    return list(found.values())


def inventory(random: Random, most: int = 12) -> dict[str, Any]:
    return {"schema_version": INVENTORY, "tools": records(random, most)}


def broken_record(random: Random, given: Any) -> Any:
    """One fault in a record."""
    return mutation.mapping(random, given) if isinstance(given, dict) else mutation.wrong(random)


def broken_inventory(random: Random, given: dict[str, Any]) -> Any:
    """One fault in a document, mostly in its records."""
    listed = list(given["tools"])
    if not listed or chance(random, 0.25):
        return mutation.mapping(random, given)
    place = random.randrange(len(listed))
    match random.randrange(6):
        case 0:
            listed.insert(random.randrange(len(listed) + 1), listed[place])
        case 1:  # the same key, other values
            listed.append(listed[place] | {"schema_digest": digest(random)})
        case 2:
            listed[place] = mutation.wrong(random)
        case 3:
            return given | {"tools": {"$tuple": listed}}
        case _:
            listed[place] = broken_record(random, listed[place])
    return given | {"tools": listed}

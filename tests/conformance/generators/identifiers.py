"""Inputs of the family identifiers: every grammar of CONTRACTS 2."""

from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.mutation import chance

GOVERNANCE = ("tool", "capability", "workflow", "policy", "purpose")
TYPES = (
    *GOVERNANCE,
    *("run_id", "action_id"),
    *(f"record.{field}" for field in records.FIELDS),
    *("run_summary.workflow_id", "run_summary.artifact_digest"),
)
_SUMMARY_CHARACTERS = "abzABZ019_.-"


def case(random: Random) -> dict[str, Any]:
    kind = random.choice(TYPES)
    value = _valid(random, kind)
    if chance(random, 0.5):
        value = mutation.value(random, value)
        if isinstance(value, str) and chance(random, 0.2):
            value = mutation.text(random, value)
    return {"type": kind, "value": value}


def summary_workflow_id(random: Random) -> str:
    size = random.choice([1, 2, 3, 10, 127, 128, 129])
    return "".join(random.choice(_SUMMARY_CHARACTERS) for _ in range(size))


def _valid(random: Random, kind: str) -> Any:
    match kind:
        case "run_id" | "action_id":
            prefix = ("run_" if kind == "run_id" else "act_") if chance(random, 0.9) else "act_"
            return prefix + random.randbytes(16).hex()
        case "record.tool_id":
            return records.identifier(random, "tool", versioned=chance(random, 0.1))
        case "record.version":
            return records.version(random)
        case "record.capability_class":
            return _capability(random)
        case "record.side_effect_class":
            chosen = random.choice(records.CLASSES)
            return {"$enum": chosen} if chance(random, 0.2) else chosen
        case "record.schema_digest" | "run_summary.artifact_digest":
            return records.digest(random)
        case "run_summary.workflow_id":
            return summary_workflow_id(random)
    asked = (
        kind if chance(random, 0.9) else random.choice([*GOVERNANCE, "role", "resource", "action", "Tool"])
    )
    return records.identifier(random, asked, versioned=chance(random, 0.5))


def _capability(random: Random) -> str:
    text = records.identifier(random, "capability", versioned=True)
    # Only a long version reaches the bound of 512 characters.
    return text + "9" * (random.choice([511, 512, 513]) - len(text)) if chance(random, 0.05) else text

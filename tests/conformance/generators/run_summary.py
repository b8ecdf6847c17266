"""Inputs of the family run_summary: outcomes, events, summaries from events, mappings and text."""

import json
from random import Random
from typing import Any

from conformance.generators import mutation, records
from conformance.generators.identifiers import summary_workflow_id
from conformance.generators.mutation import chance

SUMMARY = "openmed.agent.run_summary.v1"
OUTCOMES = {
    "abstained": ("insufficient_evidence", "out_of_scope", "low_confidence"),
    "failed": ("tool_error", "timeout", "invalid_input"),
    "policy_denied": ("consent_required", "purpose_mismatch", "phi_policy"),
    "review_required": ("conflicting_evidence", "safety_review", "human_gate"),
    "success": ("completed",),
}
_MAX_CALLS = 10_000_000
_MAX_SECONDS = 31_536_000
_MAX_RUNS = 10_000
_COUNTS: list[Any] = [
    0,
    1,
    9_999,
    _MAX_RUNS,
    _MAX_RUNS + 1,
    _MAX_CALLS,
    _MAX_CALLS + 1,
    -1,
    1.0,
    True,
    None,
    "1",
]
_SECONDS: list[Any] = [
    *(0, 7, 0.0, -0.0, 0.1, 0.3, 1e-5, 5e-324, 1_000_000.0, 1_234_567.0, _MAX_SECONDS, _MAX_SECONDS + 1),
    *(
        31_536_000.000001,
        -1,
        -1e-9,
        True,
        None,
        "1",
        {"$float": "nan"},
        {"$float": "inf"},
        {"$int": "9" * 400},
    ),
]


def case(random: Random) -> dict[str, Any]:
    match random.randrange(12):
        case 0:
            return {"op": "outcome", "document": _outcome_document(random)}
        case 1 | 2:
            return {"op": "event", "event": _maybe_broken_event(random)}
        case 3 | 4 | 5:
            return {"op": "from_events", "events": _events(random)}
        case 6 | 7:
            return {"op": "from_text", "text": _text(random)}
        case 8 | 9:
            arguments = summary(random)
            return {
                "op": "construct",
                "args": broken(random, arguments) if chance(random, 0.5) else arguments,
            }
    if chance(random, 0.02):
        return _at_a_limit(random)
    document: Any = summary(random)
    if chance(random, 0.5):
        document = mutation.mapping(random, document) if chance(random, 0.3) else broken(random, document)
    return {"op": "from_mapping", "document": document}


def outcome(random: Random) -> dict[str, Any]:
    chosen = random.choice(list(OUTCOMES))
    made = {"outcome_class": chosen, "reason_code": random.choice(OUTCOMES[chosen])}
    return {"schema_version": "openmed.agent.outcome.v1"} | made if chance(random, 0.3) else made


def _outcome_document(random: Random) -> Any:
    made = outcome(random)
    if chance(random, 0.2):
        made["reason_code"] = random.choice(random.choice(list(OUTCOMES.values())))
    return mutation.mapping(random, made) if chance(random, 0.5) else made


def seconds(random: Random) -> Any:
    """Mostly within the bounds, with fractions whose sums show how they are rounded."""
    if chance(random, 0.15):
        return random.choice(_SECONDS)
    return random.choice([0.1, 0.2, 0.3, 1.5, 1e-3, 3, random.uniform(0, 1000), random.uniform(0, 1e7)])


def _event(random: Random) -> dict[str, Any]:
    made = {
        "workflow_id": random.choice(["intake", "export.v2", "Intake", "a", "B", "10", "9"]),
        "outcome": outcome(random),
        "tool_call_count": random.randrange(50),
        "duration_seconds": seconds(random) if chance(random, 0.1) else random.uniform(0, 10),
        "artifact_digests": _digests(random),
    }
    # These three have defaults.
    for name in ("tool_call_count", "duration_seconds", "artifact_digests"):
        if chance(random, 0.1):
            del made[name]
    return made


def _digests(random: Random) -> list[str]:
    return list({records.digest(random, 12): None for _ in range(random.randrange(4))})


def _maybe_broken_event(random: Random) -> dict[str, Any]:
    made = _event(random)
    if chance(random, 0.6):
        # None is added or missing but what has a default: that would be Python's own error.
        match random.randrange(6):
            case 0:
                made["workflow_id"] = random.choice(
                    [summary_workflow_id(random), mutation.value(random, "intake")]
                )
            case 1:
                made["outcome"] = random.choice([None, "success", 5, _outcome_document(random)])
            case 2:
                made["tool_call_count"] = random.choice(_COUNTS)
            case 3:
                made["duration_seconds"] = random.choice(_SECONDS)
            case 4:
                digests = {"$digests": random.choice([127, 128, 129])}
                made["artifact_digests"] = random.choice(
                    [digests, {"$tuple": [records.digest(random)]}, mutation.wrong(random)]
                )
            case _:
                found = records.digest(random)
                made["artifact_digests"] = random.choice(
                    [[found, found], [mutation.value(random, found)], [found, None]]
                )
    return made


def _events(random: Random) -> Any:
    if chance(random, 0.06):
        return random.choice([None, "abc", 5, True, {"$object": True}, {"$bytes": "00"}, {"a": 1}])
    listed: list[Any] = [_event(random) for _ in range(random.choice([0, 1, 2, 3, 8, 20]))]
    if listed and chance(random, 0.25):
        place = random.randrange(len(listed))
        listed[place] = random.choice([None, "x", 5, {"$tuple": []}, _maybe_broken_event(random)])
    if chance(random, 0.08):  # sums beyond the bounds
        listed += [
            _event(random) | {"tool_call_count": _MAX_CALLS - 1, "duration_seconds": _MAX_SECONDS - 0.5}
        ] * 2
    return listed


def _at_a_limit(random: Random) -> dict[str, Any]:
    document = summary(random)
    match random.randrange(3):
        case 0:
            event = _event(random) | {"tool_call_count": 2, "duration_seconds": 0.1}
            return {"op": "repeat_event", "event": event, "times": _MAX_RUNS + random.choice([0, 1])}
        case 1:
            return {
                "op": "from_mapping",
                "document": document | {"workflow_ids": {"$ids": random.choice([1024, 1025])}},
            }
    return {
        "op": "from_mapping",
        "document": document | {"artifact_digests": {"$digests": random.choice([4096, 4097])}},
    }


def summary(random: Random) -> dict[str, Any]:
    """A valid summary in its dict form."""
    counts = dict.fromkeys(OUTCOMES, 0)
    for name in random.sample(list(OUTCOMES), random.randrange(4)):
        counts[name] = random.choice([1, 2, 30, 2_500])
    return {
        "schema_version": SUMMARY,
        "workflow_ids": sorted(
            {
                random.choice(["intake", "export.v2", "Intake", "a", "B", "10", "9"])
                for _ in range(random.randrange(4))
            }
        ),
        "outcome_counts": counts,
        "tool_call_count": random.choice([0, 5, random.randrange(_MAX_CALLS)]),
        "duration_seconds": random.choice(
            [0.0, -0.0, 0, 1.75, 1e6, 1_234_567.0, 1e-5, random.uniform(0, 1e7)]
        ),
        "artifact_digests": sorted(set(_digests(random))),
    }


def broken(random: Random, given: dict[str, Any]) -> dict[str, Any]:
    """One value at fault, or near its bound."""
    match random.randrange(7):
        case 0:
            ids = random.choice(
                [["b", "a"], ["a", "a"], ["a", summary_workflow_id(random)], [None], {"$tuple": ["a", "b"]}]
            )
            return given | {"workflow_ids": random.choice([ids, mutation.wrong(random)])}
        case 1:
            return given | {"outcome_counts": _broken_counts(random, given["outcome_counts"])}
        case 2:
            return given | {"tool_call_count": random.choice(_COUNTS)}
        case 3:
            return given | {"duration_seconds": random.choice(_SECONDS)}
        case 4:
            pair = sorted([records.digest(random), records.digest(random)])
            listed = random.choice(
                [pair, pair[::-1], pair[:1] * 2, [mutation.value(random, pair[0])], {"$tuple": pair}]
            )
            return given | {"artifact_digests": random.choice([listed, mutation.wrong(random)])}
        case 5:
            return given | {"schema_version": mutation.value(random, SUMMARY)}
    name = random.choice([name for name in given if name != "schema_version"])
    return given | {name: mutation.wrong(random)}


def _broken_counts(random: Random, counts: dict[str, Any]) -> Any:
    match random.randrange(4):
        case 0:
            return mutation.mapping(random, counts)
        case 1:
            return dict.fromkeys(counts, random.choice([2_000, 2_001, _MAX_RUNS]))
    name = random.choice(list(counts))
    return counts | {name: random.choice(_COUNTS)}


def _text(random: Random) -> Any:
    document = summary(random)
    text = json.dumps(document, indent=random.choice([None, 1]))
    match random.randrange(12):
        case 0:
            return mutation.text(random, text)
        case 1:
            return "{" + '"tool_call_count": 1, ' + text[1:]
        case 2:
            return text.replace(
                '"tool_call_count": ',
                f'"tool_call_count": {random.choice(["NaN", "-Infinity", "1e2", "1.0", "-0", "01", "+"])} ',
                1,
            )
        case 3:
            token = random.choice(["NaN", "Infinity", "1e999", "-1e999", "1E3", "-0.0", "-0", "1e-400"])
            document["duration_seconds"] = 987654321
            return json.dumps(document).replace("987654321", token)
        case 4:
            mark = random.choice(["efbbbf", "", "fffe"])
            return {"$bytes": mark + text.encode().hex()}
        case 5:
            return {
                "$bytes": text.encode(random.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])).hex()
            }
        case 6:
            return random.choice(
                ["", " ", "[]", "5", '"x"', "null", "\ufeff" + text, "[" * 5_000, '{"a":' * 5_000, "\ud800"]
            )
        case 7:
            return mutation.wrong(random)
        case 8:
            return json.dumps(broken(random, document), default=str)
    return text

"""An explanation as text for a person and as JSON for a program; names, digests, codes and counts only."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from toolvet.cli.explain import RULES, ApprovalFact, Explanation
from toolvet.cli.recording import Outcome, Read
from toolvet.core.approval import ApprovalState, ReviewedSnapshot
from toolvet.core.decision import Unknown
from toolvet.core.denial import minor_change_text, short_digest
from toolvet.core.errors import ContractError
from toolvet.core.reasons import EXPLANATIONS
from toolvet.kube.certainty import Certainty
from toolvet.kube.names import INVENTORIES, MODE_LABEL, NAMESPACES, POLICIES, SNAPSHOTS, is_object_name
from toolvet.kube.overlay import GUARDS
from toolvet.kube.resources import NEVER_OBSERVED, catalog_from_inventory, catalog_from_snapshot, created_at
from toolvet.kube.review import nameable


def json_text(found: Explanation, now: datetime) -> str:
    """Return the explanation as JSON."""
    return json.dumps(to_dict(found, now), indent=2) + "\n"


def to_dict(found: Explanation, now: datetime) -> dict[str, Any]:
    """Return the JSON form."""
    judgement, subject, governed_by = found.judgement, found.workload, found.governed_by
    decision = None if judgement is None else nameable(judgement.decision)
    reason = None if decision is None else decision.code
    policy, tally = found.policy, None if decision is None else decision.approvals
    return {
        "namespace": found.namespace,
        "mode": found.mode.text,
        "kind": found.kind.resource.kind,
        "name": found.name,
        "serviceAccount": None if subject is None else _name(subject.service_account),
        "annotatedInventory": None if subject is None else _name(subject.inventory),
        "pinnedSnapshot": None if subject is None else _name(subject.snapshot),
        "reads": [
            {"read": read.title, "outcome": str(read.outcome), "detail": _detail(read)}
            for read in found.reads
        ],
        "rule": found.rule,
        "inventory": None if governed_by is None else governed_by[0],
        "catalogDigest": None if governed_by is None else governed_by[1].digest,
        "snapshot": _snapshot(found),
        "approvals": [item.to_dict() for item in found.approvals(now)],
        "quorum": {
            "required": None if policy is None else policy.required_approvals,
            "valid": None if tally is None else tally.valid,
        },
        "verdict": str(found.certainty),
        "code": _code(found, None if reason is None else str(reason)),
        "unknown": _unknown(found),
        "cure": found.cure,
    }


def _code(found: Explanation, reason: str | None) -> str | None:
    return str(Unknown.UNAVAILABLE.reason) if found.judgement is None else reason


def _unknown(found: Explanation) -> list[str]:
    if found.judgement is None:
        return [read.title for read in found.reads if not read.outcome.known]
    return list(found.judgement.missing)


def _name(name: str | None) -> str | None:
    return name if name is None or is_object_name(name) else "(not a name)"


def _snapshot(found: Explanation) -> dict[str, Any] | None:
    if found.snapshot is None:
        return None
    name, known = found.snapshot
    reviewed = known if isinstance(known, ReviewedSnapshot) else None
    return {
        "name": name,
        "catalogDigest": None if reviewed is None else reviewed.catalog.digest,
        "snapshotDigest": None if reviewed is None else reviewed.evidence.digest,
    }


def text(found: Explanation, now: datetime) -> str:
    """Return the explanation for a person: reads, rule, approvals, verdict."""
    subject = found.workload
    lines = [
        f"{found.kind.resource.kind}/{found.name} in namespace {found.namespace}, mode {found.mode.text}"
    ]
    if subject is not None:
        bound = [f"service account {_name(subject.service_account)}"]
        if subject.inventory is not None:
            bound.append(f"annotated inventory {_name(subject.inventory)}")
        if subject.snapshot is not None:
            bound.append(f"pinned snapshot {_name(subject.snapshot)}")
        lines.append(f"  {', '.join(bound)}")
    lines.append("reads")
    width = max(len(read.title) for read in found.reads)
    for read in found.reads:
        known = str(read.outcome) if read.outcome.known else f"unknown ({read.outcome})"
        detail = _detail(read)
        lines.append(f"  {read.title.ljust(width)}  {known}" + (f": {detail}" if detail else ""))
    lines += ["rule", f"  {_rule(found)}"]
    lines += _approval_lines(found, found.approvals(now))
    return "\n".join([*lines, "verdict", *(f"  {line}" for line in _verdict(found))]) + "\n"


def _rule(found: Explanation) -> str:
    if found.rule is None:
        return "not known: it depends on what could not be read"
    number = "before all" if found.rule == 0 else str(found.rule)
    return f"{number}: {RULES[found.rule]}"


def _approval_lines(found: Explanation, facts: list[ApprovalFact]) -> list[str]:
    if found.snapshot is None:
        return []
    lines = ["approvals", *(f"  {item.name}  {item.approved_by}  {item.state}" for item in facts)]
    policy = found.policy
    required = "an unknown number" if policy is None else str(policy.required_approvals)
    tally = None if found.judgement is None else found.judgement.decision.approvals
    if tally is not None:
        valid = f"{tally.valid} distinct approvers count"
    elif facts:
        standing = {item.approved_by for item in facts if item.state == ApprovalState.VALID}
        valid = f"{len(standing)} known to count"
    else:
        valid = "none known"
    return [*lines, f"  quorum: {valid}, {required} required"]


def _verdict(found: Explanation) -> list[str]:
    judgement, certainty = found.judgement, found.certainty
    if judgement is None or judgement.certainty is Certainty.UNKNOWN:
        lines = [f"{certainty}: it depends on {', '.join(_unknown(found))}"]
    elif judgement.decision.minor_change:
        first, *rest = minor_change_text(nameable(judgement.decision), found.namespace).splitlines()
        return [f"{certainty}: {first}", *rest]
    elif judgement.certainty is Certainty.ALLOWED or judgement.decision.reason is None:
        return [str(certainty)]
    else:
        reason = judgement.decision.reason
        lines = [f"{certainty}: {reason}: {EXPLANATIONS[reason].meaning}"]
        lines += [
            f"  {item.tool_id} {item.version}: {', '.join(item.codes)}"
            for item in judgement.decision.differences
        ]
        if found.cure is not None:
            lines.append(found.cure)
    if certainty is Certainty.ALLOWED:
        lines.append(f"only mode enforce refuses; this namespace has {found.mode.text}")
    return lines


def _detail(read: Read) -> str | None:
    """Say what matters of what was found; short digests, counts and times."""
    if read.outcome is Outcome.ABSENT:
        return "the built-in rules" if read.resource is POLICIES else None
    if read.outcome is not Outcome.FOUND:
        return None
    if read.listed:
        return str(len(read.objects))
    obj = read.objects[0]
    try:
        if read.resource is INVENTORIES:
            catalog = catalog_from_inventory(obj)
            until = catalog.observed_until
            end = "" if until is None else f", observed until {until.isoformat()}"
            if until is not None and until == NEVER_OBSERVED:
                end = ", not observed"
            return f"{len(catalog.bindings)} tools, catalog {short_digest(catalog.digest)}{end}"
        if read.resource is SNAPSHOTS:
            return f"catalog {short_digest(catalog_from_snapshot(obj).digest)}"
        if read.resource in GUARDS:
            made = created_at(obj)
            return None if made is None else f"since {made.isoformat()}"
    except (ContractError, LookupError, TypeError, ValueError):
        return str(Unknown.INVALID.reason)
    if read.resource is NAMESPACES:
        return None if MODE_LABEL in (obj["metadata"].get("labels") or {}) else "no mode"
    return None

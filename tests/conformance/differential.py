"""Put the same cases to both, and tell where they differ."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance import generators
from conformance.allowed import allowed
from conformance.client import Oracle
from contracts.families import FAMILIES
from contracts.vectors.vector_codec import decode
from toolvet.core.errors import ContractError
from toolvet.core.outcome import WorkflowOutcome

BATCH = 50
SHOWN = 400

Case = dict[str, Any]
Outcome = dict[str, Any]


def _outcome_text(case: Case) -> Outcome:
    outcome = WorkflowOutcome.from_json(decode(case["text"]))
    return {"json": outcome.to_json(), "field_order": list(outcome.to_dict())}


# Those of the vectors, and what both have beside.
_OURS = FAMILIES | {"outcome_text": _outcome_text}

Answer = Callable[[str, Case], Outcome]


def ours(family: str, case: Case) -> Outcome:
    """Return what ours makes of a case, in the oracle's shape."""
    try:
        return {"ok": True, **_OURS[family](case)}
    except ContractError as error:
        return {
            "ok": False,
            "error_type": type(error).__name__,
            "error_code": error.code,
            "error_field": error.field_name or None,
            "error_message": str(error),
        }
    except Exception as error:  # noqa: BLE001  # an escape is a finding, not the end of the run
        return {"ok": False, "escaped": type(error).__name__}


def same(theirs: Outcome, found: Outcome) -> bool:
    """Compare what the oracle gives, as text: the order of members counts, and true is not 1."""
    if "escaped" in theirs or "escaped" in found:
        return False
    return json.dumps({name: found.get(name, "<absent>") for name in theirs}) == json.dumps(theirs)


@dataclass(frozen=True)
class Difference:
    """One case in which the two differ."""

    family: str
    case: Case
    theirs: Outcome
    ours: Outcome

    def __str__(self) -> str:
        names = [name for name in self.theirs if self.ours.get(name, "<absent>") != self.theirs[name]]
        lines = [f"{self.family}: {json.dumps(self.case)[: 3 * SHOWN]}"]
        for name in names or ["ok"]:
            lines.append(f"  {name}: reference {json.dumps(self.theirs[name])[:SHOWN]}")
            lines.append(f"  {name}: ours      {json.dumps(self.ours.get(name, '<absent>'))[:SHOWN]}")
        return "\n".join(lines)


@dataclass
class Report:
    """What one family's cases gave."""

    family: str
    cases: int = 0
    valid: int = 0
    seconds: float = 0.0
    allowed: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        share = self.valid / max(1, self.cases)
        listed = sum(self.allowed.values())
        return (
            f"{self.family:14} {self.cases:6} cases  {share:4.0%} valid  {listed:4} listed differences"
            f"  {len(self.differences):4} others  {self.seconds:5.1f} s"
        )


def compare(oracle: Oracle, family: str, seed: int, count: int, answer: Answer = ours) -> Report:
    """Run the first ``count`` cases of a family's seed through both."""
    report = Report(family)
    started = time.monotonic()
    for batch in _batches(generators.cases(family, seed, count)):
        oracle.ask([(family, case) for case in batch])
        found = [answer(family, case) for case in batch]  # while the reference works on the same
        for case, theirs, mine in zip(batch, oracle.answers(), found, strict=True):
            report.cases += 1
            report.valid += theirs["ok"] and not theirs.get("exit_code")
            if same(theirs, mine):
                continue
            name = allowed(case, theirs, mine)
            if name is None:
                report.differences.append(Difference(family, case, theirs, mine))
            else:
                report.allowed[name] += 1
    report.seconds = time.monotonic() - started
    return report


def _batches(cases: list[Case]) -> Iterator[list[Case]]:
    for start in range(0, len(cases), BATCH):
        yield cases[start : start + BATCH]

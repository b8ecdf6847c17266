"""The Events of a pass (events.k8s.io/v1): what changed, and whom it leaves unapproved or approved again.

Names are digests of what the Event says and of the status it was judged from, so a pass that is repeated
before it wrote that status makes no second Event. Notes hold codes, counts, tool ids, digests and names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from toolvet.controller.change import Change
from toolvet.controller.conditions import ConditionType, stored_condition
from toolvet.controller.desired import Desired, Judged
from toolvet.controller.observed import Observed, Stored
from toolvet.core.approval import snapshot_name
from toolvet.core.binding import Catalog
from toolvet.core.decision import Decision
from toolvet.core.denial import short_digest
from toolvet.core.differences import ToolDifference, count
from toolvet.core.errors import ContractError
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload
from toolvet.kube.event import MAX_NOTE_BYTES, event

MAX_WORKLOADS = 50
"""Workloads a change that get an Event of their own; the rest is counted in one."""
_MAX_SHOWN = 3
_NOTHING_TO_REVIEW = frozenset(
    {Reason.BINDING_MISMATCH, Reason.BINDING_MISPLACED, Reason.OBSERVATION_EXPIRED}
)

CHANGED = "CatalogChanged"
DRIFTED = "CatalogDrifted"
ELIGIBLE = "CatalogEligible"


def events(state: Observed, wanted: Desired, now: datetime, instance: str) -> list[dict[str, Any]]:
    """Return the Events that a pass owes; none where neither catalog nor approval changed.

    ``instance`` names this process.
    """
    inventory = state.inventory
    if inventory is None or not _changed(state, inventory.status, wanted):
        return []
    writer = _Writer(state, inventory, wanted.approved, now, instance)
    found = [] if wanted.change is None else [writer.changed(wanted.change)]
    owed = [
        item
        for item in wanted.workloads
        if not item.decision.allowed or _is_eligible_again(state.name, inventory.status, item)
    ]
    found += [writer.workload(item) for item in owed[:MAX_WORKLOADS]]
    if len(owed) > MAX_WORKLOADS:
        found.append(writer.rest(owed[MAX_WORKLOADS:]))
    return found


def _changed(state: Observed, status: Mapping[str, Any], wanted: Desired) -> bool:
    """Tell whether the live catalog or its approval is another than the stored status says."""
    before = stored_condition(status, ConditionType.APPROVED)
    if not before or wanted.change is not None:
        return True
    now_digest = state.catalog.digest if isinstance(state.catalog, Catalog) else None
    after = next(item for item in (wanted.inventory or {})["conditions"] if item["type"] == before["type"])
    return status.get("catalogDigest") != now_digest or any(
        before.get(name) != after[name] for name in ("status", "reason")
    )


def _is_eligible_again(inventory: str, status: Mapping[str, Any], item: Judged) -> bool:
    """Tell whether the stored status says that an eligible workload was not so before.

    Its verdict then followed from that status: whether the catalog was approved, and which one a pin needed.
    """
    before, digest = stored_condition(status, ConditionType.APPROVED), status.get("catalogDigest")
    drifted = (status.get("workloads") or {}).get("drifted")
    if not item.decision.allowed or not before or not drifted:
        return False
    pin = item.workload.value.snapshot if isinstance(item.workload.value, Workload) else None
    fits = pin is None or (isinstance(digest, str) and pin == snapshot_name(inventory, digest))
    # A pin that a minor change left behind was eligible then, too, where the catalog was approved as one.
    fits = fits or (item.decision.minor_change and before.get("reason") == Reason.MINOR_CHANGE)
    return before.get("status") != "True" or not fits


class _Writer:
    def __init__(
        self, state: Observed, inventory: Stored[Catalog], approved: Decision, now: datetime, instance: str
    ) -> None:
        self._state = state
        self._inventory = inventory
        self._approved = approved
        self._now = now
        self._instance = instance

    def changed(self, change: Change) -> dict[str, Any]:
        allowed = self._approved.allowed
        lines = [
            f"generation {change.generation}, live catalog {short_digest(change.digest)}: "
            + str(self._approved.code or "approved")
        ]
        if change.differences is None:
            lines.append(f"since generation {change.previous_generation}: its tools are not known any more")
        else:
            lines.append(f"since generation {change.previous_generation}: {count(change.differences)}")
            lines += _tools(change.differences)
        kind = "Normal" if allowed else "Warning"
        return self._event(self._inventory.obj, kind, CHANGED, "Compare", lines, "")

    def workload(self, item: Judged) -> dict[str, Any]:
        regarding = item.workload.obj
        if item.decision.allowed:
            return self._event(
                regarding, "Normal", ELIGIBLE, "Judge", self._eligible_lines(item.decision), ""
            )
        decision = item.decision
        lines = [f"{decision.reason}: {self._subject()}"]
        if decision.differences:
            lines.append(f"since {decision.baseline}: {count(decision.differences)}")
            lines += _tools(decision.differences)
        return self._event(regarding, "Warning", DRIFTED, "Judge", lines, self._command(decision))

    def rest(self, items: list[Judged]) -> dict[str, Any]:
        drifted = sum(not item.decision.allowed for item in items)
        lines = [
            f"{self._subject()}: {len(items)} more workloads without an Event of their own",
            f"{drifted} drifted, {len(items) - drifted} eligible again",
        ]
        kind = "Warning" if drifted else "Normal"
        return self._event(self._inventory.obj, kind, DRIFTED if drifted else ELIGIBLE, "Judge", lines, "")

    def _subject(self) -> str:
        live = self._state.catalog
        text = f"inventory {self._state.name}"
        return f"{text}, live catalog {short_digest(live.digest)}" if isinstance(live, Catalog) else text

    def _eligible_lines(self, decision: Decision) -> list[str]:
        approvals = decision.approvals
        counts = f" ({approvals.valid} of {approvals.required})" if approvals is not None else ""
        how = "admitted as a minor change of" if decision.minor_change else "approved as"
        return [f"{self._subject()}: {how} {decision.snapshot}{counts}"]

    def _command(self, decision: Decision) -> str:
        if decision.inventory is None or decision.reason in _NOTHING_TO_REVIEW:
            return ""
        if decision.snapshot_exists and decision.reason is not Reason.SNAPSHOT_OUTDATED:
            return f"review: kubectl toolvet approve {decision.snapshot} -n {self._state.namespace}"
        return f"review: kubectl toolvet capture {decision.inventory} -n {self._state.namespace}"

    def _event(
        self, regarding: Mapping[str, Any], kind: str, reason: str, action: str, lines: list[str], last: str
    ) -> dict[str, Any]:
        return event(
            regarding,
            kind=kind,
            reason=reason,
            action=action,
            note=_note(lines, last),
            cause=self._cause(),
            component="controller",
            instance=self._instance,
            now=self._now,
        )

    def _cause(self) -> Iterator[object]:
        """Yield what sets this occasion apart from any other that reads the same."""
        inventory = self._inventory
        yield inventory.uid
        yield inventory.generation
        yield inventory.status.get("catalogDigest")
        # The approval may come and go and come again within one generation.
        before = stored_condition(inventory.status, ConditionType.APPROVED)
        yield [before.get(name) for name in ("status", "reason", "lastTransitionTime")]
        yield sorted(_approval_state(item) for item in self._state.approvals)


def _approval_state(item: Stored[Any]) -> list[object]:
    revoked = None if isinstance(item.value, ContractError) else item.value.revoked
    return [item.uid, str(revoked)]


def _tools(found: tuple[ToolDifference, ...]) -> list[str]:
    lines = [f"  {item.tool_id} {item.version}: {', '.join(item.codes)}" for item in found[:_MAX_SHOWN]]
    rest = len(found) - _MAX_SHOWN
    return [*lines, f"  and {rest} more"] if rest > 0 else lines


def _note(lines: list[str], last: str) -> str:
    """Join the lines within the API's bound; what does not fit goes from the end, the command never."""
    kept = list(lines)
    tail = [last] if last else []
    while len("\n".join([*kept, *tail]).encode()) > MAX_NOTE_BYTES and len(kept) > 1:
        kept.pop()
    return "\n".join([*kept, *tail]).encode()[:MAX_NOTE_BYTES].decode("utf-8", "ignore")

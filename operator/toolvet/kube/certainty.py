"""A decision on incomplete knowledge: allowed and denied only where nothing unknown could change that.

``decide`` denies on what is not known, so that an admission is always certain. A denial is certain where
the same decision denies, too, in every world that fills the gaps so as to admit most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolvet.core.decision import Decision, Unknown, Verdict
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload
from toolvet.kube.client import ApiError
from toolvet.kube.declared import Declared
from toolvet.kube.favourable import Favourable
from toolvet.kube.kinds import GovernedKind, workload
from toolvet.kube.overlay import Overlay, title
from toolvet.kube.reads import Caller, Plan, Reader, State, judge


class Certainty(StrEnum):
    """What can be said of a change."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A decision, whether it is certain, and what was read for it."""

    certainty: Certainty
    decision: Decision
    """The cautious one; where a denial is certain for another reason than a gap, the one with that reason."""
    state: State
    missing: tuple[str, ...] = ()
    """What could not be known, in the order of asking."""


class _KeepingPlan(Plan):
    """A plan whose state can be looked at after the decision."""

    def __init__(self, api: Reader, namespace: str) -> None:
        super().__init__(api, namespace)
        self.state = State()

    async def read(self, old: Workload | None, new: Workload, caller: Caller) -> State:
        """Read, and keep, what ``decide`` needs."""
        self.state = await super().read(old, new, caller)
        return self.state


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges workloads against what is declared over what is stored, at one time."""

    declared: Declared
    stored: Reader
    now: datetime

    async def creation(
        self, namespace: str, new: Workload, *, kind: GovernedKind, name: str | None
    ) -> Judgement:
        """Judge the creation of a workload, and that no stored one of its name loses its binding by it.

        ``name`` is None where the API server will make one up, so that nothing of that name is stored.
        """
        found = await self.rollout(namespace, new)
        if found.certainty is not Certainty.ALLOWED or found.decision.inventory is not None or name is None:
            return found
        # Not governed: the one case in which what is stored now has a part in the verdict.
        try:
            obj = await self.stored.get(kind.resource, namespace, name)
            old = None if obj is None else _parsed(kind, obj)
        except ApiError:
            old = Unknown.UNAVAILABLE
        if isinstance(old, Unknown):
            refused = replace(found.decision, verdict=Verdict.DENIED, reason=old.reason)
            return Judgement(Certainty.UNKNOWN, refused, found.state, (title(kind.resource, name),))
        return found if old is None else await self._certain(namespace, old, new)

    async def rollout(self, namespace: str, new: Workload) -> Judgement:
        """Judge a workload as if it were created now."""
        return await self._certain(namespace, None, new)

    async def _certain(self, namespace: str, old: Workload | None, new: Workload) -> Judgement:
        overlay = Overlay(self.declared, self.stored)
        cautious, state = await self._decided(overlay, namespace, old, new)
        missing = tuple(overlay.missing)
        if _is_expired_for_want_of_a_read(cautious, namespace, overlay):
            cautious = replace(cautious, reason=Unknown.UNAVAILABLE.reason)
        if cautious.allowed:
            return Judgement(Certainty.ALLOWED, cautious, state)
        if not missing:
            return Judgement(Certainty.DENIED, cautious, state)
        certain: list[tuple[Decision, State]] = []
        for absent in _worlds(old, new):
            best = Favourable(overlay, new, absent, self.now)
            decision, found = await self._decided(best, namespace, old, new)
            if decision.allowed or best.admits:
                return Judgement(Certainty.UNKNOWN, cautious, state, missing)
            if decision.baseline in best.invented:
                decision = replace(decision, baseline=None, differences=())
            certain.append((decision, found))
        if cautious.reason is not Unknown.UNAVAILABLE.reason:
            return Judgement(Certainty.DENIED, cautious, state)
        return Judgement(Certainty.DENIED, *certain[0])

    async def _decided(
        self, reader: Reader, namespace: str, old: Workload | None, new: Workload
    ) -> tuple[Decision, State]:
        plan = _KeepingPlan(reader, namespace)
        decision = await judge(plan, namespace, old, new, {}, self.now)
        return decision, plan.state


def _is_expired_for_want_of_a_read(decision: Decision, namespace: str, overlay: Overlay) -> bool:
    return (
        decision.reason is Reason.OBSERVATION_EXPIRED
        and (namespace, decision.inventory) in overlay.unobserved
    )


def _worlds(old: Workload | None, new: Workload) -> tuple[frozenset[str], ...]:
    """Return which inventories to take for absent where that is not known: one of these admits most.

    Absent, the service account's own leaves the workload to its annotation, or ungoverned; present, it may
    be approved. Any other that the new workload names is needed; the old one's only keeps it governed.
    """
    absent = {new.service_account}
    if old is not None and old.service_account != new.inventory:
        absent.add(old.service_account)
    return frozenset(absent), frozenset()


def _parsed(kind: GovernedKind, obj: Mapping[str, Any]) -> Workload | Unknown:
    try:
        return workload(kind, obj)
    except (LookupError, TypeError, ValueError):
        return Unknown.INVALID

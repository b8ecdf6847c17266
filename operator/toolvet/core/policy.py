"""What an owner of the cluster demands (DESIGN 3, CatalogPolicy): of approvals, and of agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from toolvet.core.workload import Workload


@dataclass(frozen=True, slots=True)
class AgentSelector:
    """Which workloads must be bound to an inventory; each part that is set selects by itself."""

    everything: bool = False
    service_accounts: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the pod template, all of them; empty selects nothing."""

    def selects(self, workload: Workload) -> bool:
        """Tell whether a workload that nothing governs is an agent all the same."""
        if self.everything or workload.service_account in self.service_accounts:
            return True
        return bool(self.labels) and self.labels.items() <= dict(workload.labels).items()


class ReviewOn(StrEnum):
    """Which changes of a live catalog need an approval of their own (DESIGN 6, "Exact or material")."""

    ANY_CHANGE = "AnyChange"
    MATERIAL_CHANGE = "MaterialChange"
    """Those that the collector calls minor are admitted under the approval of what they are minor to."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force for one namespace."""

    required_approvals: int = 1
    max_approval_age: timedelta | None = None
    """Counted from the creation of the approval."""
    delivery_subjects: frozenset[str] = frozenset()
    """Users that carry what others decided (GitOps, CI, backup): their own approvals never count."""
    agents: AgentSelector = AgentSelector()
    review_on: ReviewOn = ReviewOn.ANY_CHANGE


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The one CatalogPolicy: rules for every namespace, and for some of them their own."""

    default: Policy = Policy()
    overrides: Mapping[str, Policy] = field(default_factory=dict)
    """By namespace; whole, what an override leaves out is already filled in."""

    def for_namespace(self, namespace: str) -> Policy:
        """Return the rules of a namespace."""
        return self.overrides.get(namespace, self.default)


BUILT_IN = PolicySet()
"""In force where no CatalogPolicy exists."""

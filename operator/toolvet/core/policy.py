"""What an owner of the cluster demands of approvals (DESIGN 3, CatalogPolicy)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force for one namespace."""

    required_approvals: int = 1


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The one CatalogPolicy: rules for every namespace, and for some of them their own."""

    default: Policy = Policy()
    overrides: Mapping[str, Policy] = field(default_factory=dict)
    """By namespace."""

    def for_namespace(self, namespace: str) -> Policy:
        """Return the rules of a namespace."""
        return self.overrides.get(namespace, self.default)


BUILT_IN = PolicySet()
"""In force where no CatalogPolicy exists."""

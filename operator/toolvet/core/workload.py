"""What the decision knows of a workload, and when a change of one is governed (DESIGN 2, 4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload reduced to what binds it to a catalog and what may change its pods.

    ``template`` is opaque here: two workloads run the same pods exactly when it is equal.
    """

    kind: str
    name: str
    service_account: str
    """The effective one: ``default`` where the template names none."""
    inventory: str | None
    """The annotation toolvet.dev/inventory of the pod template."""
    snapshot: str | None
    """The annotation toolvet.dev/snapshot of the pod template: a pin."""
    misplaced: tuple[str, ...]
    """Binding annotations found on the workload's own metadata, where they bind nothing."""
    template: object
    replicas: int = 1
    paused: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    """Of the pod template."""


def is_governed_change(old: Workload | None, new: Workload) -> bool:
    """Tell whether a change can bring other pods into being than those already judged.

    Creation, another pod template, waking from zero replicas, un-pausing. The same predicate, written in
    CEL, keeps every other write from reaching the gate at all.
    """
    if old is None:
        return True
    return (
        old.template != new.template
        or (old.replicas == 0 and new.replicas > 0)
        or (old.paused and not new.paused)
    )

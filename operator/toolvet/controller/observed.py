"""Everything one pass over an inventory was read: objects beside what the core makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from toolvet.core.approval import Approval, ReviewedSnapshot, Tally, snapshot_name, tally
from toolvet.core.binding import Catalog, LiveCatalog
from toolvet.core.decision import Decision, Unknown, decide, snapshot_to_read
from toolvet.core.decision import Governing as _Governing
from toolvet.core.errors import ContractError
from toolvet.core.policy import BUILT_IN, Policy, PolicySet
from toolvet.core.workload import Workload
from toolvet.kube.reads import MAX_APPROVALS

Object = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """An object and its core record, or the fault that keeps it from being one."""

    obj: Object
    value: T | ContractError

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        """The object's uid."""
        return str(self.obj["metadata"].get("uid", ""))

    @property
    def generation(self) -> int:
        """The generation of its spec."""
        return int(self.obj["metadata"].get("generation", 0))

    @property
    def status(self) -> dict[str, Any]:
        """Its stored status."""
        found = self.obj.get("status")
        return dict(found) if isinstance(found, Mapping) else {}


def stored(obj: Object, parse: Callable[[Object], T]) -> Stored[T]:
    """Read an object; whatever is wrong with it becomes a fault with a place and a code."""
    try:
        return Stored(obj, parse(obj))
    except ContractError as error:
        return Stored(obj, error)
    except (AttributeError, LookupError, TypeError, ValueError):
        return Stored(obj, ContractError("spec", "unreadable"))


def known(found: Stored[T] | None) -> T | None | Unknown:
    """Return what ``decide`` is told about an object."""
    if found is None:
        return None
    return Unknown.INVALID if isinstance(found.value, ContractError) else found.value


@dataclass(frozen=True, slots=True)
class Previous:
    """The newest generation of an inventory that was observed before the present one."""

    generation: int
    catalog: Catalog


@dataclass(frozen=True)
class Observed:
    """The state of one inventory's name at one moment, whether or not the inventory exists."""

    namespace: str
    name: str
    inventory: Stored[Catalog] | None = None
    snapshots: Sequence[Stored[ReviewedSnapshot]] = ()
    """Those that say they were taken of it."""
    approvals: Sequence[Stored[Approval]] = ()
    """Those of its snapshots."""
    policies: PolicySet | Unknown = BUILT_IN
    workloads: Sequence[Stored[Workload]] = ()
    """Those it governs: none in a namespace without a mode."""
    pinned: Mapping[str, ReviewedSnapshot | None | Unknown] = field(default_factory=dict)
    """Snapshots that a workload pins and that are not among ``snapshots``."""
    previous: Previous | None = None
    """Read only where the inventory's generation is a new one."""

    @property
    def catalog(self) -> Catalog | None | Unknown:
        """The live catalog."""
        return known(self.inventory)

    @property
    def policy(self) -> Policy | Unknown:
        """The rules in force here."""
        if isinstance(self.policies, Unknown):
            return self.policies
        return self.policies.for_namespace(self.namespace)

    def approvals_of(self, snapshot: str) -> Sequence[Approval] | Unknown:
        """Return a snapshot's approvals as the gate would read them, bound included."""
        named = [
            item for item in self.approvals if (item.obj.get("spec") or {}).get("snapshotName") == snapshot
        ]
        values = [item.value for item in named if not isinstance(item.value, ContractError)]
        if len(named) > MAX_APPROVALS:
            return Unknown.UNAVAILABLE
        return values if len(values) == len(named) else Unknown.INVALID

    def tally(self, snapshot: ReviewedSnapshot, now: datetime) -> Tally | Unknown:
        """Count a snapshot's approvals."""
        approvals, policy = self.approvals_of(snapshot.name), self.policy
        if isinstance(approvals, Unknown):
            return approvals
        return policy if isinstance(policy, Unknown) else tally(approvals, snapshot, policy, now)

    def judge(
        self,
        subject: Workload,
        now: datetime,
        *,
        live: Catalog | None | Unknown,
        baseline: str | None = None,
    ) -> Decision:
        """Decide a workload of this inventory as if it were created now, with ``live`` as the catalog."""
        inventories: dict[str, Catalog | None | Unknown] = {subject.service_account: None, self.name: live}
        snapshots: dict[str, ReviewedSnapshot | None | Unknown] = dict(self.pinned)
        for item in self.snapshots:
            found: ReviewedSnapshot | None | Unknown = known(
                item
            )  # a name for mypy: it infers T from the target
            snapshots[item.name] = found
        wanted = None
        if isinstance(live, Catalog):
            wanted = snapshot_to_read(subject, _Governing(self.name, live))
        listed = [live.digest, *live.minor_change_of] if isinstance(live, LiveCatalog) else []
        others = [snapshot_name(self.name, digest) for digest in listed]
        for name in others if wanted is None else (wanted, *others):
            snapshots.setdefault(name, None)
        return decide(
            self.policies,
            inventories,
            snapshots,
            self.approvals_of(wanted or ""),
            None,
            subject,
            now,
            namespace=self.namespace,
            baseline=baseline,
            other_approvals={name: self.approvals_of(name) for name in others},
        )

    def agent(self, snapshot: str | None = None) -> Workload:
        """Return the plainest workload that this inventory governs, pinned or not."""
        return Workload("", "", self.name, None, snapshot, (), None)


def governs(name: str, subject: Workload, others: Mapping[str, object]) -> bool:
    """Tell whether the inventory ``name`` governs a workload (DESIGN 4, rules 1 and 2).

    ``others`` holds, by name, the inventories of the service accounts of annotated workloads; None = absent.
    """
    if subject.service_account == name:
        return True
    return subject.inventory == name and others.get(subject.service_account) is None

"""``toolvet explain``: every read and rule of the gate's decision about a workload, from live state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolvet.cli.recording import Read, Recording
from toolvet.cli.session import Session
from toolvet.core.approval import ApprovalState, ReviewedSnapshot, approval_state
from toolvet.core.binding import Catalog
from toolvet.core.decision import Governing, Unknown, governing, snapshot_to_read
from toolvet.core.denial import denial_text
from toolvet.core.errors import ContractError
from toolvet.core.policy import Policy
from toolvet.core.workload import Workload
from toolvet.kube.certainty import Certainty, Judge, Judgement
from toolvet.kube.client import ApiError
from toolvet.kube.declared import Declared
from toolvet.kube.kinds import KINDS, GovernedKind, workload
from toolvet.kube.modes import ModeOfNamespace, mode_of
from toolvet.kube.names import APPROVALS, is_object_name
from toolvet.kube.resources import approval_from_object
from toolvet.kube.review import nameable
from toolvet.kube.stored import Stored

_SHORT_NAMES = {"deploy": "deployments", "sts": "statefulsets", "ds": "daemonsets", "rs": "replicasets"} | {
    "po": "pods",
    "rc": "replicationcontrollers",
    "cj": "cronjobs",
}
ORIGIN_UNKNOWN = "unknown_origin"
"""Of an approval that counts if the API server checked its approver, which could not be read."""

RULES = {
    0: "a binding annotation stands on the workload itself, where it binds nothing",
    1: "an inventory of the service account's name exists and governs",
    2: "no inventory of the service account's name exists; the annotated one governs",
    3: "no inventory governs, and the policy says that this workload is an agent",
    4: "no inventory governs, and the policy does not ask for one",
}
"""Of DESIGN 4, by number; 0 goes before all of them."""


@dataclass(frozen=True, slots=True)
class ApprovalFact:
    """One approval and what it is worth."""

    name: str
    approved_by: str
    state: str

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"name": self.name, "approvedBy": self.approved_by, "state": self.state}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement of a workload and all that led to it."""

    namespace: str
    kind: GovernedKind
    name: str
    mode: ModeOfNamespace
    reads: tuple[Read, ...]
    workload: Workload | None = None
    """None where it could not be read; then nothing else is known."""
    judgement: Judgement | None = None

    @property
    def certainty(self) -> Certainty:
        """What becomes of a rollout in the mode of the namespace."""
        if self.judgement is None:
            return self.mode.outcome(Certainty.UNKNOWN)
        return self.mode.outcome(self.judgement.certainty)

    @property
    def rule(self) -> int | None:
        """The rule that governed; None where what it depends on is not known."""
        if self.workload is None or self.judgement is None:
            return None
        if self.workload.misplaced:
            return 0
        own = self.judgement.state.live.get(self.workload.service_account, Unknown.UNAVAILABLE)
        if isinstance(own, Unknown):
            return None
        if own is not None:
            return 1
        if self.workload.inventory is not None:
            return 2
        policy = self.policy
        if policy is None:
            return None
        return 3 if policy.agents.selects(self.workload) else 4

    @property
    def policy(self) -> Policy | None:
        """The rules in force in the namespace; None where they are not known."""
        policies = Unknown.UNAVAILABLE if self.judgement is None else self.judgement.state.policies
        return None if isinstance(policies, Unknown) else policies.for_namespace(self.namespace)

    @property
    def governed_by(self) -> tuple[str, Catalog] | None:
        """The governing inventory and its live catalog."""
        if self.workload is None or self.judgement is None or self.workload.misplaced:
            return None
        found = governing(self.workload, self.judgement.state.live)
        if not isinstance(found, Governing) or found.name is None or found.catalog is None:
            return None
        return found.name, found.catalog

    @property
    def snapshot(self) -> tuple[str, ReviewedSnapshot | None | Unknown] | None:
        """The snapshot that covers, or has to cover, the live catalog, as far as it is known."""
        governed_by = self.governed_by
        if self.workload is None or self.judgement is None or governed_by is None:
            return None
        wanted = snapshot_to_read(self.workload, Governing(*governed_by))
        if self.judgement.decision.minor_change:
            wanted = self.judgement.decision.snapshot
        if wanted is None or not is_object_name(wanted):
            return None
        return wanted, self.judgement.state.snapshots.get(wanted, Unknown.UNAVAILABLE)

    def approvals(self, now: datetime) -> list[ApprovalFact]:
        """Judge each approval of the snapshot by itself."""
        found = self.snapshot
        if found is None or self.judgement is None or not isinstance(found[1], ReviewedSnapshot):
            return []
        state = self.judgement.state
        known = state.other_approvals.get(found[0], state.approvals)
        policy = self.policy or Policy()
        if not isinstance(known, Unknown):
            states = [(item, approval_state(item, found[1], policy, now)) for item in known]
            return [ApprovalFact(item.name, item.approved_by, str(state)) for item, state in states]
        items = [obj for read in self.reads if read.resource is APPROVALS for obj in read.objects]
        return [_unvouched(obj, found[1], policy, now) for obj in items]

    @property
    def cure(self) -> str | None:
        """The command or the sentence that helps; None where nothing is wrong or known."""
        if self.judgement is None or self.judgement.certainty is not Certainty.DENIED:
            return None
        # A denial ends with what to do about it.
        return denial_text(nameable(self.judgement.decision), self.namespace).splitlines()[-1]


def _unvouched(
    obj: dict[str, Any], snapshot: ReviewedSnapshot, policy: Policy, now: datetime
) -> ApprovalFact:
    """Judge an approval as if its origin were checked, where it could not be read whether it was."""
    name = str(obj["metadata"]["name"])
    try:
        given = approval_from_object(obj, datetime.min.replace(tzinfo=now.tzinfo))
    except (ContractError, LookupError, TypeError, ValueError):
        return ApprovalFact(name, "", str(Unknown.INVALID.reason))
    state = approval_state(given, snapshot, policy, now)
    return ApprovalFact(
        name, given.approved_by, ORIGIN_UNKNOWN if state is ApprovalState.VALID else str(state)
    )


def parse_reference(text: str) -> tuple[GovernedKind, str]:
    """Read ``kind/name`` as kubectl takes and prints it; ContractError("workload", ...)."""
    given, _, name = text.partition("/")
    kind_name, _, group = given.lower().partition(".")
    plural = _SHORT_NAMES.get(kind_name, kind_name)
    found = [kind for kind in KINDS if plural in {kind.resource.plural, kind.resource.kind.lower()}]
    if not found or (group and group != found[0].resource.group):
        raise ContractError("workload", "unknown_kind")
    if not is_object_name(name):
        raise ContractError("workload", "invalid_name")
    return found[0], name


async def explain(session: Session, reference: str, now: datetime) -> Explanation:
    """Explain what would become of a rollout of a workload now; what may not be read is unknown.

    Raises ContractError where the workload does not exist or is none.
    """
    kind, name = parse_reference(reference)
    namespace = session.namespace
    reader = Recording(Stored(session.api))
    mode = await mode_of(None, reader, namespace)
    try:
        obj = await reader.get(kind.resource, namespace, name)
    except ApiError:
        return Explanation(namespace, kind, name, mode, tuple(reader.reads))
    if obj is None:
        raise ContractError("workload", "not_found")
    subject: Workload | None
    try:
        subject = workload(kind, obj)
    except (LookupError, TypeError, ValueError):
        subject = None
    if subject is None:
        raise ContractError("workload", "invalid_workload")
    judgement = await Judge(Declared(), reader, now).rollout(namespace, subject)
    return Explanation(namespace, kind, name, mode, tuple(reader.reads), subject, judgement)

"""The closed set of reason codes, each with its meaning and remedy (CONTRACTS 9.2, DESIGN 5).

Codes of the contract keep their names; ours follow the same snake case, so that every one is also a legal
reason of a Kubernetes condition. The table in the docs is made from this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a catalog needs review, or why a change was refused."""

    TOOL_ADDED = "tool_added"
    TOOL_UNAVAILABLE = "tool_unavailable"
    SCHEMA_CHANGED = "schema_changed"
    SIDE_EFFECT_CHANGED = "side_effect_changed"
    CAPABILITY_CHANGED = "capability_changed"
    IMPLEMENTATION_CHANGED = "implementation_changed"
    INVENTORY_MISSING = "inventory_missing"
    NOT_APPROVED = "not_approved"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_REVOKED = "approval_revoked"
    UNVERIFIED_ORIGIN = "unverified_origin"
    SNAPSHOT_MISSING = "snapshot_missing"
    SNAPSHOT_OUTDATED = "snapshot_outdated"
    BINDING_MISMATCH = "binding_mismatch"
    BINDING_MISSING = "binding_missing"
    BINDING_MISPLACED = "binding_misplaced"
    BINDING_REMOVED = "binding_removed"
    PENDING_REFERENCE = "pending_reference"
    MINOR_CHANGE = "minor_change"
    OBSERVATION_EXPIRED = "observation_expired"
    STATE_UNAVAILABLE = "state_unavailable"
    STATE_INVALID = "state_invalid"
    INVALID_REQUEST = "invalid_request"
    REQUEST_TOO_LARGE = "request_too_large"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code means and what to do about it; shown to people, free of any value."""

    meaning: str
    remedy: str


EXPLANATIONS: dict[Reason, Explanation] = {
    Reason.TOOL_ADDED: Explanation(
        "the live catalog has a tool that the reviewed one does not have",
        "capture and review the live catalog",
    ),
    Reason.TOOL_UNAVAILABLE: Explanation(
        "a reviewed tool, in that exact version, is no longer in the live catalog",
        "capture and review the live catalog, or bring the tool back",
    ),
    Reason.SCHEMA_CHANGED: Explanation(
        "the input or output schema of a reviewed tool changed",
        "capture and review the live catalog",
    ),
    Reason.SIDE_EFFECT_CHANGED: Explanation(
        "the side-effect class of a reviewed tool changed",
        "capture and review the live catalog",
    ),
    Reason.CAPABILITY_CHANGED: Explanation(
        "the capability class of a reviewed tool changed",
        "capture and review the live catalog",
    ),
    Reason.IMPLEMENTATION_CHANGED: Explanation(
        "what runs behind a reviewed tool, or how it describes itself, changed",
        "capture and review the live catalog",
    ),
    Reason.INVENTORY_MISSING: Explanation(
        "the pod template names an inventory that does not exist in this namespace",
        "apply the ToolInventory, or correct the annotation toolvet.dev/inventory on the pod template",
    ),
    Reason.NOT_APPROVED: Explanation(
        "no snapshot of the live catalog has enough valid approvals",
        "capture the live catalog, read the difference, approve the snapshot",
    ),
    Reason.APPROVAL_EXPIRED: Explanation(
        "the approvals of the live catalog would have sufficed, but have expired",
        "approve the snapshot again",
    ),
    Reason.APPROVAL_REVOKED: Explanation(
        "an approval of the live catalog was revoked",
        "ask another reviewer; a revocation is final for its approver and this snapshot",
    ),
    Reason.UNVERIFIED_ORIGIN: Explanation(
        "the approvals are older than the admission policy that checks who approves: nobody vouches for them",
        "delete them and approve the snapshot again",
    ),
    Reason.SNAPSHOT_MISSING: Explanation(
        "the pod template pins a snapshot that does not exist in this namespace",
        "capture it, or correct the annotation toolvet.dev/snapshot on the pod template",
    ),
    Reason.SNAPSHOT_OUTDATED: Explanation(
        "the pinned snapshot no longer equals the live catalog",
        "capture and approve the live catalog, then pin that snapshot or remove the pin",
    ),
    Reason.BINDING_MISMATCH: Explanation(
        "the pod template names another inventory than the one that governs its service account, "
        "or pins a snapshot of another inventory",
        "remove the annotation: the inventory of the service account's name governs",
    ),
    Reason.BINDING_MISSING: Explanation(
        "the policy says that this workload is an agent, and no inventory governs it",
        "publish a ToolInventory named like its service account, or name one in the annotation "
        "toolvet.dev/inventory of the pod template",
    ),
    Reason.BINDING_MISPLACED: Explanation(
        "a toolvet.dev/inventory or toolvet.dev/snapshot annotation stands on the workload itself",
        "move the annotation to the pod template (spec.template.metadata.annotations)",
    ),
    Reason.BINDING_REMOVED: Explanation(
        "the change takes a governed workload out of the reach of its inventory",
        "keep the binding, or have someone with the verb exempt on catalogpolicies.toolvet.dev do it",
    ),
    Reason.PENDING_REFERENCE: Explanation(
        "a dry run pins a snapshot that is absent, not live or not approved yet; applied for real it "
        "would be refused now",
        "apply the snapshot and its approval first; the order within one commit does not matter",
    ),
    Reason.MINOR_CHANGE: Explanation(
        "admitted with a warning: the live catalog differs from the approved snapshot by changes that the "
        "collector calls minor, and the policy asks for review of material changes only",
        "nothing has to be done; capture and approve the live catalog to review these changes, too",
    ),
    Reason.OBSERVATION_EXPIRED: Explanation(
        "the live server was not observed within the maximum age of an observation: what it serves now is "
        "not known",
        "look at the conditions of the MCPSource that the inventory's annotation toolvet.dev/source names, "
        "and at the collector; the next complete listing ends it",
    ),
    Reason.STATE_UNAVAILABLE: Explanation(
        "the current state could not be read from the API server in time; nothing is assumed",
        "try again; if it persists, look at the gate's logs and its API server connection",
    ),
    Reason.STATE_INVALID: Explanation(
        "a stored inventory, snapshot, approval or policy cannot be understood",
        "apply it again from its source; the CRDs of this release refuse what cannot be understood",
    ),
    Reason.INVALID_REQUEST: Explanation(
        "the admission review could not be understood",
        "report it: the API server and the webhook configuration disagree with this release",
    ),
    Reason.REQUEST_TOO_LARGE: Explanation(
        "the admission review is larger than 8 MiB",
        "make the object smaller",
    ),
    Reason.INTERNAL_ERROR: Explanation(
        "the gate failed while deciding; an error is never an admission",
        "report it with the gate's log",
    ),
}

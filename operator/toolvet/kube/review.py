"""Admission reviews to decisions and back; no HTTP here (admission.k8s.io/v1).

Whatever cannot be understood is a denial with a code. In the modes warn and audit a denial is reported and
the change allowed; both paths come from the same verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from toolvet.core.decision import Decision, Verdict
from toolvet.core.denial import denial_text, minor_change_text, refusal_text
from toolvet.core.reasons import Reason
from toolvet.core.workload import Workload
from toolvet.kube.client import ApiError
from toolvet.kube.kinds import BY_RESOURCE, SCALE, GovernedKind, workload
from toolvet.kube.names import Mode, is_object_name
from toolvet.kube.reads import Plan, Reader, judge

REVIEW_API_VERSION = "admission.k8s.io/v1"
_HTTP_FORBIDDEN = 403
_MAX_WARNING = 256  # longer ones are cut by the API server's clients (KEP-1693)
_OPERATIONS = frozenset({"CREATE", "UPDATE"})


class _Edge(BaseModel):
    # The API may add members; those we read must have the type the API promises.
    model_config = ConfigDict(
        extra="ignore", strict=True, frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


class GroupResource(_Edge):
    """``request.resource``: what the rules matched."""

    group: str
    resource: str


class AdmissionRequest(_Edge):
    """The part of an AdmissionRequest that a decision is made of."""

    uid: str
    resource: GroupResource
    operation: str
    namespace: str
    name: str = ""
    sub_resource: str = ""
    user_info: dict[str, Any]
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool | None = None


class NotUnderstoodError(Exception):
    """A review that breaks the API's promise; ``uid`` is empty where even that is unreadable."""

    def __init__(self, uid: str) -> None:
        super().__init__("not an admission review")
        self.uid = uid


def parse_request(review: object) -> AdmissionRequest:
    """Read the request of a review; NotUnderstoodError where it is none."""
    request = review.get("request") if isinstance(review, Mapping) else None
    uid = request.get("uid") if isinstance(request, Mapping) else None
    header = (review.get("apiVersion"), review.get("kind")) if isinstance(review, Mapping) else None
    if header == (REVIEW_API_VERSION, "AdmissionReview"):
        try:
            return AdmissionRequest.model_validate(request)
        except ValidationError:
            pass
    raise NotUnderstoodError(uid if isinstance(uid, str) else "")


async def decide_request(api: Reader, request: AdmissionRequest, now: datetime) -> tuple[Decision, int]:
    """Decide one request; also returns how many reads that took."""
    kind = BY_RESOURCE.get((request.resource.group, request.resource.resource))
    plan = Plan(api, request.namespace)
    if kind is None or request.operation not in _OPERATIONS or not is_object_name(request.namespace):
        return _refused(Reason.INVALID_REQUEST), 0
    if request.sub_resource and request.sub_resource not in kind.subresources:
        return _refused(Reason.INVALID_REQUEST), 0
    old: Workload | None
    try:
        if request.sub_resource == SCALE:
            plan.reads += 1
            old, new = await _scaled(api, kind, request)
        else:
            old, new = _changed(kind, request)
    except ApiError:
        return _refused(Reason.STATE_UNAVAILABLE), plan.reads
    except (LookupError, TypeError, ValueError):
        return _refused(Reason.INVALID_REQUEST), plan.reads
    decision = await judge(plan, request.namespace, old, new, request.user_info, now)
    return nameable(decision), plan.reads


def nameable(decision: Decision) -> Decision:
    """Leave out what cannot be the name of an object: an annotation's free text, never repeated."""
    return replace(
        decision,
        inventory=decision.inventory if is_object_name(decision.inventory) else None,
        snapshot=decision.snapshot if is_object_name(decision.snapshot) else None,
    )


def subject(request: AdmissionRequest) -> dict[str, Any]:
    """Return what a log line says of a request: what is a name or a known term, and nothing else of it."""
    kind = BY_RESOURCE.get((request.resource.group, request.resource.resource))
    return {
        "namespace": request.namespace if is_object_name(request.namespace) else None,
        "kind": kind and kind.resource.plural,
        "name": request.name if is_object_name(request.name) else None,
        "operation": request.operation if request.operation in _OPERATIONS else None,
        "dry_run": bool(request.dry_run),
    }


def _refused(reason: Reason) -> Decision:
    return Decision(Verdict.DENIED, reason)


def _changed(kind: GovernedKind, request: AdmissionRequest) -> tuple[Workload | None, Workload]:
    if request.object is None or (request.operation == "UPDATE") != (request.old_object is not None):
        raise ValueError("objects do not fit the operation")
    new = workload(kind, request.object)
    return None if request.old_object is None else workload(kind, request.old_object), new


async def _scaled(api: Reader, kind: GovernedKind, request: AdmissionRequest) -> tuple[Workload, Workload]:
    """Read the parent first, since a Scale holds no template (DESIGN 2, "Read plan")."""
    if not is_object_name(request.name) or request.object is None or request.old_object is None:
        raise ValueError("no scale")
    parent = await api.get(kind.resource, request.namespace, request.name)
    if parent is None:
        raise ApiError(404, "NotFound")
    known = workload(kind, parent)
    before, after = (_replicas(scale) for scale in (request.old_object, request.object))
    return replace(known, replicas=before), replace(known, replicas=after)


def _replicas(scale: Mapping[str, Any]) -> int:
    # An absent count is zero here: the field is omitted when empty (autoscaling/v1 ScaleSpec).
    spec = scale.get("spec") or {}
    count = spec.get("replicas", 0) if isinstance(spec, Mapping) else None
    if type(count) is not int:
        raise ValueError("no replica count")
    return count


def respond(request: AdmissionRequest, decision: Decision, mode: Mode) -> dict[str, Any]:
    """Write the answer to a request in the mode of its namespace."""
    annotations = _audit_annotations(decision)
    if decision.allowed:
        warned = decision.minor_change and mode is not Mode.AUDIT
        warnings = _warnings(minor_change_text(decision, request.namespace)) if warned else []
        return _review(request.uid, allowed=True, annotations=annotations, warnings=warnings)
    text = denial_text(decision, request.namespace)
    if mode is Mode.AUDIT:
        return _review(request.uid, allowed=True, annotations=annotations)
    if mode is Mode.WARN:
        return _review(request.uid, allowed=True, annotations=annotations, warnings=_warnings(text))
    if decision.pending and request.dry_run:
        # GitOps tools dry-run a whole commit before they apply any of it.
        pending = refusal_text(Reason.PENDING_REFERENCE)
        annotations["reason"] = Reason.PENDING_REFERENCE
        return _review(request.uid, allowed=True, annotations=annotations, warnings=_warnings(pending))
    return _review(request.uid, allowed=False, annotations=annotations, message=text)


def refuse(uid: str, reason: Reason, mode: Mode) -> dict[str, Any]:
    """Answer a review that no decision could be made about."""
    text = refusal_text(reason)
    annotations = {"verdict": str(Verdict.DENIED), "reason": str(reason)}
    if mode is Mode.ENFORCE:
        return _review(uid, allowed=False, annotations=annotations, message=text)
    warnings = _warnings(text) if mode is Mode.WARN else []
    return _review(uid, allowed=True, annotations=annotations, warnings=warnings)


def _warnings(text: str) -> list[str]:
    return [f"toolvet: {line.strip()}"[:_MAX_WARNING] for line in text.splitlines()]


def _audit_annotations(decision: Decision) -> dict[str, str]:
    tally = decision.approvals
    found = {
        "verdict": str(decision.verdict),
        "reason": decision.code and str(decision.code),
        "inventory": decision.inventory,
        "catalog-digest": decision.live_digest,
        "snapshot": decision.snapshot,
        "approvals": ",".join(tally.counted) if tally is not None and tally.counted else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _review(
    uid: str,
    *,
    allowed: bool,
    annotations: dict[str, str],
    message: str | None = None,
    warnings: list[str] | None = None,
) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": uid, "allowed": allowed, "auditAnnotations": annotations}
    if message is not None:
        response["status"] = {"code": _HTTP_FORBIDDEN, "reason": "Forbidden", "message": message}
    if warnings:
        response["warnings"] = warnings
    return {"apiVersion": REVIEW_API_VERSION, "kind": "AdmissionReview", "response": response}

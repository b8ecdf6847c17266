"""Custom resources to core records and back (DESIGN 3).

Shapes are checked by pydantic (exact types, no unknown member), grammar by the core's own constructors.
Every fault is a ContractError that names a place and a code; a value is never part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from toolvet.core.approval import Approval, ReviewedSnapshot
from toolvet.core.binding import Catalog, RunToolCatalogSnapshot, ToolBinding
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import ToolInventoryRecord, parse_side_effect_class
from toolvet.core.policy import AgentSelector, Policy, PolicySet
from toolvet.kube.names import API_VERSION, Resource

MAX_TOOLS = 1000
MAX_OVERRIDES = 16
MAX_OVERRIDE_NAMESPACES = 64
MAX_REQUIRED_APPROVALS = 10
MAX_SUBJECTS = 64
MAX_LABELS = 16
_DURATION = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")

Object = Mapping[str, Any]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        hide_input_in_errors=True,
        populate_by_name=False,
    )


class ToolModel(_Model):
    """One entry of ``spec.tools`` or ``spec.bindings``."""

    tool_id: StrictStr
    version: StrictStr
    capability_class: StrictStr
    side_effect_class: StrictStr
    schema_digest: StrictStr
    implementation_id: StrictStr


Tools = Annotated[list[ToolModel], Field(max_length=MAX_TOOLS)]


class ToolInventorySpec(_Model):
    """``spec`` of a ToolInventory."""

    tools: Tools


class SnapshotSpec(_Model):
    """``spec`` of a RunToolCatalogSnapshot."""

    inventory_name: StrictStr
    catalog_digest: StrictStr
    bindings: Tools
    run_id: StrictStr | None = None
    captured_by: StrictStr | None = None


class ApprovalSpec(_Model):
    """``spec`` of a CatalogApproval."""

    inventory_name: StrictStr
    snapshot_name: StrictStr
    snapshot_digest: StrictStr
    catalog_digest: StrictStr
    approved_by: StrictStr
    expires_at: StrictStr | None = None
    revoked: StrictBool = False


RequiredApprovals = Annotated[StrictInt, Field(ge=1, le=MAX_REQUIRED_APPROVALS)]


Subjects = Annotated[list[StrictStr], Field(max_length=MAX_SUBJECTS)]


class AgentsModel(_Model):
    """``agents``: which workloads must be governed."""

    all: StrictBool = False
    service_account_names: Subjects = []
    match_labels: Annotated[dict[StrictStr, StrictStr], Field(max_length=MAX_LABELS)] = {}


class PolicyRules(_Model):
    """The settings that stand for the cluster and, again, in an override."""

    required_approvals: RequiredApprovals | None = None
    max_approval_age: StrictStr | None = None
    delivery_subjects: Subjects | None = None
    agents: AgentsModel | None = None


class PolicyOverride(PolicyRules):
    """Rules of their own for some namespaces; what is absent is as for the cluster."""

    namespaces: Annotated[list[StrictStr], Field(min_length=1, max_length=MAX_OVERRIDE_NAMESPACES)]


class PolicySpec(PolicyRules):
    """``spec`` of the CatalogPolicy."""

    overrides: Annotated[list[PolicyOverride], Field(max_length=MAX_OVERRIDES)] = []


SpecT = TypeVar("SpecT", bound=_Model)

_MEMBERS = {"spec"} | {
    str(field.alias)
    for model in (
        ToolModel,
        ToolInventorySpec,
        SnapshotSpec,
        ApprovalSpec,
        PolicySpec,
        PolicyOverride,
        AgentsModel,
    )
    for field in model.model_fields.values()
}
"""The names of members that we gave, and that a fault may tell."""
_CODES = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "too_long": "too_many_items",
    "too_short": "too_few_items",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
}


def _place(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        if isinstance(part, str) and part not in _MEMBERS:
            break  # the key of a mapping, hence the sender's text
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _spec(model: type[SpecT], obj: Object) -> SpecT:
    code = ""
    location: tuple[int | str, ...] = ()
    try:
        return model.model_validate(obj.get("spec"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        code = _CODES.get(first["type"], "invalid_type")
        # The name of an unknown member is the sender's text: only its place is told.
        location = first["loc"][:-1] if code == "unknown_field" else first["loc"]
    raise ContractError(_place(("spec", *location)), code)


def _binding(tool: ToolModel) -> ToolBinding:
    record = ToolInventoryRecord(
        tool_id=tool.tool_id,
        version=tool.version,
        capability_class=tool.capability_class,
        side_effect_class=parse_side_effect_class(tool.side_effect_class),
        schema_digest=tool.schema_digest,
    )
    return ToolBinding(record, tool.implementation_id)


def _bindings(tools: list[ToolModel], field: str) -> tuple[ToolBinding, ...]:
    found: list[ToolBinding] = []
    for index, tool in enumerate(tools):
        try:
            found.append(_binding(tool))
            continue
        except ContractError as error:
            fault = error
        if not fault.field_name:  # the binding's own check: all that is left is its identity
            raise ContractError(f"spec.{field}[{index}].implementation_id", "invalid_digest")
        raise fault.under(f"spec.{field}[{index}]")
    if len({binding.key for binding in found}) != len(found):
        raise ContractError(f"spec.{field}", "duplicate_record")
    return tuple(found)


def catalog_from_inventory(obj: Object) -> Catalog:
    """Read the live catalog of a ToolInventory; ContractError where it cannot be understood."""
    return Catalog(_bindings(_spec(ToolInventorySpec, obj).tools, "tools"))


def run_id_of(obj: Object, declared: str | None) -> RunId:
    """Return the run id of a snapshot: the declared one, else ``run_`` and its uid (CONTRACTS 15.8)."""
    if declared is not None:
        return RunId(declared)
    uid = str((obj.get("metadata") or {}).get("uid", ""))
    return RunId("run_" + uid.replace("-", "").lower())


def snapshot_from_object(obj: Object) -> ReviewedSnapshot:
    """Read a RunToolCatalogSnapshot; ContractError where it cannot be understood.

    The declared catalogDigest is not looked at: digests are recomputed from the bindings.
    """
    spec = _spec(SnapshotSpec, obj)
    evidence = RunToolCatalogSnapshot(run_id_of(obj, spec.run_id), _bindings(spec.bindings, "bindings"))
    return ReviewedSnapshot(str(obj["metadata"]["name"]), spec.inventory_name, evidence)


def catalog_from_snapshot(obj: Object) -> Catalog:
    """Read the catalog of a snapshot that may not be stored yet, and so may have no run id."""
    return Catalog(_bindings(_spec(SnapshotSpec, obj).bindings, "bindings"))


def timestamp(text: str, field: str) -> datetime:
    """Parse an RFC 3339 time; ContractError where it is none or has no zone."""
    parsed: datetime | None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise ContractError(field, "invalid_time")
    return parsed


def created_at(obj: Object) -> datetime | None:
    """Return when the API server stored an object; None where it has not."""
    text = obj["metadata"].get("creationTimestamp")
    return None if text is None else timestamp(text, "metadata.creationTimestamp")


def approval_from_object(obj: Object, guarded_since: datetime | None) -> Approval:
    """Read a CatalogApproval; ContractError where it cannot be understood.

    ``guarded_since`` is when the admission policy that checks approvers was last installed, None where it
    is not there. Time stamps are whole seconds: an approval of that very second is not vouched for.
    """
    spec = _spec(ApprovalSpec, obj)
    expires = None if spec.expires_at is None else timestamp(spec.expires_at, "spec.expiresAt")
    created = created_at(obj)
    return Approval(
        name=str(obj["metadata"]["name"]),
        inventory_name=spec.inventory_name,
        snapshot_name=spec.snapshot_name,
        snapshot_digest=spec.snapshot_digest,
        catalog_digest=spec.catalog_digest,
        approved_by=spec.approved_by,
        expires_at=expires,
        revoked=spec.revoked,
        created_at=created,
        origin_verified=created is not None and guarded_since is not None and created > guarded_since,
    )


def _duration(text: str, field: str) -> timedelta:
    """Parse ``720h``, ``90m`` or ``1h30m``; ContractError where it is none or is zero."""
    match = _DURATION.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    found = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if not found:
        raise ContractError(field, "invalid_duration")
    return found


def _policy(rules: PolicyRules, base: Policy, field: str) -> Policy:
    """Complete some rules with those they leave out."""
    agents = rules.agents
    return Policy(
        required_approvals=base.required_approvals
        if rules.required_approvals is None
        else rules.required_approvals,
        max_approval_age=base.max_approval_age
        if rules.max_approval_age is None
        else _duration(rules.max_approval_age, f"{field}.maxApprovalAge"),
        delivery_subjects=base.delivery_subjects
        if rules.delivery_subjects is None
        else frozenset(rules.delivery_subjects),
        agents=base.agents
        if agents is None
        else AgentSelector(agents.all, frozenset(agents.service_account_names), agents.match_labels),
    )


def policies_from_object(obj: Object) -> PolicySet:
    """Read the CatalogPolicy; ContractError where it cannot be understood or is ambiguous."""
    spec = _spec(PolicySpec, obj)
    base = _policy(spec, Policy(), "spec")
    overrides: dict[str, Policy] = {}
    for index, override in enumerate(spec.overrides):
        for namespace in override.namespaces:
            if namespace in overrides:
                raise ContractError(f"spec.overrides[{index}].namespaces", "duplicate_namespace")
            overrides[namespace] = _policy(override, base, f"spec.overrides[{index}]")
    return PolicySet(base, overrides)


def tools_to_spec(catalog: Catalog) -> list[dict[str, str]]:
    """Write bindings as resources list them: sorted by ``toolId version`` as plain strings."""
    tools = [
        {
            "toolId": binding.tool.tool_id,
            "version": binding.tool.version,
            "capabilityClass": binding.tool.capability_class,
            "sideEffectClass": str(binding.tool.side_effect_class),
            "schemaDigest": binding.tool.schema_digest,
            "implementationId": binding.implementation_id,
        }
        for binding in catalog.bindings
    ]
    return sorted(tools, key=lambda tool: f"{tool['toolId']} {tool['version']}")


def manifest(resource: Resource, name: str, namespace: str | None, spec: Object) -> dict[str, Any]:
    """Build an object of one of our kinds."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace is not None else {})
    return {"apiVersion": API_VERSION, "kind": resource.kind, "metadata": metadata, "spec": dict(spec)}

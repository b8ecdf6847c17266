"""Custom resources to core records and back (DESIGN 3).

``kube.shapes`` checks types and bounds, the core's own constructors the grammar of records. What is accepted
here is what the CRDs accept (tests/parity). Every fault is a ContractError that names a place and a code; a
value is never part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from toolvet.core.approval import Approval, ReviewedSnapshot, snapshot_name
from toolvet.core.binding import Catalog, LiveCatalog, RunToolCatalogSnapshot, ToolBinding
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import ToolInventoryRecord, parse_side_effect_class
from toolvet.core.policy import AgentSelector, Policy, PolicySet, ReviewOn
from toolvet.kube.account_shapes import check_source_name
from toolvet.kube.names import (
    API_VERSION,
    DEFAULT_SERVICE_ACCOUNT,
    INVENTORIES,
    MCP_SOURCES,
    OBSERVED_UNTIL_ANNOTATION,
    POLICIES,
    POLICY_NAME,
    SNAPSHOTS,
    SOURCE_ANNOTATION,
    Resource,
    is_object_name,
)
from toolvet.kube.shapes import (
    MAX_INVENTORY_NAME,
    ApprovalSpec,
    Object,
    PolicyRules,
    PolicySpec,
    SnapshotSpec,
    ToolInventorySpec,
    ToolModel,
    read_spec,
)

_MEMBERS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
NEVER_OBSERVED = datetime.min.replace(tzinfo=UTC)
_DURATION = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")


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
    # The order of the CRDs' rule, which is of the plain text and not CONTRACTS 5.3.
    if any(_text(before) > _text(after) for before, after in pairwise(found)):
        raise ContractError(f"spec.{field}", "unsorted_records")
    return tuple(found)


def _text(binding: ToolBinding) -> str:
    return f"{binding.tool.tool_id} {binding.tool.version}"


def catalog_from_inventory(obj: Object) -> LiveCatalog:
    """Read the live catalog of a ToolInventory; ContractError where it cannot be understood."""
    spec = read_spec(ToolInventorySpec, obj)
    return LiveCatalog(_bindings(spec.tools, "tools"), tuple(spec.minor_change_of or ()), observed_until(obj))


def observed_until(inventory: Object) -> datetime | None:
    """Return until when what a source observed counts; None for an inventory that no source feeds.

    Long past where the collector has not said so, or where it cannot be understood: nothing was observed.
    """
    annotations = (inventory.get("metadata") or {}).get("annotations") or {}
    if SOURCE_ANNOTATION not in annotations:
        return None
    try:
        return timestamp(str(annotations.get(OBSERVED_UNTIL_ANNOTATION)), OBSERVED_UNTIL_ANNOTATION)
    except ContractError:
        return NEVER_OBSERVED


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
    spec = read_spec(SnapshotSpec, obj)
    evidence = RunToolCatalogSnapshot(run_id_of(obj, spec.run_id), _bindings(spec.bindings, "bindings"))
    return ReviewedSnapshot(str(obj["metadata"]["name"]), spec.inventory_name, evidence)


def catalog_from_snapshot(obj: Object) -> Catalog:
    """Read the catalog of a snapshot that may not be stored yet, and so may have no run id."""
    spec = read_spec(SnapshotSpec, obj)
    if spec.run_id is not None:
        RunId(spec.run_id)
    return Catalog(_bindings(spec.bindings, "bindings"))


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
    spec = read_spec(ApprovalSpec, obj)
    if spec.snapshot_name != snapshot_name(spec.inventory_name, spec.catalog_digest):
        raise ContractError("spec.snapshotName", "wrong_name")
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
        revoked=bool(spec.revoked),
        created_at=created,
        origin_verified=created is not None and guarded_since is not None and created > guarded_since,
    )


def duration(text: str, field: str) -> timedelta:
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
        else duration(rules.max_approval_age, f"{field}.maxApprovalAge"),
        delivery_subjects=base.delivery_subjects
        if rules.delivery_subjects is None
        else frozenset(rules.delivery_subjects),
        agents=base.agents
        if agents is None
        else AgentSelector(
            bool(agents.all), frozenset(agents.service_account_names or ()), agents.match_labels or {}
        ),
        review_on=base.review_on if rules.review_on is None else ReviewOn(rules.review_on),
    )


def policies_from_object(obj: Object) -> PolicySet:
    """Read the CatalogPolicy; ContractError where it cannot be understood or is ambiguous."""
    spec = read_spec(PolicySpec, obj)
    base = _policy(spec, Policy(), "spec")
    overrides: dict[str, Policy] = {}
    for index, override in enumerate(spec.overrides or ()):
        policy = _policy(override, base, f"spec.overrides[{index}]")
        if not overrides.keys().isdisjoint(override.namespaces):
            raise ContractError(f"spec.overrides[{index}].namespaces", "duplicate_namespace")
        overrides |= dict.fromkeys(override.namespaces, policy)
    return PolicySet(base, overrides)


def check_object(resource: Resource, obj: Object) -> None:
    """Refuse what the CRDs refuse outside of ``spec``: members beside it, and names that break a rule.

    For manifests: what is stored has passed it. The rest of the metadata is Kubernetes' own.
    """
    if not obj.keys() <= _MEMBERS:
        raise ContractError("", "unknown_field")
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not is_object_name(name):
        raise ContractError("metadata.name", "invalid_name")
    if resource == INVENTORIES:
        check_inventory_name(name, "metadata.name")
    if resource == POLICIES and name != POLICY_NAME:
        raise ContractError("metadata.name", "wrong_name")
    if resource == MCP_SOURCES:
        check_source_name(name, "metadata.name")
    if resource == SNAPSHOTS:
        spec = read_spec(SnapshotSpec, obj)
        if name != snapshot_name(spec.inventory_name, spec.catalog_digest):
            raise ContractError("metadata.name", "wrong_name")


def check_inventory_name(name: str, field: str) -> None:
    """Refuse an object name that no inventory may have."""
    if name == DEFAULT_SERVICE_ACCOUNT:
        # An inventory governs the service account of its name, and everybody's default must stay free.
        raise ContractError(field, "reserved_name")
    if len(name) > MAX_INVENTORY_NAME:
        raise ContractError(field, "name_too_long")


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

"""MCPSource, ToolChange, ToolEnablement and HeldToolCall to core records and back.

As ``kube.resources``: what is accepted here is what the CRDs accept (tests/parity), and every fault is a
ContractError that names a place and a code, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from toolvet.core.change_reason import ChangeReason, Reading, ToolFlag
from toolvet.core.errors import ContractError
from toolvet.core.tool_account import (
    SEVERITIES,
    AccountRule,
    Acknowledgement,
    CallPhase,
    ChangeEvent,
    Components,
    Enablement,
    HeldCall,
    RecordedChange,
)
from toolvet.core.tool_mapping import ToolMapping, Unlisted
from toolvet.core.tool_source import IgnoredPath, SourceReference, ToolSource
from toolvet.kube.account_shapes import (
    ChangeSpec,
    ComponentsModel,
    EnablementSpec,
    HeldCallSpec,
    MappingModel,
    SourceSpec,
)
from toolvet.kube.resources import created_at, duration, timestamp
from toolvet.kube.shapes import Object, read_spec

DEFAULT_INTERVAL = 60
INTERVALS_OF_AGE = 10
"""How many intervals an observation counts where no maxObservationAge is set."""

_SEVERITY_TEXTS = {result: text for text, result in SEVERITIES.items()}


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _mapping(model: MappingModel | None) -> ToolMapping:
    if model is None:
        return ToolMapping(unlisted=Unlisted.DIGEST)
    defaults = model.defaults
    entries: dict[str, dict[str, str]] = {}
    for entry in model.tools or ():
        members = {
            "toolId": entry.tool_id,
            "version": entry.version,
            "capabilityClass": entry.capability_class,
        }
        entries[entry.name] = {member: text for member, text in members.items() if text is not None}
    return ToolMapping(
        id_namespace=defaults.id_namespace if defaults else None,
        version=defaults.version if defaults else None,
        capability_class=defaults.capability_class if defaults else None,
        tools=entries,
        unlisted=Unlisted(model.unlisted or Unlisted.DIGEST),
    )


def source_from_object(obj: Object) -> ToolSource:
    """Read an MCPSource; ContractError where it cannot be understood."""
    spec = read_spec(SourceSpec, obj)
    interval = timedelta(seconds=spec.interval_seconds or DEFAULT_INTERVAL)
    age = spec.max_observation_age
    ref = spec.ref
    return ToolSource(
        name=_name(obj),
        url=spec.url,
        reference=None if ref is None else SourceReference(ref.api_version, ref.kind, ref.name),
        inventory_name=spec.inventory_name,
        credentials_secret_name=spec.credentials_secret_name,
        interval=interval,
        max_observation_age=interval * INTERVALS_OF_AGE
        if age is None
        else duration(age, "spec.maxObservationAge"),
        mapping=_mapping(spec.mapping),
        ignored_paths=tuple(IgnoredPath(item.path, item.tool) for item in spec.ignore_paths or ()),
        reading=Reading.LITERAL if spec.reading == "Literal" else Reading.STRICT,
        list_changed=spec.list_changed is True,
    )


def _components(model: ComponentsModel) -> Components:
    return Components(model.fingerprint, model.contract, model.hints, model.rest)


def change_from_object(obj: Object) -> RecordedChange:
    """Read a ToolChange; ContractError where it cannot be understood."""
    spec = read_spec(ChangeSpec, obj)
    return RecordedChange(
        name=_name(obj),
        source_name=spec.source_name,
        source_uid=spec.source_uid,
        tool_id=spec.tool_id,
        version=spec.version,
        event=ChangeEvent(spec.event),
        severity=SEVERITIES[spec.severity],
        literal_severity=SEVERITIES[spec.literal_severity],
        reasons=tuple(ChangeReason(code) for code in spec.reasons),
        flags=tuple(ToolFlag(code) for code in spec.flags or ()),
        before=_components(spec.before),
        after=None if spec.after is None else _components(spec.after),
        evidence_secret_name=spec.evidence_secret_name,
        created_at=created_at(obj),
    )


def _side(components: Components) -> dict[str, str]:
    members = {
        "fingerprint": components.fingerprint,
        "contract": components.contract,
        "hints": components.hints,
        "rest": components.rest,
    }
    return {member: digest for member, digest in members.items() if digest is not None}


def change_spec(change: RecordedChange) -> dict[str, Any]:
    """Write ``spec`` of a ToolChange; the creation time is the API server's to write."""
    optional: Mapping[str, Any] = {
        "toolId": change.tool_id,
        "version": change.version,
        "flags": sorted({str(flag) for flag in change.flags}) or None,
        "after": None if change.after is None else _side(change.after),
        "evidenceSecretName": change.evidence_secret_name,
    }
    return {
        "sourceName": change.source_name,
        "sourceUid": change.source_uid,
        "event": str(change.event),
        "severity": _SEVERITY_TEXTS[change.severity],
        "literalSeverity": _SEVERITY_TEXTS[change.literal_severity],
        "reasons": sorted({str(reason) for reason in change.reasons}),
        "before": _side(change.before),
        **{member: value for member, value in optional.items() if value is not None},
    }


def enablement_from_object(obj: Object) -> Enablement:
    """Read a ToolEnablement; ContractError where it cannot be understood."""
    spec = read_spec(EnablementSpec, obj)
    return Enablement(
        name=_name(obj),
        subject=spec.subject,
        source_name=spec.source_name,
        default_rule=AccountRule(spec.default_rule or AccountRule.ASK_FIRST),
        rules={item.tool_id: AccountRule(item.rule) for item in spec.rules or ()},
        acknowledged=tuple(
            Acknowledgement(item.change_name, item.fingerprint) for item in spec.acknowledged or ()
        ),
        created_at=created_at(obj),
    )


def held_call_from_object(obj: Object) -> HeldCall:
    """Read a HeldToolCall with its status; ContractError where it cannot be understood."""
    spec = read_spec(HeldCallSpec, obj)
    status = obj.get("status") or {}
    phase = status.get("phase", CallPhase.HELD)
    if phase not in set(CallPhase):
        raise ContractError("status.phase", "invalid_phase")
    return HeldCall(
        name=_name(obj),
        enablement_name=spec.enablement_name,
        tool_id=spec.tool_id,
        definition_fingerprint=spec.definition_fingerprint,
        arguments_digest=spec.arguments_digest,
        requested_by=spec.requested_by,
        expires_at=timestamp(spec.expires_at, "spec.expiresAt"),
        phase=CallPhase(phase),
        decided_by=status.get("decidedBy"),
        consumption_id=status.get("consumptionId"),
    )

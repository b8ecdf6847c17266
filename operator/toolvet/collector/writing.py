"""What a pass writes beside statuses: the inventory, changes with their evidence, the memory."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import rfc8785

from toolvet.collector.status import time_text
from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.change_evidence import Side, evidence
from toolvet.core.errors import ContractError
from toolvet.core.source_change import NewChange
from toolvet.kube.account_resources import change_spec
from toolvet.kube.client import HTTP_CONFLICT, HTTP_FORBIDDEN, HTTP_NOT_FOUND, ApiClient, ApiError, Object
from toolvet.kube.names import (
    COLLECTOR_MANAGER,
    EVENTS,
    EVIDENCE_TYPE,
    INVENTORIES,
    OBSERVED_UNTIL_ANNOTATION,
    SECRETS,
    SOURCE_ANNOTATION,
    TOOL_CHANGES,
)
from toolvet.kube.resources import observed_until

_UNPROCESSABLE: Final = 422
_TOOL_FIELDS: Final = {
    "tool_id": "toolId",
    "version": "version",
    "capability_class": "capabilityClass",
    "side_effect_class": "sideEffectClass",
    "schema_digest": "schemaDigest",
}


def inventory_object(
    name: str, namespace: str, source: str, catalog: Catalog, minor_change_of: Sequence[str], until: datetime
) -> Object:
    """Return the whole inventory as we apply it; records in the order of the CRD's rule.

    ``until`` is when this observation stops to count.
    """
    annotations = {SOURCE_ANNOTATION: source, OBSERVED_UNTIL_ANNOTATION: time_text(until)}
    tools = [_record(binding) for binding in catalog.bindings]
    tools.sort(key=lambda tool: f"{tool['toolId']} {tool['version']}")
    return {
        "apiVersion": INVENTORIES.api_version,
        "kind": INVENTORIES.kind,
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"tools": tools, "minorChangeOf": list(minor_change_of)},
    }


def check_owned(inventory: Mapping[str, Any], source: str) -> None:
    """Refuse an inventory that is not this source's: who may write sources may not thereby replace any.

    Raises ContractError("inventory", "not_ours"). Whoever may write it hands it over by the annotation.
    """
    annotations = inventory["metadata"].get("annotations") or {}
    if annotations.get(SOURCE_ANNOTATION) != source:
        raise ContractError("inventory", "not_ours")


async def write_inventory(
    api: ApiClient, wanted: Object, stored: Mapping[str, Any] | None, slack: timedelta
) -> None:
    """Apply the inventory where it differs from the stored one.

    ``slack`` is by how much the stored one may state the end of the observation too early: that saves a
    write at every look. Too late it is never stated.
    """
    if stored is not None:
        spec = stored.get("spec") or {}
        if (
            spec.get("tools") == wanted["spec"]["tools"]
            and (spec.get("minorChangeOf") or []) == wanted["spec"]["minorChangeOf"]
            and _lasts(observed_until(stored), observed_until(wanted), slack)
        ):
            return
    namespace = wanted["metadata"]["namespace"]
    await api.apply(INVENTORIES, namespace, wanted, manager=COLLECTOR_MANAGER)


def _lasts(stated: datetime | None, wanted: datetime | None, slack: timedelta) -> bool:
    return stated is not None and wanted is not None and timedelta(0) <= wanted - stated <= slack


async def write_end(api: ApiClient, stored: Mapping[str, Any], until: datetime) -> None:
    """State exactly when the last observation stops to count, once the looks after it come to nothing."""
    if observed_until(stored) != until:
        metadata = stored["metadata"]
        patch = {"metadata": {"annotations": {OBSERVED_UNTIL_ANNOTATION: time_text(until)}}}
        await api.merge(INVENTORIES, metadata["namespace"], metadata["name"], patch)


async def write_change(api: ApiClient, namespace: str, change: NewChange) -> None:
    """Create the evidence and then the change; what is there already was written by an earlier attempt."""
    await _create(api, SECRETS, namespace, _evidence(namespace, change))
    obj = {
        "apiVersion": TOOL_CHANGES.api_version,
        "kind": TOOL_CHANGES.kind,
        "metadata": {"name": change.record.name, "namespace": namespace},
        "spec": change_spec(change.record),
    }
    await _create(api, TOOL_CHANGES, namespace, obj)


async def write_event(api: ApiClient, event: Object) -> None:
    """Create an Event. One that is there says the same; where none is accepted, the status says it alone."""
    try:
        await api.create(EVENTS, event["metadata"]["namespace"], event)
    except ApiError as error:
        # A namespace that is being deleted takes no Events.
        if error.status not in {HTTP_CONFLICT, HTTP_FORBIDDEN, HTTP_NOT_FOUND, _UNPROCESSABLE}:
            raise


async def delete_change(api: ApiClient, namespace: str, name: str) -> None:
    """Delete a change and what it showed."""
    await api.delete(TOOL_CHANGES, namespace, name)
    try:
        await api.delete(SECRETS, namespace, name)
    except ApiError as error:
        if error.status != HTTP_NOT_FOUND:
            raise


async def write_memory(api: ApiClient, secret: Object) -> None:
    """Apply the Secret with the definitions; one request names it, so that rights can, too."""
    await api.apply(SECRETS, secret["metadata"]["namespace"], secret, manager=COLLECTOR_MANAGER)


async def _create(api: ApiClient, resource: Any, namespace: str, obj: Object) -> None:  # noqa: ANN401
    try:
        await api.create(resource, namespace, obj)
    except ApiError as error:
        if error.status != HTTP_CONFLICT:
            raise


def _record(binding: ToolBinding) -> dict[str, str]:
    fields = binding.tool.to_dict()
    record = {member: str(fields[field]) for field, member in _TOOL_FIELDS.items()}
    return {**record, "implementationId": binding.implementation_id}


def _evidence(namespace: str, change: NewChange) -> Object:
    sides = evidence(change.before, change.after, rfc8785.dumps)  # type: ignore[arg-type]  # it checks
    data = {
        name: _encoded(_side(side))
        for name, side in zip(("before.json", "after.json"), sides, strict=True)
        if side is not None
    }
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": change.record.name, "namespace": namespace},
        "type": EVIDENCE_TYPE,
        "immutable": True,
        "data": data,
    }


def _side(side: Side) -> str:
    document = {"text": side.text, "digest": side.digest, "bytes": side.size, "hiddenBytes": side.hidden}
    return json.dumps(document, ensure_ascii=False)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")

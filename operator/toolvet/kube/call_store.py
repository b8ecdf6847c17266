"""Rules and held calls of one account in the API server, for ``toolvet.runtime.CallGate``.

Needs the extra ``toolvet[calls]``, and for the account the chart's role ``agent`` in the namespace. Nothing
is cached but who we are: each answer is the API server's at that moment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from toolvet.core.call_rules import AccountRules, CallStore, Held
from toolvet.core.enablement import EffectiveRule
from toolvet.core.errors import CallStoreError, ContractError
from toolvet.core.held_call import StoredCall
from toolvet.core.tool_account import AccountRule, CallPhase, HeldCall, enablement_name
from toolvet.core.tool_source import IgnoredPath
from toolvet.kube.account_resources import enablement_from_object, held_call_from_object, source_from_object
from toolvet.kube.account_shapes import check_source_name
from toolvet.kube.client import ApiClient, ApiError, Object, connect
from toolvet.kube.incluster import DEFAULT_DIRECTORY, ServiceAccount
from toolvet.kube.names import (
    HELD_TOOL_CALLS,
    MCP_SOURCES,
    SELF_REVIEWS,
    TOOL_ENABLEMENTS,
    is_namespace_name,
    is_object_name,
)
from toolvet.kube.resources import timestamp

_RULES: Final = "rules"
_CALLS: Final = "calls"
_AGENT: Final = "toolvet-calls"
_READY: Final = "Ready"
# What the policies held-calls and held-call-decisions say.
_EXPIRED: Final = "expires_at: expired"
_WRONG_NAME: Final = "name: wrong_name"


@asynccontextmanager
async def in_cluster_calls(
    source: str,
    *,
    namespace: str | None = None,
    call_timeout: float = 10.0,
    directory: Path = DEFAULT_DIRECTORY,
    environment: Mapping[str, str] = os.environ,
) -> AsyncIterator[CallStore]:
    """Open the rules and held calls of this Pod's service account for one MCPSource while the block runs.

    ``namespace`` is that of the source, by default the Pod's own; ``call_timeout`` the deadline of one
    request, in seconds. Raises ContractError: ``environment: not_in_a_cluster``, ``service_account`` with
    unreadable_token or unreadable_ca, ``source: invalid_name`` or name_too_long, ``namespace: invalid_name``.
    """
    account = ServiceAccount(directory, environment)
    async with connect(account, user_agent=_AGENT, call_timeout=call_timeout) as api:
        yield HeldCallStore(api, account.namespace if namespace is None else namespace, source)


class HeldCallStore:
    """The CallStore of whoever ``api`` logs in as."""

    def __init__(self, api: ApiClient, namespace: str, source: str) -> None:
        """ContractError as ``in_cluster_calls`` for names that cannot be."""
        if not is_object_name(source):
            raise ContractError("source", "invalid_name")
        check_source_name(source, "source")
        if not is_namespace_name(namespace):
            raise ContractError("namespace", "invalid_name")
        self._api = api
        self._namespace = namespace
        self._source = source
        self._account: str | None = None

    async def rules(self) -> AccountRules:
        """Read the enablement and its source."""
        account = await self._who()
        name = enablement_name(self._source, account)
        if name is None:
            return AccountRules(account, None)
        failed: ApiError | None = None
        try:
            enablement, source = await asyncio.gather(
                self._api.get(TOOL_ENABLEMENTS, self._namespace, name),
                self._api.get(MCP_SOURCES, self._namespace, self._source),
            )
        except ApiError as error:
            failed = error
        if failed is not None:
            raise _error(_RULES, failed)
        if enablement is None:
            return AccountRules(account, name)
        found = None
        try:
            found = _rules(account, name, enablement, source)
        except (ContractError, KeyError, TypeError, ValueError, AttributeError):
            found = None  # a status has a schema, but one that changes with the release that wrote it
        if found is None:
            raise CallStoreError(_RULES, "unreadable")
        return found

    async def calls(self) -> Sequence[StoredCall]:
        """List the held calls that the account asked for; at most one a slot."""
        selector = f"spec.requestedBy={_escaped(await self._who())}"
        failed: ApiError | None = None
        try:
            found = await self._api.items(HELD_TOOL_CALLS, self._namespace, fieldSelector=selector)
        except ApiError as error:
            failed = error
        if failed is not None:
            raise _error(_CALLS, failed)
        stored: list[StoredCall] | None = None
        try:
            stored = [
                StoredCall(held_call_from_object(item), str(item["metadata"]["resourceVersion"]))
                for item in found
            ]
        except (ContractError, KeyError):
            stored = None
        if stored is None:
            raise CallStoreError(_CALLS, "unreadable")
        return stored

    async def hold(self, call: HeldCall) -> Held:
        """Create it; the API server creates a name once, and in its hour alone."""
        failed: ApiError | None = None
        try:
            await self._api.create(HELD_TOOL_CALLS, self._namespace, _object(call, self._namespace))
        except ApiError as error:
            failed = error
        if failed is None:
            return Held.CREATED
        if failed.status == HTTPStatus.CONFLICT:
            return Held.NAME_TAKEN
        if _WRONG_NAME in failed.message:
            return Held.OTHER_HOUR
        raise _error(_CALLS, failed)

    async def consume(self, call: StoredCall, consumption_id: str) -> bool:
        """Write the consumption over exactly what was read (a compare-and-swap of the resourceVersion)."""
        obj = _object(call.call, self._namespace)
        obj["metadata"]["resourceVersion"] = call.version
        obj["status"] = {
            "phase": str(CallPhase.CONSUMED),
            "decidedBy": call.call.decided_by,
            "consumptionId": consumption_id,
        }
        failed: ApiError | None = None
        try:
            await self._api.replace(HELD_TOOL_CALLS, self._namespace, obj, subresource="status")
        except ApiError as error:
            failed = error
        # The write may have been made though its answer was lost, and then have been sent again in vain.
        if failed is None or await self._is_consumed_with(call.call.name, consumption_id):
            return True
        if failed.status == HTTPStatus.CONFLICT or _EXPIRED in failed.message:
            return False
        if failed.status == HTTPStatus.NOT_FOUND and failed.reason == "NotFound":
            return False
        raise _error(_CALLS, failed)

    async def _is_consumed_with(self, name: str, consumption_id: str) -> bool:
        try:
            obj = await self._api.get(HELD_TOOL_CALLS, self._namespace, name)
        except ApiError:
            return False  # what failed before is told
        return obj is not None and (obj.get("status") or {}).get("consumptionId") == consumption_id

    async def _who(self) -> str:
        if self._account is not None:
            return self._account
        failed: ApiError | None = None
        review = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        answer: Object = {}
        try:
            answer = await self._api.create(SELF_REVIEWS, None, review)
        except ApiError as error:
            failed = error
        if failed is not None:
            raise _error("account", failed)
        name = ((answer.get("status") or {}).get("userInfo") or {}).get("username")
        if not isinstance(name, str) or not name:
            raise CallStoreError("account", "unreadable")
        self._account = name
        return name


def _rules(account: str, name: str, obj: Object, source: Object | None) -> AccountRules:
    enablement = enablement_from_object(obj)
    status = obj.get("status") or {}
    generation = obj["metadata"]["generation"]
    ready = [item for item in status.get("conditions") or [] if item["type"] == _READY]
    is_current = status.get("observedGeneration") == generation and any(
        item["status"] == "True" and item.get("observedGeneration") == generation for item in ready
    )
    until: datetime | None = None
    ignored: tuple[IgnoredPath, ...] = ()
    if source is not None:
        known = source_from_object(source)
        observed_at = (source.get("status") or {}).get("observedAt")
        if observed_at is not None:
            until = timestamp(observed_at, "status.observedAt") + known.max_observation_age
        ignored = known.ignored_paths
    return AccountRules(
        account=account,
        enablement_name=name,
        subject=enablement.subject,
        is_current=is_current,
        observed_until=until,
        rules=tuple(_rule(item) for item in status.get("effectiveRules") or ()),
        ignored_paths=ignored,
    )


def _rule(item: Mapping[str, Any]) -> EffectiveRule:
    return EffectiveRule(
        item["toolId"], item["version"], AccountRule(item["rule"]), item.get("definitionFingerprint")
    )


def _object(call: HeldCall, namespace: str) -> Object:
    return {
        "apiVersion": HELD_TOOL_CALLS.api_version,
        "kind": HELD_TOOL_CALLS.kind,
        "metadata": {"name": call.name, "namespace": namespace},
        "spec": {
            "enablementName": call.enablement_name,
            "toolId": call.tool_id,
            "definitionFingerprint": call.definition_fingerprint,
            "argumentsDigest": call.arguments_digest,
            "requestedBy": call.requested_by,
            "expiresAt": call.expires_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }


def _escaped(value: str) -> str:
    """Write a value into a field selector (k8s.io/apimachinery, fields.EscapeValue)."""
    return "".join(f"\\{char}" if char in "\\,=" else char for char in value)


def _error(field: str, error: ApiError) -> CallStoreError:
    """Return what is told: a code. The API server's text may repeat what was sent, and is left out."""
    if error.status == 0:
        return CallStoreError(field, "unreachable")
    if error.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return CallStoreError(field, "not_permitted")
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return CallStoreError(field, "overloaded")
    return CallStoreError(field, "refused")

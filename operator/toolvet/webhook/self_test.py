"""What a gate must have seen work once before it may be called: its trust, the approvals' guard, a decision.

"Ready" then means that the next call of the API server succeeds and that a verdict can be relied on. Each
check is the real thing: a handshake as the API server makes it, a forged approval, a decision over live
state.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolvet.kube.client import HTTP_FORBIDDEN, ApiError
from toolvet.kube.kinds import KINDS
from toolvet.kube.names import APPROVAL_GUARD, APPROVALS, WEBHOOK_CONFIGURATIONS
from toolvet.kube.reads import Reader
from toolvet.kube.review import AdmissionRequest, GroupResource, decide_request

_HANDSHAKE_SECONDS = 2.0
_NAME = "toolvet-readiness"
_DIGITS = "0" * 64


class Missing(StrEnum):
    """Why a gate is not ready."""

    CERTIFICATE = "certificate"
    """No whole pair in the folder yet."""
    TRUST = "trust"
    """The webhook configuration is not there, or its caBundle does not fit what we serve."""
    APPROVAL_GUARD = "approval_guard"
    """The API server does not refuse forged approvals: policy, binding or definitions are not in force."""
    DECISION = "decision"
    """A decision over live state fails."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The checks of one gate, which serves on ``address``:``port`` and runs in ``namespace``."""

    api: Reader
    namespace: str
    webhook_configuration: str
    address: str
    port: int

    async def missing(self, now: datetime) -> Missing | None:
        """Return the first thing that does not work; None where all do."""
        if not await self.is_trusted():
            return Missing.TRUST
        if not await self.refuses_forgery():
            return Missing.APPROVAL_GUARD
        return None if await self.can_decide(now) else Missing.DECISION

    async def is_trusted(self) -> bool:
        """Tell whether a caller that believes the stored configuration accepts what we serve.

        Every webhook counts: a configuration written halfway would fail in some namespaces only.
        """
        try:
            found = await self.api.get(WEBHOOK_CONFIGURATIONS, None, self.webhook_configuration)
        except ApiError:
            return False
        callers = {_caller(webhook) for webhook in (found or {}).get("webhooks") or ()}
        if not callers or None in callers:
            return False
        return all([await self._accepts(*caller) for caller in callers if caller is not None])

    async def _accepts(self, host: str, bundle: str) -> bool:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # As Go does it: whatever stands in the bundle is trusted, an intermediate authority too.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=base64.b64decode(bundle).decode("ascii"))
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                _, writer = await asyncio.open_connection(
                    self.address, self.port, ssl=context, server_hostname=host
                )
        except (OSError, ValueError, binascii.Error):  # ssl's errors are OSErrors, a timeout too
            return False
        writer.transport.abort()
        return True

    async def refuses_forgery(self) -> bool:
        """Tell whether an approval in another's name is refused by the admission policy, not by RBAC.

        It is a dry run in our own namespace, where nothing is governed: if the policy were not in force,
        still nothing would be stored.
        """
        try:
            await self.api.create(APPROVALS, self.namespace, _forged(self.namespace), dry_run=True)
        except ApiError as error:
            told = error.message
            return error.status == HTTP_FORBIDDEN and APPROVAL_GUARD in told and "approved_by" in told
        return False

    async def can_decide(self, now: datetime) -> bool:
        """Make one decision over live state about a workload that nothing governs."""
        kind = KINDS[0].resource
        pod = {"metadata": {}, "spec": {"serviceAccountName": _NAME, "containers": []}}
        request = AdmissionRequest(
            uid="readiness",
            resource=GroupResource(group=kind.group, resource=kind.plural),
            operation="CREATE",
            namespace=self.namespace,
            userInfo={"username": _NAME},
            object={"metadata": {"name": _NAME}, "spec": {"replicas": 1, "template": pod}},
        )
        decision, reads = await decide_request(self.api, request, now)
        return decision.allowed and reads > 0


def _caller(webhook: dict[str, Any]) -> tuple[str, str] | None:
    """Return the name the API server asks for and the bundle it trusts (admission registration v1)."""
    client = webhook.get("clientConfig") or {}
    service, bundle = client.get("service") or {}, client.get("caBundle")
    if not service or not bundle:
        return None
    return f"{service['name']}.{service['namespace']}.svc", bundle


def _forged(namespace: str) -> dict[str, Any]:
    digest = f"sha256:{_DIGITS}"
    return {
        "apiVersion": APPROVALS.api_version,
        "kind": APPROVALS.kind,
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {
            "inventoryName": _NAME,
            "snapshotName": f"{_NAME}-{_DIGITS[:16]}",
            "snapshotDigest": digest,
            "catalogDigest": digest,
            "approvedBy": _NAME,
        },
    }

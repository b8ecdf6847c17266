"""Since when the API server itself checks who approves: approvals older than that prove nothing."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Protocol

from toolvet.kube.names import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, APPROVAL_GUARD, Resource
from toolvet.kube.resources import created_at


class MetadataReader(Protocol):
    """Reads the metadata of one object; raises ApiError."""

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> dict[str, Any] | None:
        """Read one object as it is now."""


async def guarded_since(api: MetadataReader) -> datetime | None:
    """Return when the younger of the admission policy and its binding was made; None where one is missing.

    Whoever took either away and put it back could have written any approval in between. Raises ApiError.
    """
    policy, binding = await asyncio.gather(
        api.get(ADMISSION_POLICIES, None, APPROVAL_GUARD, metadata_only=True),
        api.get(ADMISSION_POLICY_BINDINGS, None, APPROVAL_GUARD, metadata_only=True),
    )
    if policy is None or binding is None:
        return None
    made, bound = created_at(policy), created_at(binding)
    return None if made is None or bound is None else max(made, bound)

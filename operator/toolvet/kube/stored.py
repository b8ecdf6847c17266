"""What is stored, as a command sees it: the cluster as its caller may read it, or no cluster at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from toolvet.kube.client import ApiError
from toolvet.kube.names import ACCESS_REVIEWS, DEFAULT_SERVICE_ACCOUNT, INVENTORIES, Resource
from toolvet.kube.reads import Reader

Object = dict[str, Any]

OFFLINE = "Offline"
"""Why a read failed that was never made."""

_SELF_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)


class Nowhere:
    """No cluster to ask: nothing is known but that no inventory may be named ``default`` (DESIGN 4)."""

    async def get(
        self,
        resource: Resource,
        namespace: str | None,  # noqa: ARG002  # signature of Reader
        name: str,
        *,
        metadata_only: bool = False,  # noqa: ARG002  # the same
    ) -> Object | None:
        """Raise ApiError, but for that one name."""
        if resource is INVENTORIES and name == DEFAULT_SERVICE_ACCOUNT:
            return None
        raise ApiError(0, OFFLINE)

    async def list(
        self,
        resource: Resource,  # noqa: ARG002  # signature of Reader
        namespace: str | None = None,  # noqa: ARG002  # the same
        **parameters: str | int,  # noqa: ARG002  # the same
    ) -> Object:
        """Raise ApiError."""
        raise ApiError(0, OFFLINE)

    async def create(
        self,
        resource: Resource,  # noqa: ARG002  # signature of Reader
        namespace: str | None,  # noqa: ARG002  # the same
        obj: Object,  # noqa: ARG002  # the same
        *,
        dry_run: bool = False,  # noqa: ARG002  # the same
    ) -> Object:
        """Raise ApiError."""
        raise ApiError(0, OFFLINE)


class Stored:
    """The cluster as it is while one command runs: each object is read once, as the caller of the command."""

    def __init__(self, api: Reader) -> None:
        self._api = api
        self._asked: dict[tuple[object, ...], asyncio.Future[Any]] = {}

    async def _once(self, key: tuple[object, ...], read: Callable[[], Any]) -> Any:  # noqa: ANN401  # of API objects
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(read())
        return await self._asked[key]

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Read one object; raises ApiError, the same one again for the same object."""
        found: Object | None = await self._once(
            (resource, namespace, name, metadata_only),
            lambda: self._api.get(resource, namespace, name, metadata_only=metadata_only),
        )
        return found

    async def list(self, resource: Resource, namespace: str | None = None, **parameters: str | int) -> Object:
        """Read a list; raises ApiError."""
        found: Object = await self._once(
            (resource, namespace, *sorted(parameters.items())),
            lambda: self._api.list(resource, namespace, **parameters),
        )
        return found

    async def create(
        self, resource: Resource, namespace: str | None, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Ask for an access review of ourselves; nobody needs a right for that, nor has one for others."""
        if resource is ACCESS_REVIEWS:
            attributes = {"resourceAttributes": obj["spec"]["resourceAttributes"]}
            resource = _SELF_ACCESS_REVIEWS
            obj = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": attributes}
        return await self._api.create(resource, namespace, obj, dry_run=dry_run)

"""A reader that keeps what was asked of the API server and what came of it, in the order of asking."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from toolvet.kube.client import HTTP_FORBIDDEN, ApiError
from toolvet.kube.names import Resource, is_object_name
from toolvet.kube.overlay import selected_snapshot
from toolvet.kube.reads import Reader

Object = dict[str, Any]


class Outcome(StrEnum):
    """What a read gave."""

    FOUND = "found"
    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    FAILED = "failed"

    @property
    def known(self) -> bool:
        """Tell whether it gave knowledge."""
        return self in {Outcome.FOUND, Outcome.ABSENT}


@dataclass(frozen=True, slots=True)
class Read:
    """One read; ``objects`` holds what was found."""

    resource: Resource
    name: str
    """Of the object; of the snapshot where its approvals were listed."""
    outcome: Outcome
    objects: tuple[Object, ...] = ()
    listed: bool = False

    @property
    def title(self) -> str:
        """What was read, without any text that is no name."""
        name = self.name if is_object_name(self.name) else "(not a name)"
        return f"{self.resource.plural} of {name}" if self.listed else f"{self.resource.kind}/{name}"


def outcome_of(error: ApiError) -> Outcome:
    """Classify a read that failed."""
    return Outcome.FORBIDDEN if error.status == HTTP_FORBIDDEN else Outcome.FAILED


class Recording:
    """Passes reads on; ``reads`` holds each of them once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.reads: list[Read] = []

    def _keep(self, read: Read) -> None:
        if all((read.resource, read.name) != (known.resource, known.name) for known in self.reads):
            self.reads.append(read)

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """Read one object and keep it; raises ApiError."""
        try:
            found = await self._reader.get(resource, namespace, name, metadata_only=metadata_only)
        except ApiError as error:
            self._keep(Read(resource, name, outcome_of(error)))
            raise
        outcome = Outcome.ABSENT if found is None else Outcome.FOUND
        self._keep(Read(resource, name, outcome, () if found is None else (found,)))
        return found

    async def list(self, resource: Resource, namespace: str | None = None, **parameters: str | int) -> Object:
        """Read a list and keep it; raises ApiError."""
        name = selected_snapshot(parameters)
        try:
            found = await self._reader.list(resource, namespace, **parameters)
        except ApiError as error:
            self._keep(Read(resource, name, outcome_of(error), listed=True))
            raise
        self._keep(Read(resource, name, Outcome.FOUND, tuple(found["items"]), listed=True))
        return found

    async def create(
        self, resource: Resource, namespace: str | None, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Pass an access review on; raises ApiError."""
        return await self._reader.create(resource, namespace, obj, dry_run=dry_run)

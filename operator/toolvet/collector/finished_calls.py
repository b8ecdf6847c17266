"""Held calls that are over go after a while (core.held_call.KEPT): nobody waits for them any more."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus

from toolvet.core.errors import ContractError
from toolvet.core.held_call import is_over
from toolvet.kube.account_resources import held_call_from_object
from toolvet.kube.client import ApiClient, ApiError, Object
from toolvet.kube.names import HELD_TOOL_CALLS
from toolvet.kube.resources import timestamp


async def delete_finished_calls(reads: ApiClient, writes: ApiClient, now: datetime) -> int:
    """Delete the held calls of all namespaces that were over ``KEPT`` ago.

    Returns how many; raises ApiError.
    """
    deleted = 0
    for obj in await reads.items(HELD_TOOL_CALLS):
        metadata = obj["metadata"]
        if not _is_over(obj, now):
            continue
        try:
            # As it was read: the name may be another call's by now.
            version = str(metadata["resourceVersion"])
            if await writes.delete(HELD_TOOL_CALLS, metadata["namespace"], metadata["name"], version=version):
                deleted += 1
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
    return deleted


def _is_over(obj: Object, now: datetime) -> bool:
    try:
        return is_over(held_call_from_object(obj), _status_written_at(obj), now)
    except ContractError:
        return False  # a later release's, perhaps; whoever understands it deletes it


def _status_written_at(obj: Object) -> datetime | None:
    """Return when the status was last written: the API server's own note, which writers cannot set."""
    times = [
        timestamp(entry["time"], "metadata.managedFields")
        for entry in obj["metadata"].get("managedFields") or []
        if entry.get("subresource") == "status" and "time" in entry
    ]
    return max(times, default=None)

"""kopf, embedded: it watches, and its handlers do nothing but enqueue keys.

Only ``on.event`` handlers are registered, since every other style writes to users' objects, keeps state that
survives deletions or retries on its own (research on kopf 1.45; a test holds this). Nothing of kopf's own
is written: no peering, no Events, no annotations, no finalizers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import kopf

from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.names import GROUP, Resource
from toolvet.kube.process import where

Seen = Callable[[Resource, Mapping[str, Any], bool], None]
"""Hears of one event: the kind, the object, whether it was deleted."""

_CHUNK = 500  # objects a page of an initial list; one page is in memory at a time
_INACTIVITY = 70.0  # the API server sends a bookmark a minute: a longer silence is a dead connection


def registry(
    resources: Iterable[Resource], account: ServiceAccount, ca_file: Path, seen: Seen
) -> kopf.OperatorRegistry:
    """Return the handlers: one login, and for each kind one that passes its events on."""
    handlers = kopf.OperatorRegistry()

    @kopf.on.login(registry=handlers, id="service-account", errors=kopf.ErrorsMode.PERMANENT)
    async def login(**_: object) -> kopf.ConnectionInfo:
        # Called again whenever the API server refuses the token: the kubelet has written another by then.
        scheme, _space, token = account.headers()["Authorization"].partition(" ")
        return kopf.ConnectionInfo(server=account.server, ca_path=ca_file, scheme=scheme, token=token)

    for resource in resources:
        _pass_on(handlers, resource, seen)
    return handlers


def _pass_on(handlers: kopf.OperatorRegistry, resource: Resource, seen: Seen) -> None:
    @kopf.on.event(resource.group, resource.version, resource.plural, registry=handlers, id="enqueue")
    async def enqueue(event: Mapping[str, Any], **_: object) -> None:
        seen(resource, event["object"], event["type"] == "DELETED")


def settings() -> kopf.OperatorSettings:
    """Return kopf's settings for a process that only watches."""
    chosen = kopf.OperatorSettings()
    chosen.peering.standalone = True  # our Lease decides who runs
    chosen.scanning.disabled = True  # the kinds are known; no watch on definitions
    chosen.posting.enabled = False
    chosen.posting.loggers = False
    chosen.watching.chunk_size = _CHUNK
    chosen.watching.inactivity_timeout = _INACTIVITY
    chosen.watching.connect_timeout = 5.0
    chosen.networking.connect_timeout = 5.0
    chosen.networking.request_timeout = 30.0
    chosen.networking.error_backoffs = (0.5, 1, 2, 3, 5)
    chosen.networking.enforce_retry_after = True
    # Never used; if a handler of another style slipped in, it would at least not claim kopf's domain.
    chosen.persistence.finalizer = f"{GROUP}/unused"
    return chosen


async def watch(
    handlers: kopf.OperatorRegistry, chosen: kopf.OperatorSettings, spawned: Callable[[], None]
) -> None:
    """Run kopf until it fails or is cancelled. It never ends well by itself.

    ``spawned`` is called once kopf has taken over the signals of the process, to take them back. When kopf
    ends it cancels every task that was made after its start: call this last.
    """
    ours = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=handlers,
        settings=chosen,
        standalone=True,
        clusterwide=True,
        # Used by peering alone. Without one kopf asks who we are, and a user without a name ends it.
        identity="unused",  # type: ignore[arg-type]  # a string by a name that kopf does not export
    )
    spawned()
    await kopf.run_tasks(tasks, ignored=ours)


class ContentFree(logging.Filter):
    """Replaces what libraries log by where and of what type it is: their texts quote the API server's."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let our own records pass, and rewrite all others."""
        if not record.name.startswith("toolvet"):
            fields = {"logger": record.name, "at": f"{Path(record.pathname).name}:{record.lineno}"}
            if record.exc_info and record.exc_info[1] is not None:
                fields["error"] = where(record.exc_info[1])
            record.msg, record.args, record.exc_info = "library_message", (), None
            record.fields = fields
        return True

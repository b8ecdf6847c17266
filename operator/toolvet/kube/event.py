"""One Event (events.k8s.io/v1), named by a digest of what it says and of the occasion.

Repeated, it is the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.kube.client import Object
from toolvet.kube.names import EVENTS, GROUP

MAX_NOTE_BYTES: Final = 1024
"""The API's bound."""
_MAX_INSTANCE: Final = 128
_NAME_DIGITS: Final = 20
_MAX_NAME: Final = 253
_DOMAIN: Final = f"{GROUP}/event.v1"


def event(
    regarding: Mapping[str, object],
    *,
    kind: str,
    reason: str,
    action: str,
    note: str,
    cause: Iterable[object],
    component: str,
    instance: str,
    now: datetime,
) -> Object:
    """Return an Event on a namespaced object; ``kind`` is Normal or Warning.

    ``cause`` sets this occasion apart from any other that reads the same. ``component`` and ``instance`` name
    the program and its process.
    """
    metadata = regarding["metadata"]
    assert isinstance(metadata, Mapping)  # noqa: S101  # what the API server returns has one
    digest = domain_digest(_DOMAIN, canonical_json([*cause, metadata["uid"], reason, note]).encode())
    tail = f".{digest.removeprefix('sha256:')[:_NAME_DIGITS]}"
    name = str(metadata["name"])[: _MAX_NAME - len(tail)].rstrip("-.") + tail
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": f"{GROUP}/{component}",
        "reportingInstance": instance[-_MAX_INSTANCE:],
        "action": action,
        "reason": reason,
        "type": kind,
        "note": note,
        "regarding": {
            "apiVersion": regarding["apiVersion"],
            "kind": regarding["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
    }

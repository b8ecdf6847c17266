"""``toolvet namespace``: choose how a namespace is governed, and wait until that is so.

The API server learns of a new label a moment after it answered. A dry run that must be denied tells when.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from toolvet.cli.output import print_note
from toolvet.cli.session import Session
from toolvet.core.errors import ContractError
from toolvet.core.reasons import Reason
from toolvet.kube.client import HTTP_NOT_FOUND, ApiError
from toolvet.kube.kinds import KINDS
from toolvet.kube.names import GROUP, INVENTORY_ANNOTATION, MODE_LABEL, NAMESPACES, Mode

_PROBE = "toolvet-probe"
_EVERY = 0.2
_DENIED = f'admission webhook "{Mode.ENFORCE}.{GROUP}" denied the request'
_FORBIDDEN = 403


async def set_mode(session: Session, namespace: str, mode: Mode | None, seconds: float) -> dict[str, Any]:
    """Set or take away the mode and wait, at most ``seconds``, until the API server acts on it."""
    patch = {"metadata": {"labels": {MODE_LABEL: mode}}}
    try:
        await session.api.merge(NAMESPACES, None, namespace, patch)
    except ApiError as error:
        if error.status == HTTP_NOT_FOUND:
            raise ContractError("namespace", "not_found") from None
        raise
    in_force = await _wait(session, namespace, mode, seconds)
    name = mode or "not governed"
    if in_force is None:
        print_note(f"namespace {namespace}: {name}; whether it is in force yet could not be tried")
    else:
        print_note(f"namespace {namespace}: {name}, in force")
    return {"namespace": namespace, "mode": mode, "inForce": in_force}


async def _wait(session: Session, namespace: str, mode: Mode | None, seconds: float) -> bool | None:
    if mode is Mode.AUDIT:
        return None  # audit shows nothing to the caller, by design
    deadline = time.monotonic() + seconds
    while True:
        effect = await _effect(session, namespace)
        if effect is _Effect.NOT_ALLOWED:
            return None
        if effect == (mode or _Effect.NOTHING):
            return True
        if time.monotonic() >= deadline:
            raise ContractError("gate", "not_reachable" if effect == _Effect.NO_ANSWER else "not_in_force")
        await asyncio.sleep(_EVERY)


class _Effect:
    NOTHING = "nothing"
    NO_ANSWER = "no answer"
    NOT_ALLOWED = "not allowed"


async def _effect(session: Session, namespace: str) -> str:
    """Dry-run a Deployment that names a missing inventory, and see what the gate makes of it."""
    warned: list[str] = []
    heard, session.api.on_warning = session.api.on_warning, warned.append
    try:
        await session.api.create(KINDS[0].resource, namespace, _must_deny(namespace), dry_run=True)
    except ApiError as error:
        if _DENIED in error.message and str(Reason.INVENTORY_MISSING) in error.message:
            return Mode.ENFORCE
        if error.status == _FORBIDDEN and "admission webhook" not in error.message:
            return _Effect.NOT_ALLOWED
        return _Effect.NO_ANSWER
    finally:
        session.api.on_warning = heard
    return Mode.WARN if any(str(Reason.INVENTORY_MISSING) in text for text in warned) else _Effect.NOTHING


def _must_deny(namespace: str) -> dict[str, Any]:
    labels = {"app": _PROBE}
    template = {
        "metadata": {"labels": labels, "annotations": {INVENTORY_ANNOTATION: f"{_PROBE}-missing"}},
        "spec": {"serviceAccountName": _PROBE, "containers": [{"name": "probe", "image": _PROBE}]},
    }
    return {
        "apiVersion": KINDS[0].resource.api_version,
        "kind": KINDS[0].resource.kind,
        "metadata": {"name": _PROBE, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }

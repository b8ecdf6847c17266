"""HTTP around ``kube.review``: three paths, bounded bodies, a deadline, and probes.

Unknown paths are 404, so that a misspelt configuration fails instead of admitting. Everything else that
goes wrong is a denial in an AdmissionReview.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from toolvet.core.decision import Decision, Verdict
from toolvet.core.reasons import Reason
from toolvet.kube.names import Mode
from toolvet.kube.process import log, where
from toolvet.kube.reads import Reader
from toolvet.kube.review import (
    AdmissionRequest,
    NotUnderstoodError,
    decide_request,
    parse_request,
    refuse,
    respond,
    subject,
)

_LOGGER = logging.getLogger("toolvet.webhook")

MAX_BODY = 8 * 1024 * 1024
_MAX_DRAINED = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_UID_WITHIN = 4096
_UID = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')
_TIMEOUT = re.compile(r"([0-9]{1,3})s")
_DEFAULT_TIMEOUT = 5.0
_SHORTEST = 0.5  # half of the least that the API server can be told to wait
_MARGIN = 1.0  # seconds for the handshake before us, and for a hundred answers that all end now after us


class BodyTooLargeError(Exception):
    """A body over the limit; ``uid`` is what its beginning says."""

    def __init__(self, uid: str) -> None:
        super().__init__("body too large")
        self.uid = uid


@dataclass(slots=True)
class Readiness:
    """Ready once a live decision was made, and then for good.

    A gate out of reach refuses everything; one whose reads fail refuses with a reason. ``draining`` lets go
    of every caller with the answer (see ``webhook.draining``).
    """

    ready: bool = False
    draining: bool = False


def gate(api: Reader, readiness: Readiness, clock: Callable[[], datetime]) -> web.Application:
    """Build the application; ``clock`` gives the time of each decision."""
    application = web.Application(client_max_size=MAX_BODY)

    def handler(mode: Mode) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            response = _json(await _answer(api, request, mode, clock))
            if readiness.draining:
                response.force_close()
            return response

        return handle

    async def live(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if readiness.ready else web.Response(status=503, text="not ready\n")

    application.add_routes([web.post(f"/v1/{mode}", handler(mode)) for mode in Mode])
    application.add_routes([web.get("/livez", live), web.get("/readyz", ready)])
    return application


def runner(application: web.Application) -> web.AppRunner:
    """Return what serves the application; no access log, since every decision is a line of its own."""
    # Bodies are drained by us: whoever goes on sending after our answer is cut off soon.
    return web.AppRunner(application, access_log=None, lingering_time=1.0)


def _json(body: dict[str, Any]) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")


async def _answer(
    api: Reader, http: web.Request, mode: Mode, clock: Callable[[], datetime]
) -> dict[str, Any]:
    """Answer one review; whatever happens, the answer is a review."""
    uid = ""
    # The API server's time runs from when it starts to send.
    ends = asyncio.get_running_loop().time() + _deadline(http.query.get("timeout"))
    try:
        request = parse_request(_loads(await _body(http, ends)))
        uid = request.uid
        return await _decided(api, request, mode, ends, clock)
    except BodyTooLargeError as error:
        return _refused(error.uid, Reason.REQUEST_TOO_LARGE, mode)
    except NotUnderstoodError as error:
        return _refused(error.uid, Reason.INVALID_REQUEST, mode)
    except Exception as error:  # noqa: BLE001  # a fault of ours must become a denial, never a bare 500
        log(_LOGGER, logging.ERROR, "internal_error", error=where(error))
        return _refused(uid, Reason.INTERNAL_ERROR, mode)


def _refused(uid: str, reason: Reason, mode: Mode) -> dict[str, Any]:
    log(_LOGGER, logging.WARNING, "refused", reason=reason, mode=mode)
    return refuse(uid, reason, mode)


async def _decided(
    api: Reader, request: AdmissionRequest, mode: Mode, ends: float, clock: Callable[[], datetime]
) -> dict[str, Any]:
    started = time.monotonic()
    try:
        async with asyncio.timeout_at(ends):
            decision, reads = await decide_request(api, request, clock())
    except TimeoutError:
        decision, reads = Decision(Verdict.DENIED, Reason.STATE_UNAVAILABLE), 0
    log(
        _LOGGER,
        logging.INFO,
        "decision",
        mode=mode,
        verdict=decision.verdict,
        reason=decision.code,
        **subject(request),
        inventory=decision.inventory,
        snapshot=decision.snapshot,
        reads=reads,
        milliseconds=round((time.monotonic() - started) * 1000, 1),
    )
    return respond(request, decision, mode)


def _deadline(timeout: str | None) -> float:
    """Return the seconds a decision may take, from the ``?timeout=`` the API server sends."""
    match = _TIMEOUT.fullmatch(timeout or "")
    whole = float(match[1]) if match else _DEFAULT_TIMEOUT
    return max(whole - min(_MARGIN, whole / 2), _SHORTEST)


def _loads(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    raise NotUnderstoodError("")


async def _body(http: web.Request, ends: float) -> bytes:
    """Read a bounded body. One that is too large is drained, so that the sender reads our answer."""
    chunks: list[bytes] = []
    size = 0
    whole = False
    try:
        async with asyncio.timeout_at(ends):
            async for chunk in http.content.iter_chunked(_CHUNK):
                size += len(chunk)
                if size <= MAX_BODY:
                    chunks.append(chunk)
                else:
                    del chunks[1:]
                if size > _MAX_DRAINED:
                    break
        whole = True
    except (TimeoutError, OSError, aiohttp.ClientError, web.RequestPayloadError):
        # Slow, broken off, or not in the encoding it claims: not whole, whatever the reason.
        whole = False
    if size > MAX_BODY:
        found = _UID.search(b"".join(chunks)[:_UID_WITHIN])
        raise BodyTooLargeError(found[1].decode("ascii") if found else "")
    if not whole:
        raise NotUnderstoodError("")
    return b"".join(chunks)

"""``toolvet webhook``: serve the gate until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from toolvet.kube.client import ApiClient, connect
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.kinds import KINDS
from toolvet.kube.process import log, on_stop, parser, set_up_logging
from toolvet.kube.review import AdmissionRequest, GroupResource, decide_request
from toolvet.webhook.certificate import ServingCertificate
from toolvet.webhook.server import Readiness, gate, runner

_LOGGER = logging.getLogger("toolvet.webhook")
_LOOK_EVERY = 1.0  # seconds between looks at the certificate, and between attempts to become ready
_CALL_TIMEOUT = 4.0
_PROBE_ACCOUNT = "toolvet-readiness"


def run(argv: list[str]) -> int:
    """Run the gate; returns the exit code. ContractError where the surroundings are not those of a Pod."""
    options = _options(argv)
    set_up_logging(verbose=options.verbose)
    asyncio.run(_serve(options))
    return 0


def _options(argv: list[str]) -> argparse.Namespace:
    arguments = parser("webhook", "Serve the admission webhook. Reads current state for every decision.")
    arguments.add_argument("--port", type=int, default=10250, help="TLS port (default: %(default)s)")
    arguments.add_argument(
        "--cert-dir",
        type=Path,
        default=Path("/var/run/toolvet/tls"),
        help="folder with tls.crt and tls.key, looked at every second (default: %(default)s)",
    )
    return arguments.parse_args(argv)


async def _serve(options: argparse.Namespace) -> None:
    account = ServiceAccount(options.service_account_dir)
    certificate = ServingCertificate(options.cert_dir)
    readiness = Readiness()
    stopping = asyncio.Event()
    on_stop(stopping.set)
    async with connect(account, user_agent="toolvet-webhook", call_timeout=_CALL_TIMEOUT) as api:
        server = runner(gate(api, readiness, _now))
        await server.setup()
        try:
            certificate.refresh()
            await web.TCPSite(
                server, options.bind_address, options.port, ssl_context=certificate.front
            ).start()
            log(_LOGGER, logging.INFO, "listening", port=options.port, certificate=certificate.loaded)
            await _keep(api, account.namespace, certificate, readiness, stopping)
        finally:
            await server.cleanup()


def _now() -> datetime:
    return datetime.now(UTC)


async def _keep(
    api: ApiClient,
    namespace: str,
    certificate: ServingCertificate,
    readiness: Readiness,
    stopping: asyncio.Event,
) -> None:
    """Follow the certificate and become ready, until told to stop."""
    while not stopping.is_set():
        certificate.refresh()
        if not readiness.ready and certificate.loaded and await _can_decide(api, namespace):
            readiness.ready = True
            log(_LOGGER, logging.INFO, "ready")
        try:
            await asyncio.wait_for(stopping.wait(), _LOOK_EVERY)
        except TimeoutError:
            continue
    log(_LOGGER, logging.INFO, "stopping")


async def _can_decide(api: ApiClient, namespace: str) -> bool:
    """Make one decision over live state about a workload that nothing governs."""
    kind = KINDS[0].resource
    pod = {"metadata": {}, "spec": {"serviceAccountName": _PROBE_ACCOUNT, "containers": []}}
    request = AdmissionRequest(
        uid="readiness",
        resource=GroupResource(group=kind.group, resource=kind.plural),
        operation="CREATE",
        namespace=namespace,
        userInfo={"username": _PROBE_ACCOUNT},
        object={"metadata": {"name": _PROBE_ACCOUNT}, "spec": {"replicas": 1, "template": pod}},
    )
    decision, reads = await decide_request(api, request, _now())
    return decision.allowed and reads > 0

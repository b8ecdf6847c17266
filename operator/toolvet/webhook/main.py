"""``toolvet webhook``: serve the gate until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from toolvet.kube.client import connect
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.process import log, on_stop, parser, set_up_logging
from toolvet.webhook.certificate import ServingCertificate
from toolvet.webhook.draining import drain
from toolvet.webhook.self_test import Missing, SelfTest
from toolvet.webhook.server import Readiness, gate, runner

_LOGGER = logging.getLogger("toolvet.webhook")
_LOOK_EVERY = 1.0  # seconds between looks at the certificate, and between attempts to become ready
_CALL_TIMEOUT = 3.0  # seconds; a read that hangs is told well before the API server stops waiting
_LOOPBACK = "127.0.0.1"


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
    arguments.add_argument(
        "--webhook-configuration", required=True, help="whose caBundle must fit before we are ready"
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
            certificate.refresh(_now())
            await web.TCPSite(
                server, options.bind_address, options.port, ssl_context=certificate.front
            ).start()
            log(_LOGGER, logging.INFO, "listening", port=options.port, certificate=certificate.loaded)
            self_test = SelfTest(
                api,
                account.namespace,
                options.webhook_configuration,
                options.bind_address or _LOOPBACK,
                options.port,
            )
            await _keep(self_test, certificate, readiness, stopping)
            readiness.draining = True
            await drain(server)
        finally:
            await server.cleanup()


def _now() -> datetime:
    return datetime.now(UTC)


async def _keep(
    self_test: SelfTest, certificate: ServingCertificate, readiness: Readiness, stopping: asyncio.Event
) -> None:
    """Follow the certificate and become ready, until told to stop."""
    told: Missing | None = None
    while not stopping.is_set():
        certificate.refresh(_now())
        if not readiness.ready:
            missing = await self_test.missing(_now()) if certificate.loaded else Missing.CERTIFICATE
            readiness.ready = missing is None
            if missing is None:
                log(_LOGGER, logging.INFO, "ready")
            elif missing is not told:
                log(_LOGGER, logging.INFO, "not_ready", missing=missing)
            told = missing
        try:
            await asyncio.wait_for(stopping.wait(), _LOOK_EVERY)
        except TimeoutError:
            continue
    log(_LOGGER, logging.INFO, "stopping")

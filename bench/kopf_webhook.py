"""The yardstick: kopf's own webhook server with a handler that reads nothing and allows.

Run by ``kopf run``; BENCH_PORT, BENCH_CERTIFICATE and BENCH_KEY say how to serve.
"""

import os
from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:  # noqa: ANN401  # kopf's keyword arguments
    """Serve admission on the port given. The configuration object is the bench's, not managed by kopf."""
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        port=int(os.environ["BENCH_PORT"]),
        certfile=os.environ["BENCH_CERTIFICATE"],
        pkeyfile=os.environ["BENCH_KEY"],
    )


@kopf.on.validate("apps", "v1", "deployments", id="allow")
def allow(**_: Any) -> None:  # noqa: ANN401  # kopf's keyword arguments
    """Admit everything."""

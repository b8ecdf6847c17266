"""Keep the gate's certificates: two Secrets, and the trust in them in the webhook configuration.

The Secret of the authorities holds ``ca-<n>.crt`` and ``ca-<n>.key`` for any number of them; one without a
key is trusted until it ends and signs nothing. The Secret of the gate holds ``tls.crt``, ``tls.key`` and
``ca.crt``, the bundle. What is readable and fits is never touched; other members of both Secrets stay.

Order: the authorities, then ``caBundle``, then a leaf, so that no gate ever serves what the API server does
not trust yet. An authority whose Secret is lost stays trusted: it is found again in ``ca.crt``, and in
``caBundle`` where no key is left at all. To distrust one before it ends, stop the controller, take it out
of both Secrets and start the controller.

The Secrets are made with the owners their caller names, so that they go with the release.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolvet.controller.authority import (
    Authority,
    bundle,
    completed,
    fits,
    issue,
    read_authority,
    read_bundle,
)
from toolvet.kube.client import ApiClient, ApiError, Object
from toolvet.kube.lease import nobody
from toolvet.kube.names import CA_MANAGER, SECRETS, WEBHOOK_CONFIGURATIONS
from toolvet.kube.process import log

_LOGGER = logging.getLogger("toolvet.controller")
CERTIFICATE = "tls.crt"
KEY = "tls.key"
BUNDLE = "ca.crt"
_AUTHORITY_FILE = re.compile(r"ca-(0|[1-9][0-9]{0,8})\.(crt|key)")
_RETRY_SECONDS = 2.0  # after a failure (doubled by the next), and while there is no webhook configuration

Data = dict[str, bytes]
Owners = Callable[[], Awaitable[list[Object]]]
"""Returns the owner references of what is made; raises ApiError."""


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Names of the objects; ``check_seconds`` lie between two looks at them, which are reads only."""

    namespace: str
    ca_secret: str
    tls_secret: str
    service: str
    webhook_configuration: str
    check_seconds: float = 15.0

    @property
    def names(self) -> tuple[str, ...]:
        """The DNS names of the gate; the API server asks for the first."""
        host = f"{self.service}.{self.namespace}.svc"
        return host, f"{host}.cluster.local"


@dataclass(frozen=True, slots=True)
class Changed:
    """What one pass wrote; true where it wrote anything."""

    authorities: bool
    ca_bundle: bool
    serving_pair: bool
    configuration_found: bool

    def __bool__(self) -> bool:
        """Tell whether anything was written."""
        return self.authorities or self.ca_bundle or self.serving_pair


async def keep_serving(
    api: ApiClient,
    settings: ServingSettings,
    stop: asyncio.Event,
    clock: Callable[[], datetime],
    owners: Owners = nobody,
) -> None:
    """Look at everything every ``check_seconds`` and mend it, until told to stop; only the leader may."""
    wait = 0.0
    while not stop.is_set():
        try:
            changed = await ensure_serving(api, settings, clock(), owners)
        except ApiError as error:
            log(_LOGGER, logging.WARNING, "certificates_failed", status=error.status, reason=error.reason)
            wait = min(settings.check_seconds, max(_RETRY_SECONDS, 2 * wait))
        else:
            _report(changed)
            usual = settings.check_seconds
            wait = usual if changed.configuration_found else min(usual, _RETRY_SECONDS)
        try:
            await asyncio.wait_for(stop.wait(), wait)
        except TimeoutError:
            continue


def _report(changed: Changed) -> None:
    if changed:
        log(
            _LOGGER,
            logging.INFO,
            "certificates_written",
            authorities=changed.authorities,
            ca_bundle=changed.ca_bundle,
            serving_pair=changed.serving_pair,
        )
    if not changed.configuration_found:
        log(_LOGGER, logging.DEBUG, "webhook_configuration_missing")


async def ensure_serving(
    api: ApiClient, settings: ServingSettings, now: datetime, owners: Owners = nobody
) -> Changed:
    """Look once and write what is missing, broken or due. ApiError leaves a state that the next pass mends.

    A webhook configuration that does not exist is Helm's to make; its ``caBundle`` follows later.
    """
    ca_secret, tls_secret, configuration = await asyncio.gather(
        api.get(SECRETS, settings.namespace, settings.ca_secret),
        api.get(SECRETS, settings.namespace, settings.tls_secret),
        api.get(WEBHOOK_CONFIGURATIONS, None, settings.webhook_configuration),
    )
    if ca_secret is None:
        # First an empty one, which the next write must find unchanged: two writers never mix their keys.
        ca_secret = await _create(api, settings.namespace, settings.ca_secret, "Opaque", {}, owners)
    authorities, written = await _keep_authorities(
        api, settings, ca_secret, _trusted(tls_secret, configuration), now
    )
    trusted = bundle(authorities.values())
    bundle_written = configuration is not None and await _keep_bundle(api, configuration, trusted)
    pair_written = await _keep_pair(api, settings, tls_secret, list(authorities.values()), now, owners)
    return Changed(written, bundle_written, pair_written, configuration_found=configuration is not None)


def _trusted(
    tls_secret: Object | None, configuration: Object | None
) -> tuple[list[Authority], list[Authority]]:
    """Return the authorities that the Secret of the gate names, and those that the API server trusts."""
    served = read_bundle(_data(tls_secret).get(BUNDLE, b""))
    called = [authority for text in _ca_bundles(configuration) for authority in read_bundle(_decoded(text))]
    return served, called


async def _keep_authorities(
    api: ApiClient,
    settings: ServingSettings,
    secret: Object,
    trusted: tuple[list[Authority], list[Authority]],
    now: datetime,
) -> tuple[Mapping[int, Authority], bool]:
    data = _data(secret)
    known = _authorities(data)
    served, called = trusted
    lost = all(authority.key is None for authority in known.values())
    wanted = completed(known, [*served, *called] if lost else served, now)
    fresh = {name: value for name, value in data.items() if not _AUTHORITY_FILE.fullmatch(name)}
    for number, authority in wanted.items():
        # What can be read stays as it is, byte for byte.
        as_known = known.get(number) is authority
        certificate, key = f"ca-{number}.crt", f"ca-{number}.key"
        fresh[certificate] = data[certificate] if as_known else authority.pem()
        if (key_pem := authority.key_pem()) is not None:
            fresh[key] = data[key] if as_known else key_pem
    if fresh == data:
        return wanted, False
    await _replace(api, settings.namespace, secret, fresh)
    return wanted, True


def _authorities(data: Mapping[str, bytes]) -> dict[int, Authority]:
    numbers = {int(match[1]) for match in map(_AUTHORITY_FILE.fullmatch, data) if match}
    read = {number: _numbered(data, number) for number in sorted(numbers)}
    return {number: authority for number, authority in read.items() if authority is not None}


def _numbered(data: Mapping[str, bytes], number: int) -> Authority | None:
    return read_authority(data.get(f"ca-{number}.crt", b""), data.get(f"ca-{number}.key"))


async def _keep_bundle(api: ApiClient, configuration: Object, trusted: bytes) -> bool:
    wanted = _encoded(trusted)
    if all(text == wanted for text in _ca_bundles(configuration)):
        return False
    # Server-side apply of this one field: the rest of each webhook is Helm's, and stays so on an upgrade.
    webhooks = [
        {"name": webhook["name"], "clientConfig": {"caBundle": wanted}}
        for webhook in configuration.get("webhooks") or []
    ]
    trust = {
        "apiVersion": WEBHOOK_CONFIGURATIONS.api_version,
        "kind": WEBHOOK_CONFIGURATIONS.kind,
        "metadata": {"name": configuration["metadata"]["name"]},
        "webhooks": webhooks,
    }
    await api.apply(WEBHOOK_CONFIGURATIONS, None, trust, manager=CA_MANAGER)
    return True


async def _keep_pair(
    api: ApiClient,
    settings: ServingSettings,
    secret: Object | None,
    authorities: list[Authority],
    now: datetime,
    owners: Owners,
) -> bool:
    data = _data(secret)
    fresh = data | {BUNDLE: bundle(authorities)}
    if not fits(data.get(CERTIFICATE, b""), data.get(KEY, b""), authorities, settings.names, now):
        pair = issue(authorities, settings.names, now)
        fresh |= {CERTIFICATE: pair.certificate, KEY: pair.key}
    if fresh == data:
        return False
    if secret is None:
        await _create(api, settings.namespace, settings.tls_secret, "kubernetes.io/tls", fresh, owners)
    else:
        await _replace(api, settings.namespace, secret, fresh)
    return True


async def _create(api: ApiClient, namespace: str, name: str, kind: str, data: Data, owners: Owners) -> Object:
    """Create a Secret by server-side apply: the right to create can then be limited to its name."""
    secret: dict[str, Any] = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/managed-by": "toolvet-controller"},
            "ownerReferences": await owners(),
        },
        "type": kind,
    }
    if data:
        secret["data"] = {member: _encoded(value) for member, value in data.items()}
    return await api.apply(SECRETS, namespace, secret, manager=CA_MANAGER)


async def _replace(api: ApiClient, namespace: str, secret: Object, data: Data) -> None:
    """Write a Secret that is still the one that was read; 409 where it is not."""
    encoded = {member: _encoded(value) for member, value in data.items()}
    await api.replace(SECRETS, namespace, {**secret, "data": encoded})


def _ca_bundles(configuration: Object | None) -> list[str]:
    webhooks = (configuration or {}).get("webhooks") or []
    return [(webhook.get("clientConfig") or {}).get("caBundle") or "" for webhook in webhooks]


def _data(secret: Object | None) -> Data:
    return {name: _decoded(value) for name, value in ((secret or {}).get("data") or {}).items()}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")

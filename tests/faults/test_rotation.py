"""Certificates change under traffic: no call fails, and what cannot be served is not."""

import asyncio
import base64
import contextlib
import itertools
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509

from controlplane.certificates import CertificateAuthority
from controlplane.processes import Process
from controlplane.projection import project
from controlplane.waiting import POLL_SECONDS
from faults.changes import create, governed
from faults.release import Release
from toolvet.controller.authority import new_authority
from toolvet.controller.serving import ServingSettings, ensure_serving
from toolvet.kube.client import ApiClient, ApiError
from toolvet.kube.names import SECRETS, WEBHOOK_CONFIGURATIONS

A_SECOND = 20
SERVED_SECONDS = 20.0
WRITES_WHILE_WRONG = 25  # longer than between two looks of the gate
OLD = timedelta(days=61)  # a leaf of that age is due, and still valid
NEARLY_OVER = timedelta(days=300)  # an authority of that age does not outlive a leaf made now


@dataclass
class Traffic:
    """Governed writes at a fixed rate, whether or not those before them are answered."""

    admin: ApiClient
    namespace: str
    done: int = 0
    failed: list[str] = field(default_factory=list)
    slowest: float = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        started = time.monotonic()
        async with asyncio.TaskGroup() as writes:
            for number in itertools.count(1):
                pause = started + number / A_SECOND - time.monotonic()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), max(pause, 0))
                if stop.is_set():
                    return
                writes.create_task(self._write(number))

    async def _write(self, number: int) -> None:
        started = time.monotonic()
        try:
            refusal = await create(self.admin, self.namespace, "yes", number)
        except ApiError as error:
            refusal = f"{error}: {error.message}"
        if refusal is not None:
            self.failed.append(refusal)
        self.done += 1
        self.slowest = max(self.slowest, time.monotonic() - started)


@asynccontextmanager
async def traffic(release: Release) -> AsyncIterator[Traffic]:
    """Write all the time; at the end no write may have failed."""
    async with governed(release.bed) as (namespace, admin):
        found, stop = Traffic(admin, namespace), asyncio.Event()
        running = asyncio.create_task(found.run(stop))
        try:
            yield found
        finally:
            stop.set()
            await running
        assert found.failed == []


@dataclass(frozen=True)
class Serving:
    """The Secrets, the trust in them, and the gate that serves what they hold."""

    release: Release
    admin: ApiClient
    settings: ServingSettings
    gate: Process

    async def keep(self, now: datetime) -> None:
        """Do what the controller does when it looks, until it has done all of it."""
        assert await ensure_serving(self.admin, self.settings, now), "nothing to do"
        while await ensure_serving(self.admin, self.settings, now):
            pass

    async def secret(self, name: str) -> dict[str, bytes]:
        found = await self.admin.get(SECRETS, self.settings.namespace, name)
        assert found is not None
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}

    async def write(self, name: str, members: Mapping[str, bytes | None]) -> None:
        """Replace members of a Secret; None takes one away."""
        data = {
            key: None if value is None else base64.b64encode(value).decode() for key, value in members.items()
        }
        await self.admin.merge(SECRETS, self.settings.namespace, name, {"data": data})

    async def delete(self, name: str) -> None:
        await self.admin.delete(SECRETS, self.settings.namespace, name)

    async def trusted(self) -> str:
        """Return the bundle that the API server trusts."""
        found = await self.admin.get(WEBHOOK_CONFIGURATIONS, None, self.settings.webhook_configuration)
        assert found is not None
        return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]).decode()

    async def served(self) -> int:
        """Return the serial number of what a caller is served, who believes the stored bundle.

        A gate must never serve what is not in it yet: a handshake that fails is a failure.
        """
        context = ssl.create_default_context(cadata=await self.trusted())
        _, writer = await asyncio.open_connection(
            *("127.0.0.1", self.release.installed.gate_port),
            ssl=context,
            server_hostname=self.settings.names[0],
        )
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.transport.abort()
        return x509.load_der_x509_certificate(der).serial_number

    async def stored(self) -> int:
        pair = await self.secret(self.settings.tls_secret)
        return x509.load_pem_x509_certificate(pair["tls.crt"]).serial_number

    async def follows(self) -> None:
        """Wait until the gate serves what is stored."""
        wanted, deadline = await self.stored(), time.monotonic() + SERVED_SECONDS
        while await self.served() != wanted:
            assert time.monotonic() < deadline, "the gate does not follow"
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def kept(release: Release, admin: ApiClient) -> AsyncIterator[Serving]:
    """A gate whose certificates nobody keeps but us."""
    chart = release.installed.chart
    settings = ServingSettings(
        namespace=chart.namespace,
        ca_secret=f"{chart.fullname}-ca",
        tls_secret=f"{chart.fullname}-tls",
        service=f"{chart.fullname}-webhook",
        webhook_configuration=chart.fullname,
    )
    release.installed.controllers[0].stop()
    yield Serving(release, admin, settings, release.installed.gates[0])


def _now() -> datetime:
    return datetime.now(UTC)


def _of_another_time(serving: Serving, when: datetime) -> dict[str, bytes | None]:
    """Return a whole pair that is valid for thirty days from some time on."""
    pair = CertificateAuthority("another time", when).issue("gate", dns=list(serving.settings.names))
    return {"tls.crt": pair.certificate, "tls.key": pair.key}


async def leaf_grows_old(serving: Serving) -> None:
    """All of it as a controller would have made it two months ago; that is a rotation by itself."""
    await serving.keep(_now() - OLD)
    await serving.follows()


async def leaf_is_emptied(serving: Serving) -> None:
    await serving.write(serving.settings.tls_secret, {"tls.crt": b"", "tls.key": b""})


async def leaf_is_torn(serving: Serving) -> None:
    other = CertificateAuthority("torn", _now()).issue("gate")
    await serving.write(serving.settings.tls_secret, {"tls.key": other.key})


async def leaf_is_expired(serving: Serving) -> None:
    old = _of_another_time(serving, _now() - timedelta(days=60))
    await serving.write(serving.settings.tls_secret, old)


async def leaf_is_deleted(serving: Serving) -> None:
    await serving.delete(serving.settings.tls_secret)


async def authorities_are_lost(serving: Serving) -> None:
    await serving.delete(serving.settings.ca_secret)
    await leaf_is_emptied(serving)


async def keys_of_authorities_are_lost(serving: Serving) -> None:
    known = await serving.secret(serving.settings.ca_secret)
    await serving.write(serving.settings.ca_secret, {name: None for name in known if name.endswith(".key")})
    await leaf_is_emptied(serving)


async def authority_is_nearly_over(serving: Serving) -> None:
    known = await serving.secret(serving.settings.ca_secret)
    old = new_authority(_now() - NEARLY_OVER)
    members: dict[str, bytes | None] = dict.fromkeys(known)
    await serving.write(
        serving.settings.ca_secret, {**members, "ca-0.crt": old.pem(), "ca-0.key": old.key_pem()}
    )
    await leaf_is_emptied(serving)


async def everything_is_lost(serving: Serving) -> None:
    await serving.delete(serving.settings.ca_secret)
    await leaf_is_deleted(serving)


LOSSES: list[Callable[[Serving], Awaitable[None]]] = [
    leaf_grows_old,
    leaf_is_emptied,
    authorities_are_lost,
    leaf_is_torn,
    keys_of_authorities_are_lost,
    leaf_is_deleted,
    leaf_is_expired,
    authority_is_nearly_over,
    everything_is_lost,
    authorities_are_lost,
]


async def test_ten_rotations_under_traffic_fail_no_call(release: Release) -> None:
    with release.gates():
        async with traffic(release) as writes, kept(release, writes.admin) as serving:
            accepted, started = release.service.accepted, time.monotonic()
            seen, bundles = {await serving.served()}, {await serving.trusted()}
            for lose in LOSSES:
                await lose(serving)
                await serving.keep(_now())
                await serving.follows()
                seen.add(await serving.served())
                bundles.add(await serving.trusted())
            seconds = time.monotonic() - started
        assert len(seen) == len(LOSSES) + 1, "a leaf was served twice"
        assert len(bundles) > len(LOSSES) // 2, "the authorities hardly changed"
    rate = writes.done / seconds
    print(
        f"{len(LOSSES)} rotations, {len(bundles) - 1} of authorities, in {seconds:.1f} s:"
        f" {writes.done} writes ({rate:.0f} a second), 0 failed, slowest {writes.slowest * 1000:.0f} ms,"
        f" {release.service.accepted - accepted} connections"
    )
    assert rate > A_SECOND / 2


async def test_what_is_no_valid_pair_is_not_served(release: Release) -> None:
    with release.gates():
        async with traffic(release) as writes, kept(release, writes.admin) as serving:
            good = await serving.secret(serving.settings.tls_secret)
            served = await serving.served()
            wrong: dict[str, dict[str, bytes | None]] = {
                "torn": {"tls.crt": good["tls.crt"][: len(good["tls.crt"]) // 2], "tls.key": good["tls.key"]},
                "no key": {"tls.crt": good["tls.crt"]},
                "nothing": {},
                "expired": _of_another_time(serving, _now() - timedelta(days=60)),
                "not valid yet": _of_another_time(serving, _now() + timedelta(days=1)),
            }
            for name, files in wrong.items():
                project(serving.release.installed.tls, {key: value or b"" for key, value in files.items()})
                enough, deadline = writes.done + WRITES_WHILE_WRONG, time.monotonic() + SERVED_SECONDS
                while writes.done < enough:
                    assert await serving.served() == served, name
                    assert time.monotonic() < deadline, "no traffic"
                    await asyncio.sleep(POLL_SECONDS)
            told = serving.gate.log.read_text()
            assert told.count('"event": "certificate_refused"') == 1
            assert told.count('"event": "certificate_not_valid_now"') == 2
            release.bed.project_secret(
                serving.settings.namespace, serving.settings.tls_secret, release.installed.tls
            )
    print(f"{len(wrong)} wrong pairs: {writes.done} writes, 0 failed")

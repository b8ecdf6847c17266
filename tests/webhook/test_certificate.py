"""The gate's serving pair swapped under a real TLS listener, as a kubelet swaps files."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from aiohttp import ClientSession, TCPConnector, web
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from controlplane.certificates import CertificateAuthority, KeyPair
from controlplane.projection import project
from toolvet.webhook.certificate import ServingCertificate

HOST = "gate.toolvet-system.svc"


@dataclass
class Listener:
    """A TLS server over the pair in ``folder``, and clients that trust the authority only."""

    folder: Path
    certificate: ServingCertificate
    port: int = 0
    authority: CertificateAuthority = field(
        default_factory=lambda: CertificateAuthority("tests", datetime.now(UTC))
    )

    def refresh(self) -> None:
        self.certificate.refresh(datetime.now(UTC))

    def pair(self) -> KeyPair:
        return self.authority.issue("gate", dns=[HOST])

    def project(self, pair: KeyPair) -> int:
        """Put a pair into the folder as a kubelet does; returns its serial number."""
        project(self.folder, {"tls.crt": pair.certificate, "tls.key": pair.key})
        return x509.load_pem_x509_certificate(pair.certificate).serial_number

    async def connect(
        self,
        *,
        name: str | None = HOST,
        highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        checked: bool = True,
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self.authority.certificate.decode())
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.maximum_version = highest
        # Without a name in the handshake there is nothing to compare the certificate's with.
        context.check_hostname = name is not None and checked
        if not checked:
            context.verify_mode = ssl.CERT_NONE
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname=name or "")

    async def serial(self, name: str | None = HOST, *, checked: bool = True) -> int:
        """Return the serial number of what the next handshake is served; ``checked`` as a caller would."""
        _, writer = await self.connect(name=name, checked=checked)
        found = served(writer)
        writer.close()
        await writer.wait_closed()
        return found


def served(writer: asyncio.StreamWriter) -> int:
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(der).serial_number


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n")
    return await asyncio.wait_for(reader.readuntil(b"still here"), 10)


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="still here")

    application = web.Application()
    application.add_routes([web.get("/", answer), web.post("/", answer)])
    server = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await server.setup()
    folder = tmp_path / "tls"
    found = Listener(folder, ServingCertificate(folder))
    try:
        await web.TCPSite(server, "127.0.0.1", 0, ssl_context=found.certificate.front).start()
        found.port = server.addresses[0][1]
        yield found
    finally:
        await server.cleanup()


@pytest.mark.parametrize("name", [HOST, None], ids=["with a name", "without"])
async def test_the_pair_is_served(listener: Listener, name: str | None) -> None:
    serial = listener.project(listener.pair())
    listener.refresh()
    assert listener.certificate.loaded
    assert await listener.serial(name) == serial


@pytest.mark.parametrize("highest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_current_versions_of_tls_are_spoken(listener: Listener, highest: ssl.TLSVersion) -> None:
    listener.project(listener.pair())
    listener.refresh()
    _, writer = await listener.connect(highest=highest)
    assert writer.get_extra_info("ssl_object").version() == highest.name.replace("_", ".")
    writer.close()


async def test_without_a_pair_no_handshake_succeeds_until_there_is_one(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    listener.refresh()
    assert not listener.certificate.loaded
    for name in (HOST, None):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await listener.connect(name=name)
    serial = listener.project(listener.pair())
    listener.refresh()
    assert await listener.serial() == serial
    assert "Traceback" not in caplog.text


async def test_a_new_pair_is_for_the_next_handshake_and_old_connections_go_on(listener: Listener) -> None:
    first = listener.project(listener.pair())
    listener.refresh()
    old = await listener.connect()
    assert await ask(*old)
    second = listener.project(listener.pair())
    assert await listener.serial() == first  # not before somebody looks
    listener.refresh()
    assert await listener.serial() == second
    assert await ask(*old)
    assert served(old[1]) == first
    old[1].close()


TORN = [
    "an empty certificate",
    "an empty key",
    "half a certificate",
    "another key",
    "a key twice",
    "no files",
]


def torn(fault: str, listener: Listener) -> dict[str, bytes]:
    pair, other = listener.pair(), listener.pair()
    return {
        "an empty certificate": {"tls.crt": b"", "tls.key": pair.key},
        "an empty key": {"tls.crt": pair.certificate, "tls.key": b""},
        "half a certificate": {"tls.crt": pair.certificate[:300], "tls.key": pair.key},
        "another key": {"tls.crt": pair.certificate, "tls.key": other.key},
        "a key twice": {"tls.crt": pair.key, "tls.key": pair.key},
        "no files": {},
    }[fault]


@pytest.mark.parametrize("fault", TORN)
async def test_a_torn_pair_keeps_the_last_good_one(listener: Listener, fault: str) -> None:
    good = listener.project(listener.pair())
    listener.refresh()
    project(listener.folder, torn(fault, listener))
    for _ in range(3):
        listener.refresh()
        assert await listener.serial() == good
    mended = listener.project(listener.pair())
    listener.refresh()
    assert await listener.serial() == mended


@pytest.mark.parametrize("gone", ["tls.crt", "tls.key"])
async def test_a_missing_file_keeps_the_last_good_pair(listener: Listener, gone: str) -> None:
    good = listener.project(listener.pair())
    listener.refresh()
    (listener.folder / gone).unlink()
    listener.refresh()
    assert await listener.serial() == good


@pytest.mark.parametrize("fault", TORN)
async def test_a_torn_pair_at_the_start_is_waited_out(listener: Listener, fault: str) -> None:
    project(listener.folder, torn(fault, listener))
    listener.refresh()
    assert not listener.certificate.loaded
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await listener.connect()
    serial = listener.project(listener.pair())
    listener.refresh()
    assert await listener.serial() == serial


def of_another_time(days: int) -> KeyPair:
    """Return a whole pair that is valid for thirty days from so many days from now on."""
    return CertificateAuthority("another time", datetime.now(UTC) + timedelta(days=days)).issue(
        "gate", dns=[HOST]
    )


@pytest.mark.parametrize("days", [-60, 20], ids=["expired", "not valid yet"])
async def test_a_pair_of_another_time_keeps_the_valid_one(
    listener: Listener, caplog: pytest.LogCaptureFixture, days: int
) -> None:
    caplog.set_level("DEBUG", logger="toolvet")
    good = listener.project(listener.pair())
    listener.refresh()
    listener.project(of_another_time(days))
    for _ in range(3):
        listener.refresh()
        assert await listener.serial() == good
    assert [record.message for record in caplog.records] == [
        "certificate_loaded",
        "certificate_not_valid_now",
    ]
    mended = listener.project(listener.pair())
    listener.refresh()
    assert await listener.serial() == mended


async def test_a_pair_that_was_too_early_is_taken_when_its_time_has_come(listener: Listener) -> None:
    now = datetime.now(UTC)
    good = listener.project(listener.pair())
    listener.refresh()
    later = listener.project(of_another_time(20))
    listener.refresh()
    assert await listener.serial(checked=False) == good
    listener.certificate.refresh(now + timedelta(days=21))
    assert await listener.serial(checked=False) == later


async def test_without_a_valid_one_the_last_whole_pair_is_served(listener: Listener) -> None:
    """Its caller then says that it expired: more than a broken handshake would."""
    expired = listener.project(of_another_time(-60))
    listener.refresh()
    assert await listener.serial(checked=False) == expired
    another = listener.project(of_another_time(-70))
    listener.refresh()
    assert await listener.serial(checked=False) == another


async def test_each_change_is_told_once_and_no_key_with_it(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="toolvet")
    pair = listener.pair()
    listener.project(pair)
    for _ in range(3):
        listener.refresh()
    project(listener.folder, {"tls.crt": b"", "tls.key": pair.key})
    for _ in range(3):
        listener.refresh()
    assert [record.message for record in caplog.records] == ["certificate_loaded", "certificate_refused"]
    assert pair.key.splitlines()[1].decode() not in "".join(str(vars(record)) for record in caplog.records)


async def test_an_encrypted_key_is_refused_and_never_asks_for_a_password(listener: Listener) -> None:
    pair = listener.pair()
    key = serialization.load_pem_private_key(pair.key, password=None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    project(listener.folder, {"tls.crt": pair.certificate, "tls.key": key})
    # OpenSSL would ask on the terminal and hold everything up.
    await asyncio.wait_for(asyncio.to_thread(listener.refresh), 5)
    assert not listener.certificate.loaded


async def test_a_large_request_crosses_a_swap(listener: Listener) -> None:
    listener.project(listener.pair())
    listener.refresh()
    context = ssl.create_default_context(cadata=listener.authority.certificate.decode())
    context.check_hostname = False
    async with ClientSession(connector=TCPConnector(ssl=context)) as session:
        url = f"https://127.0.0.1:{listener.port}/"
        sending = asyncio.create_task(session.post(url, data=BytesIO(b"x" * 4_000_000)))
        for _ in range(5):
            listener.project(listener.pair())
            listener.refresh()
            await asyncio.sleep(0)
        async with await sending as response:
            assert await response.text() == "still here"

"""Bodies too large, compressed, endless or broken off are answered in bounded memory and time."""

import asyncio
import logging
import resource
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from toolvet.kube.names import Mode
from toolvet.webhook.server import MAX_BODY
from webhook.edge import CANARY, UID, Edge, deployment, logged, reason, review

MIB = 1024 * 1024


@pytest.mark.parametrize("mode", Mode)
async def test_a_body_over_the_limit_is_refused_with_the_right_uid(edge: Edge, mode: str) -> None:
    big = deployment()
    big["spec"]["template"]["spec"]["x"] = "x" * (MAX_BODY + 1)
    response = await edge.post(review(object=big), mode)
    assert response["uid"] == UID
    assert response["allowed"] is (mode != Mode.ENFORCE)
    assert response["auditAnnotations"]["reason"] == "request_too_large"


async def test_a_body_at_the_limit_is_judged(edge: Edge) -> None:
    body = review(object=deployment())
    assert (await edge.post(body + b" " * (MAX_BODY - len(body))))["allowed"] is True
    assert reason(await edge.post(body + b" " * (MAX_BODY - len(body) + 1))) == "request_too_large"


async def test_a_compressed_flood_is_refused(edge: Edge) -> None:
    packer = zlib.compressobj(wbits=31)
    flood = b"".join(packer.compress(b" " * MIB) for _ in range(9)) + packer.flush()
    response = await edge.post(flood, **{"Content-Encoding": "gzip"})
    assert reason(response) in {"request_too_large", "invalid_request"}


async def test_what_is_not_in_the_encoding_it_claims_is_refused(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    assert reason(await edge.post(review(), **{"Content-Encoding": "gzip"})) == "invalid_request"
    assert "internal_error" not in logged(caplog)


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MIB


async def test_an_endless_body_is_ended_in_bounded_memory(edge: Edge) -> None:
    before = peak = resident_mib()
    head = b"POST /v1/enforce?timeout=30s HTTP/1.1\r\nHost: gate\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader, writer = await edge.raw(head)
    start = review()[:-1]
    writer.write(f"{len(start):x}\r\n".encode() + start + b"\r\n")
    chunk = f"{MIB:x}\r\n".encode() + b"x" * MIB + b"\r\n"
    answered = asyncio.create_task(reader.readuntil(b'"request_too_large"'))
    with suppress(ConnectionError):
        async with asyncio.timeout(60):
            while True:
                writer.write(chunk)
                await writer.drain()
                peak = max(peak, resident_mib())
    # The caller was answered, and cut off as it would not end.
    assert UID.encode() in await asyncio.wait_for(answered, 10)
    writer.close()
    assert peak - before < 64, f"{peak - before:.0f} MiB"


async def test_a_body_that_never_ends_is_refused_before_the_api_server_gives_up(edge: Edge) -> None:
    head = b"POST /v1/enforce?timeout=1s HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000\r\n\r\n{"
    started = time.monotonic()
    reader, writer = await edge.raw(head)
    answer = await asyncio.wait_for(reader.readuntil(b"invalid_request"), 10)
    assert answer.startswith(b"HTTP/1.1 200")
    assert time.monotonic() - started < 1
    writer.close()


async def test_a_caller_who_hangs_up_is_no_fault_of_ours(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolvet")
    _, writer = await edge.raw(b"POST /v1/enforce HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000\r\n\r\n{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await edge.post(review()))["allowed"] is True
    assert "internal_error" not in logged(caplog)


async def test_rubbish_instead_of_http_is_refused_and_not_logged(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reader, writer = await edge.raw(b"\x16\x03\x01" + CANARY.encode() + b"\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.0 400")
    writer.close()
    assert (await edge.post(review()))["allowed"] is True
    assert CANARY not in logged(caplog)

"""The body of an answer in pieces, each counted after decompression, before anybody holds it."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import ClientResponse

from toolvet.mcp.budget import Meter
from toolvet.mcp.observation import ListingFault, UnknownReason

_PIECE: Final = 64 * 1024
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


async def pieces(response: ClientResponse, meter: Meter) -> AsyncIterator[bytes]:
    """Yield the body; raises ListingFault when it outgrows the budget or is coded otherwise than gzip.

    We ask for no coding; some proxies compress all the same. The client's own decompression is off: it
    would expand a whole piece before we could count it.
    """
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in {"identity", ""}:
        async for piece in response.content.iter_chunked(_PIECE):
            meter.read(len(piece))
            yield piece
        return
    if coding not in {"gzip", "x-gzip"}:
        raise ListingFault(UnknownReason.MALFORMED, "content_encoding")
    decoder = zlib.decompressobj(wbits=_GZIP_WINDOW)
    async for piece in response.content.iter_chunked(_PIECE):
        coded = piece
        while coded and not decoder.eof:
            plain = _expand(decoder, coded)
            coded = decoder.unconsumed_tail
            meter.read(len(plain))
            yield plain
        # Also what expands to nothing costs: empty blocks, or bytes after the end.
        meter.read(len(piece) if decoder.eof else 0)
    if not decoder.eof:
        raise ListingFault(UnknownReason.MALFORMED, "content_encoding")


def _expand(decoder: zlib._Decompress, coded: bytes) -> bytes:
    try:
        return decoder.decompress(coded, _PIECE)
    except zlib.error:
        pass
    raise ListingFault(UnknownReason.MALFORMED, "content_encoding")


async def whole(response: ClientResponse, meter: Meter) -> bytes:
    """Return the whole body."""
    return b"".join([piece async for piece in pieces(response, meter)])

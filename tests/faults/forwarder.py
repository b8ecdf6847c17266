"""What a Service does: TCP connections to one port go to several gates in turn."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator, Sequence

from faults.background import Background

_CHUNK = 64 * 1024
_LOOPBACK = "127.0.0.1"


class Forwarder(Background):
    """Listens on ``port``; ``lead_to`` says where connections go from now on, and ends those there are."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._turn: Iterator[int] = iter(())
        self._open_connections: set[asyncio.StreamWriter] = set()
        self.accepted = 0

    def lead_to(self, ports: Sequence[int]) -> None:
        self.call(self._lead_to(ports))

    async def _lead_to(self, ports: Sequence[int]) -> None:
        self._turn = itertools.cycle(ports)
        for writer in self._open_connections:
            writer.transport.abort()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, _LOOPBACK, self._port)

    async def _close(self) -> None:
        self._server.close()
        for writer in self._open_connections:
            writer.transport.abort()
        await self._server.wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=5) if others else None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        port = next(self._turn, None)
        try:
            if port is None:
                raise ConnectionRefusedError("nobody is behind the Service")
            inner, outer = await asyncio.open_connection(_LOOPBACK, port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, outer}
        self._open_connections |= both
        try:
            await asyncio.gather(_copy(reader, outer), _copy(inner, writer))
        finally:
            self._open_connections -= both
            for each in both:
                each.close()
                with contextlib.suppress(OSError):
                    await each.wait_closed()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    target.close()

"""Leads connections to a port of the machine's loopback to the same port inside of the node's network.

``python doorway.py LISTENER``: a socket stays in the network namespace it was made in, so LISTENER is
reached from outside although this process, and every connection it opens, is inside. Standard library only.
"""

import asyncio
import contextlib
import socket
import sys

_CHUNK = 1 << 16


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()  # one direction may end before the other


async def _serve(listener: socket.socket) -> None:
    port = listener.getsockname()[1]

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # nobody listens there yet
            writer.transport.abort()
            return
        await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))
        for end in (writer, inner_writer):
            end.close()
            with contextlib.suppress(OSError):
                await end.wait_closed()

    server = await asyncio.start_server(lead, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1]))))

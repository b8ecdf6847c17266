"""A server of the era of sessions on loopback, with a stream of its own (GET) that a test writes to."""

import asyncio
import contextlib
import json
import threading

LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def event(message):
    return b"data: " + json.dumps(message).encode() + b"\n\n"


class SessionServer:
    """``stream(send)`` writes what follows the head of the GET's answer; ``heads`` are those answered."""

    def __init__(self, stream=None, *, head=("200 OK", "Content-Type: text/event-stream"), tools=()):
        self.stream, self.head, self.tools = stream, head, list(tools)
        self.listings = self.opened = self.ended = self.open = 0
        self.stream_headers = []
        self.others = []
        self._writers = set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def port(self):
        return self._server.sockets[0].getsockname()[1]

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def send(self, data):
        """Write to every open stream."""
        for writer in list(self._writers):
            writer.write(data)
            await writer.drain()

    async def _handle(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            if path != "/mcp":
                self.others.append(path)
            if method == "GET":
                await self._streamed(reader, writer, headers)
            elif method == "DELETE":
                self.ended += 1
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            else:
                writer.write(self._answer(json.loads(body)))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # whoever asked had enough
        finally:
            writer.close()

    async def _streamed(self, reader, writer, headers):
        self.stream_headers.append(headers)
        self.opened += 1
        status, *lines = self.head
        writer.write("\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *lines, "", ""]).encode())
        await writer.drain()
        if not status.startswith("200"):
            return
        self._writers.add(writer)
        self.open += 1
        try:
            if self.stream is None:
                await reader.read()
            else:
                await self.stream(self.send)
        finally:
            self.open -= 1
            self._writers.discard(writer)

    def _answer(self, message):
        status, extra, result = "200 OK", "", None
        if message["method"] == "server/discover":
            status = "400 Bad Request"
        elif "id" not in message:
            status = "202 Accepted"
        elif message["method"] == "initialize":
            extra = "Mcp-Session-Id: s1\r\n"
            info = {"name": "session", "version": "1.2.3"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        else:
            self.listings += 1
            result = {"tools": self.tools}
        body = b""
        if result is not None:
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        return f"{head}{extra}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def until(what, message, seconds=10.0):
    """Wait on the test's own loop until something holds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not what():  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # what is waited for says nothing by itself
    assert what(), message


@contextlib.contextmanager
def in_background(server):
    """Run a server on a loop of its own; yields a function that sends to every open stream."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(10)

    run(server.__aenter__())
    try:
        yield lambda data: run(server.send(data))
    finally:
        run(server.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

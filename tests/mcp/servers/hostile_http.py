"""An HTTP server that does one odd thing for each path; prints its ports, tells at /hits what was asked."""

import asyncio
import gzip
import json
import sys
from collections import Counter

CANARY = "zqx7-canary"
GIB = 1024**3
METADATA = "169.254.169.254"
MODERN = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": CANARY,
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": CANARY, "version": "1.2.3"}},
}
HITS = {"asked": Counter(), "cookies": 0, "elsewhere": 0, "sessions": [], "bad": []}
PORTS = []


def tool(name, **members):
    return {"name": name, "description": CANARY, "inputSchema": {"type": "object"}, **members}


def listing(*tools, **members):
    return {"tools": list(tools), "resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members}


class Exchange:
    def __init__(self, path, headers, message, writer):
        self.path, self.headers, self.message, self.writer = path, headers, message, writer

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status="200 OK", **headers):
        lines = [f"HTTP/1.1 {status}", "Connection: close", "Set-Cookie: zqx7=zqx7"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def body(self, data, status="200 OK", kind="application/json", **headers):
        await self.head(status, Content_Type=kind, Content_Length=len(data), **headers)
        await self.send(data)

    async def result(self, result, **headers):
        await self.body(self.text(result), **headers)

    def text(self, result):
        return json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode()

    async def error(self, code, status="200 OK", **data):
        error = {"code": code, "message": CANARY, "data": data}
        reply = {"jsonrpc": "2.0", "id": self.message["id"], "error": error}
        await self.body(json.dumps(reply).encode(), status)


BEHAVIOURS = {}


def behaviour(function):
    BEHAVIOURS[function.__name__] = function
    return function


@behaviour
async def honest(x):
    await x.result(listing(tool("one"), tool("two")))


@behaviour
async def honest_in_gzip(x):
    await x.body(gzip.compress(x.text(listing(tool("one"), tool("two")))), Content_Encoding="gzip")


@behaviour
async def endless_pages(x):
    await x.result(listing(nextCursor=f"{CANARY}{HITS['asked'][x.path]}"))


@behaviour
async def repeating_cursor(x):
    await x.result(listing(nextCursor=CANARY))


@behaviour
async def too_many_tools(x):
    await x.result(listing(*[tool(f"t{number}") for number in range(1001)]))


@behaviour
async def gibibyte(x):
    await x.head(Content_Type="application/json", Content_Length=GIB)
    for _ in range(GIB // 2**16):
        await x.send(b" " * 2**16)


@behaviour
async def gzip_bomb(x):
    await x.head(Content_Type="application/json", Content_Encoding="gzip")
    block = gzip.compress(b" " * 2**26)
    for _ in range(16):
        await x.send(block)


@behaviour
async def unknown_coding(x):
    await x.body(x.text(listing()), Content_Encoding="br")


@behaviour
async def slow_drip(x):
    await x.head(Content_Type="application/json", Content_Length=GIB)
    while True:
        await x.send(b" ")
        await asyncio.sleep(0.05)


@behaviour
async def silence(x):
    await asyncio.Event().wait()


@behaviour
async def deep_nesting(x):
    await x.body(x.text(listing())[:-1] + b',"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}")


@behaviour
async def swarm_of_values(x):
    await x.body(x.text(listing())[:-1] + b',"a":[' + b"{}," * 10**6 + b"0]}")


@behaviour
async def remote_reference(x):
    schema = {"type": "object", "$ref": f"http://127.0.0.1:{PORTS[1]}/schema"}
    await x.result(listing(tool("one", inputSchema=schema)))


@behaviour
async def invalid_utf8(x):
    await x.body(x.text(listing(tool("one"))).replace(b"zqx7", b"\xff\xfe"))


@behaviour
async def byte_order_mark(x):
    await x.body(b"\xef\xbb\xbf" + x.text(listing()))


@behaviour
async def duplicate_member(x):
    await x.body(x.text(listing(tool("one"))).replace(b'"description"', b'"name"'))


@behaviour
async def duplicate_name(x):
    await x.result(listing(tool("one"), tool("one")))


@behaviour
async def not_a_number(x):
    await x.body(x.text(listing(tool("one"))).replace(b'"zqx7-canary"', b"NaN"))


@behaviour
async def redirect_to_metadata(x):
    await x.head("307 Temporary Redirect", Location=f"http://{METADATA}/latest/")


@behaviour
async def redirect_elsewhere(x):
    await x.head("308 Permanent Redirect", Location=f"http://127.0.0.1:{PORTS[1]}/honest")


@behaviour
async def redirect_in_circles(x):
    await x.head("307 Temporary Redirect", Location=x.path)


@behaviour
async def redirect_to_another_method(x):
    await x.head("303 See Other", Location="/honest")


@behaviour
async def redirect_at_home(x):
    await x.head("307 Temporary Redirect", Location="/honest")


@behaviour
async def flapping(x):
    HITS["flap"] = not HITS.get("flap")
    await x.result(listing(tool("one"), *([tool("two")] if HITS["flap"] else [])))


@behaviour
async def by_credential(x):
    more = [tool("admin")] if x.headers.get("authorization") == "Bearer admin" else []
    await x.result(listing(tool("one"), *more))


@behaviour
async def endless_events(x):
    await x.head(Content_Type="text/event-stream")
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": CANARY}})
    while True:
        await x.send(f"data: {note}\n\n".encode() * 16)


@behaviour
async def endless_comments(x):
    await x.head(Content_Type="text/event-stream")
    while True:
        await x.send(b": zqx7-canary\n" * 1024)


@behaviour
async def open_stream(x):
    await x.head(Content_Type="text/event-stream")
    while True:
        await x.send(b":\n\n")
        await asyncio.sleep(0.05)


@behaviour
async def answer_on_an_open_stream(x):
    await x.head(Content_Type="text/event-stream")
    note = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
    await x.send(b"id: 1\ndata:\n\n" + note + b"data: " + x.text(listing(tool("one"))) + b"\r\n\r\n")
    await asyncio.Event().wait()


@behaviour
async def stream_without_answer(x):
    await x.body(b"data:\n\n", kind="text/event-stream")


@behaviour
async def wrong_content_type(x):
    await x.body(x.text(listing(tool("one"))), kind="text/html")


@behaviour
async def huge_header(x):
    await x.head(X_Canary=CANARY * 10**5)


@behaviour
async def endless_header(x):
    await x.send(b"HTTP/1.1 200 OK\r\nX-Canary: ")
    while True:
        await x.send(b"zqx7-canary" * 4096)


@behaviour
async def no_http(x):
    await x.send(b"zqx7-canary\r\n\r\n")


@behaviour
async def cut_off(x):
    await x.head(Content_Type="application/json", Content_Length=1000)
    await x.send(b"{")


@behaviour
async def hang_up(x):
    await x.send(b"")


@behaviour
async def unauthorized(x):
    await x.body(CANARY.encode(), "401 Unauthorized", WWW_Authenticate=CANARY)


@behaviour
async def forbidden(x):
    await x.body(CANARY.encode(), "403 Forbidden")


@behaviour
async def unavailable(x):
    await x.body(CANARY.encode(), "503 Service Unavailable")


@behaviour
async def error_answer(x):
    await x.error(-32603)


@behaviour
async def another_id(x):
    await x.body(x.text(listing()).replace(b'"id": 2', b'"id": 2.0'))


@behaviour
async def a_batch(x):
    await x.body(b"[" + x.text(listing()) + b"]")


@behaviour
async def tools_is_an_object(x):
    await x.result(listing() | {"tools": {}})


@behaviour
async def numeric_cursor(x):
    await x.result(listing(nextCursor=1))


@behaviour
async def asks_back(x):
    await x.result({"resultType": "input_required", "inputRequests": {}})


@behaviour
async def some_tools_malformed(x):
    await x.result(listing(tool("one"), tool("two", title=7), {"title": CANARY}, CANARY, tool("three")))


@behaviour
async def no_tools(x):
    await x.result(MODERN | {"capabilities": {}})


@behaviour
async def another_era(x):
    await x.error(-32022, "400 Bad Request", supported=["2099-01-01"], requested="2026-07-28")


@behaviour
async def header_mismatch(x):
    await x.error(-32020, "400 Bad Request")


async def session(x, revision="2025-06-18", identity="s1", capabilities=None):
    """A server of the era of sessions: strict about every header, answers in streams."""
    method = x.message.get("method")
    if method == "server/discover":
        # Some open a session for the request they refuse: it must be forgotten.
        await x.body(CANARY.encode(), "400 Bad Request", kind="text/plain", Mcp_Session_Id="stray")
        return
    given = (x.headers.get("mcp-session-id"), x.headers.get("mcp-protocol-version"))
    expected = (None, None) if method == "initialize" else (identity, revision)
    if method == "DELETE" and x.path == "/session_of_no_revision":
        expected = (identity, None)  # the client does not speak that revision
    if given != expected or "mcp-method" in x.headers:
        HITS["bad"].append([method, *given])
    HITS["sessions"].append(method)
    if method == "initialize":
        opening = {"protocolVersion": revision, "capabilities": {"tools": {}} if capabilities is None else {}}
        info = {"serverInfo": {"name": CANARY, "version": "1.2.3"}}
        await x.result(opening | info, Mcp_Session_Id=identity)
    elif method == "tools/list":
        cursor = x.message["params"].get("cursor")
        page = {"tools": [tool("two")]} if cursor else {"tools": [tool("one")], "nextCursor": "c"}
        await x.body(b"data: " + x.text(page) + b"\n\n", kind="text/event-stream")
    else:
        await x.head("202 Accepted", Content_Length=0)


async def session_of_no_revision(x):
    await session(x, revision="2024-01-01")


async def huge_session_id(x):
    await session(x, identity="s" * 2000)


async def session_without_tools(x):
    await session(x, capabilities=False)


SESSIONS = {
    one.__name__: one for one in (session, session_of_no_revision, huge_session_id, session_without_tools)
}
AT_ONCE = frozenset({"no_tools", "another_era", "header_mismatch"})
"""These are odd from the first request on; the others answer server/discover as they should."""


async def handle(reader, writer):
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        HITS["asked"][path] += 1
        HITS["cookies"] += "cookie" in headers
        HITS["elsewhere"] += writer.get_extra_info("sockname")[1] == PORTS[1]
        message = json.loads(data) if data else {"method": method}
        exchange = Exchange(path, headers, message, writer)
        name = path.removeprefix("/")
        if path == "/hits":
            await exchange.body(json.dumps(HITS).encode())
        elif name in SESSIONS:
            await SESSIONS[name](exchange)
        elif message["method"] == "server/discover" and name not in AT_ONCE:
            await exchange.result(MODERN)
        else:
            await BEHAVIOURS[name](exchange)
    except (ConnectionError, asyncio.IncompleteReadError):
        return  # whoever asked had enough
    finally:
        writer.close()


async def main():
    servers = [await asyncio.start_server(handle, "127.0.0.1", 0) for _ in range(2)]
    PORTS.extend(server.sockets[0].getsockname()[1] for server in servers)
    sys.stdout.write(json.dumps(PORTS) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

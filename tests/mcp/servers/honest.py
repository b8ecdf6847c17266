"""A well-behaved server: three pages, every protocol feature that a client must cope with."""

import sys

import wire

TOOLS = [
    wire.tool("read_file", annotations={"readOnlyHint": True, "title": wire.CANARY}),
    wire.tool("Write.File", annotations={"destructiveHint": False, "idempotentHint": True}, _meta={"x": 1.0}),
    wire.tool("delete-file"),
    wire.tool("append", annotations={"destructiveHint": False, "readOnlyHint": None}, outputSchema={}),
]
PAGES = {None: (TOOLS[:2], "p2"), "p2": (TOOLS[2:3], ""), "": (TOOLS[3:], None)}


def ask(identity, method):
    wire.write({"id": identity, "method": method, "params": {}})
    return wire.read()


def main():
    wire.remember(wire.os.getpid())
    sys.stderr.write(f"{wire.CANARY} is up\n")
    wire.handshake()
    wire.write({"method": "notifications/message", "params": {"level": "info", "data": wire.CANARY}})
    while True:
        request = wire.next_list()
        pong = ask("p-1", "ping")
        assert pong == {"jsonrpc": "2.0", "id": "p-1", "result": {}}, pong
        for identity, method in ((7, "sampling/createMessage"), (8, "roots/list"), (9, "elicitation/create")):
            refusal = ask(identity, method)
            assert refusal["id"] == identity, refusal
            assert refusal["error"]["code"] == -32601, refusal
        wire.write_raw(b"\n")
        tools, cursor = PAGES[request["params"].get("cursor")]
        if "--reversed" in sys.argv:
            tools = [dict(reversed(tool.items())) for tool in reversed(tools)]
        page = {"tools": tools, "_meta": {"ttlMs": 5}}
        wire.answer(request, page if cursor is None else page | {"nextCursor": cursor})


main()

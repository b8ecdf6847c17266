"""Servers that break the protocol or its spirit, one function each; the first argument names the fault."""

import os
import signal
import subprocess
import sys
import time

import wire
from wire import CANARY, answer, handshake, next_list, tool, write, write_raw

DEEP = 200
HOUR = 3600


def dies_at_start():
    sys.exit(3)


def dies_mid_list():
    handshake()
    answer(next_list(), {"tools": [tool(CANARY)], "nextCursor": "2"})
    next_list()
    write_raw(b'{"jsonrpc": "2.0", "id": 3, "result": {"tools": [{"name": "' + CANARY.encode())
    sys.exit(1)


def never_answers():
    time.sleep(HOUR)


def stops_answering():
    handshake()
    time.sleep(HOUR)


def floods_one_line():
    handshake()
    while True:
        write_raw(CANARY.encode() * 8192)


def floods_notifications():
    handshake()
    while True:
        write({"method": "notifications/message", "params": {"data": CANARY * 4096}})


def floods_pings():
    """Asks without end and never reads the answers."""
    handshake()
    ping = b'{"jsonrpc":"2.0","id":"' + CANARY.encode() * 1024 + b'","method":"ping"}\n'
    while True:
        write_raw(ping)


def endless_pages():
    handshake()
    page = 0
    while True:
        page += 1
        answer(next_list(), {"tools": [tool(f"{CANARY}-{page}")], "nextCursor": str(page)})


def repeats_cursor():
    handshake()
    page = 0
    while True:
        page += 1
        answer(next_list(), {"tools": [tool(f"{CANARY}-{page}")], "nextCursor": CANARY})


def too_many_tools():
    handshake()
    answer(next_list(), {"tools": [tool(f"{CANARY}-{index}") for index in range(1001)]})


def duplicate_member():
    handshake()
    next_list()
    definition = b'{"name":"' + CANARY.encode() + b'","name":"b","inputSchema":{"type":"object"}}'
    write_raw(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[' + definition + b"]}}\n")


def duplicate_names():
    handshake()
    answer(next_list(), {"tools": [tool(CANARY), tool("other"), tool(CANARY, description="b")]})


def invalid_utf8():
    handshake()
    next_list()
    write_raw(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"' + CANARY.encode() + b'\xff"}]}}\n')


def byte_order_mark():
    next_message = b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"notifications/message"}\n'
    write_raw(next_message)
    time.sleep(HOUR)


def deep_nesting():
    handshake()
    next_list()
    schema = b'{"a":' * DEEP + b'"' + CANARY.encode() + b'"' + b"}" * DEEP
    definition = b'{"name":"a","inputSchema":' + schema + b"}"
    write_raw(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[' + definition + b"]}}\n")


def not_a_number():
    handshake()
    answer(next_list(), {"tools": [tool("a", inputSchema={"type": "object", "maximum": float("nan")})]})


def non_object_tool():
    handshake()
    answer(next_list(), {"tools": [tool("a"), CANARY]})


def nameless_tool():
    handshake()
    answer(next_list(), {"tools": [tool("a"), {"title": CANARY, "inputSchema": {}}]})


def numeric_name():
    handshake()
    answer(next_list(), {"tools": [tool(7)]})


def tools_is_an_object():
    handshake()
    answer(next_list(), {"tools": {CANARY: tool("a")}})


def numeric_cursor():
    handshake()
    answer(next_list(), {"tools": [], "nextCursor": 7})


def prints_a_banner():
    write_raw(f"{CANARY} server running on stdio\n".encode())
    time.sleep(HOUR)


def speaks_no_jsonrpc():
    write_raw(b'["' + CANARY.encode() + b'"]\n')
    time.sleep(HOUR)


def answers_another_question():
    handshake()
    next_list()
    write({"id": 99, "result": {"tools": [tool(CANARY)]}})
    time.sleep(HOUR)


def answers_with_an_error():
    handshake()
    request = next_list()
    write({"id": request["id"], "error": {"code": -32603, "message": CANARY}})
    time.sleep(HOUR)


def has_no_tools():
    handshake(capabilities={"prompts": {}})


def speaks_no_revision():
    handshake(revision=CANARY)


def huge_integer():
    handshake()
    answer(next_list(), {"tools": [tool("a", _meta={CANARY: 2**53})]})


def lone_surrogate():
    handshake()
    answer(next_list(), {"tools": [tool("a", _meta={"\ud800": CANARY})]})


def text_hint():
    handshake()
    answer(next_list(), {"tools": [tool("a", annotations={"readOnlyHint": CANARY})]})


def no_input_schema():
    handshake()
    answer(next_list(), {"tools": [tool("a"), {"name": "b", "description": CANARY}]})


def refuses_to_go():
    """Ignores SIGTERM and its closed input, and has a child of the same mind."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" not in sys.argv:
        subprocess.Popen([sys.executable, __file__, "refuses_to_go", "child"])
        handshake()
        answer(next_list(), {"tools": [tool("a")]})
    time.sleep(HOUR)


wire.remember(os.getpid())
globals()[sys.argv[1]]()
# A fault that ends here has been told: stay until the client hangs up.
sys.stdin.buffer.read()

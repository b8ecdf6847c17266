"""Whatever a server does over HTTP: one reason, in time, in bounded memory, and nobody else is held up."""

import contextlib
import http.client
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mcp.http_servers import script
from tests.mcp.servers.hostile_http import BEHAVIOURS, CANARY, SESSIONS

from toolvet.core.listing_change import ToolFlag, compare_listings, viewpoint_flags
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.http import list_http_tools

SECONDS = 8
POLICY = AddressPolicy.of("127.0.0.0/8")
UNKNOWN = {
    "endless_pages": ("over_budget", "too_many_pages"),
    "repeating_cursor": ("malformed", "repeated_cursor"),
    "too_many_tools": ("over_budget", "too_many_tools"),
    "gibibyte": ("over_budget", "too_many_bytes"),
    "gzip_bomb": ("over_budget", "too_many_bytes"),
    "unknown_coding": ("malformed", "content_encoding"),
    "slow_drip": ("timed_out", "deadline"),
    "silence": ("timed_out", "deadline"),
    "deep_nesting": ("over_budget", "too_deep"),
    "swarm_of_values": ("over_budget", "too_many_values"),
    "invalid_utf8": ("malformed", "invalid_encoding"),
    "byte_order_mark": ("malformed", "byte_order_mark"),
    "duplicate_member": ("malformed", "duplicate_member"),
    "duplicate_name": ("duplicate_tool_name", "duplicate_tool_name"),
    "not_a_number": ("malformed", "non_finite_number"),
    "redirect_to_metadata": ("redirected", "redirected"),
    "redirect_elsewhere": ("redirected", "redirected"),
    "redirect_in_circles": ("redirected", "redirected"),
    "redirect_to_another_method": ("redirected", "redirected"),
    "endless_events": ("over_budget", "too_many_messages"),
    "endless_comments": ("over_budget", "too_many_bytes"),
    "open_stream": ("timed_out", "deadline"),
    "stream_without_answer": ("malformed", "no_answer"),
    "wrong_content_type": ("malformed", "content_type"),
    "huge_header": ("over_budget", "header_too_large"),
    "endless_header": ("over_budget", "header_too_large"),
    "no_http": ("malformed", "http"),
    "cut_off": ("unreachable", "cut_off"),
    "hang_up": ("unreachable", "connection"),
    "unauthorized": ("unauthorized", "unauthorized"),
    "forbidden": ("unauthorized", "unauthorized"),
    "unavailable": ("refused", "http_status"),
    "error_answer": ("refused", "error_answer"),
    "another_id": ("malformed", "another_id"),
    "a_batch": ("malformed", "not_a_message"),
    "tools_is_an_object": ("malformed", "no_tools_member"),
    "numeric_cursor": ("malformed", "cursor"),
    "asks_back": ("refused", "input_required"),
    "no_tools": ("unsupported", "no_tools_capability"),
    "another_era": ("unsupported", "protocol_version"),
    "header_mismatch": ("refused", "error_answer"),
    "session_of_no_revision": ("unsupported", "protocol_version"),
    "huge_session_id": ("malformed", "session_id"),
    "session_without_tools": ("unsupported", "no_tools_capability"),
}
OBSERVED = {
    "honest": (2, 0, 0),
    "honest_in_gzip": (2, 0, 0),
    "remote_reference": (1, 0, 0),
    "redirect_at_home": (2, 0, 0),
    "flapping": (2, 0, 0),
    "by_credential": (1, 0, 0),
    "answer_on_an_open_stream": (1, 0, 0),
    "some_tools_malformed": (2, 1, 2),
    "session": (2, 0, 0),
}


@pytest.fixture(scope="module")
def origin():
    process = subprocess.Popen(
        script("hostile_http.py"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())[0]}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def report(origin):
    urls = {name: f"{origin}/{name}" for name in [*UNKNOWN, *OBSERVED]}
    task = {"seconds": SECONDS, "urls": urls, "honest": f"{origin}/honest"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "probe_together.py")],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert CANARY not in done.stdout
    return json.loads(done.stdout) | {"hits": asked(origin)}


def asked(origin):
    with contextlib.closing(http.client.HTTPConnection(origin.removeprefix("http://"))) as connection:
        connection.request("GET", "/hits")
        return json.load(connection.getresponse())


def test_every_behaviour_is_expected():
    assert BEHAVIOURS.keys() | SESSIONS.keys() == UNKNOWN.keys() | OBSERVED.keys()


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown(report, name):
    found = report["found"][name]
    assert (found.get("reason"), found.get("detail")) == UNKNOWN[name]
    assert found["seconds"] < SECONDS + 1.5


@pytest.mark.parametrize("name", OBSERVED)
def test_observed(report, name):
    found = report["found"][name]
    assert (found.get("tools"), found.get("malformed"), found.get("nameless")) == OBSERVED[name], found


def test_memory_stays_bounded(report):
    print(f"peak {report['peak_mib']:.0f} MiB")
    assert report["peak_mib"] < 150


def test_another_server_is_listed_all_the_time(report):
    assert {found.get("tools") for found in report["honest"]} == {2}
    slowest = max(found["seconds"] for found in report["honest"])
    print(f"{len(report['honest'])} listings, the slowest took {slowest:.2f} s")
    assert len(report["honest"]) > SECONDS
    assert slowest < 3


def test_nothing_else_was_asked(report):
    hits = report["hits"]
    assert (hits["elsewhere"], hits["cookies"], hits["bad"]) == (0, 0, [])
    assert "/schema" not in hits["asked"]
    assert hits["asked"]["/endless_pages"] == 101  # with server/discover


def test_a_session_is_ended(report):
    calls = ["initialize", "notifications/initialized", "tools/list", "tools/list", "DELETE"]
    of_one = [call for call in report["hits"]["sessions"] if call == "tools/list" or call.startswith("notif")]
    assert len(of_one) == 4  # one whole listing, and the one without tools stops after its notification
    assert set(report["hits"]["sessions"]) == set(calls)


async def test_a_list_that_flaps_is_observed_as_it_is_each_time(origin):
    first, second = [await list_http_tools(f"{origin}/flapping", policy=POLICY) for _ in range(2)]
    assert {len(first.definitions), len(second.definitions)} == {1, 2}
    assert compare_listings(first.observed, second.observed).reasons


async def test_a_list_that_differs_by_credential_is_seen_as_such(origin):
    url = f"{origin}/by_credential"
    user = await list_http_tools(url, policy=POLICY)
    admin = await list_http_tools(url, policy=POLICY, headers={"Authorization": "Bearer admin"})
    assert viewpoint_flags(user.observed, admin.observed) == (ToolFlag.VIEWPOINT_MISMATCH,)

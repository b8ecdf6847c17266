"""Which destinations may be asked, by number and by name; what was checked is what is connected to."""

import asyncio
import ipaddress
import socket

import pytest
from aiohttp.abc import AbstractResolver
from tests.mcp.servers.hostile_http import CANARY

from toolvet.core.errors import ContractError
from toolvet.mcp.address import METADATA_ADDRESSES, AddressPolicy
from toolvet.mcp.endpoint import check_headers, endpoint
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import UnknownListing, UnknownReason

FORBIDDEN = [
    "127.0.0.1", "127.255.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1",
    "0.0.0.0",  # noqa: S104  # nothing is bound
    "169.254.1.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "192.0.2.1",
    "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "ff02::1",
    "fd00:ec2::254", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1",
    "64:ff9b::a9fe:a9fe", "2002:a00:1::1", "2002:7f00:1::", "::10.0.0.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_what_is_not_public_is_refused(text):
    assert not AddressPolicy().permits("server.example", ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_public_is_permitted(text):
    assert AddressPolicy().permits("server.example", ipaddress.ip_address(text))


def test_an_allow_list_names_networks_and_hosts():
    policy = AddressPolicy.of("10.0.0.0/8", "tools.team-a.svc")
    assert policy.permits("any.example", ipaddress.ip_address("10.1.2.3"))
    assert policy.permits("Tools.Team-A.svc.", ipaddress.ip_address("192.168.0.1"))
    assert not policy.permits("other.team-a.svc", ipaddress.ip_address("192.168.0.1"))
    assert not policy.permits("any.example", ipaddress.ip_address("127.0.0.1"))


@pytest.mark.parametrize("address", sorted(METADATA_ADDRESSES, key=str), ids=str)
def test_metadata_is_refused_unless_named_by_itself(address):
    wide = AddressPolicy.of("0.0.0.0/0", "::/0", "named.example")
    assert not wide.permits("named.example", address)
    assert AddressPolicy.of(str(address)).permits("named.example", address)
    if address.version == 4:
        mapped = ipaddress.ip_address(f"::ffff:{address}")
        assert not wide.permits("named.example", mapped)


@pytest.mark.parametrize(
    "entry", ["10.0.0.1/8", "10.0.0.0/33", "http://server.example", "", "a b", "*.example"]
)
def test_an_allow_list_is_not_guessed(entry):
    with pytest.raises(ContractError, match=r"^allow: invalid_(network|host)$"):
        AddressPolicy.of(entry)


class Rebinding(AbstractResolver):
    """Says something else at each question, as a hostile name server does."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host, port=0, family=socket.AF_INET):  # noqa: ARG002  # as aiohttp calls it
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET,
                "proto": 0,
                "flags": 0,
            }
            for address in answer
        ]

    async def close(self):
        pass


@pytest.fixture
async def listener():
    """A place that counts who connects."""
    connections = []

    async def count(_reader, writer):
        connections.append(writer)
        writer.close()

    server = await asyncio.start_server(count, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], connections
    server.close()


@pytest.mark.parametrize(
    ("answers", "allowed", "reason", "connects"),
    [
        ([["127.0.0.1"]], (), UnknownReason.FORBIDDEN_ADDRESS, False),
        ([["127.0.0.1"]], ("rebinding.example",), UnknownReason.UNREACHABLE, True),
        # A mixture is how a name is rebound within one answer.
        ([["127.0.0.1", "10.0.0.1"]], ("127.0.0.0/8",), UnknownReason.FORBIDDEN_ADDRESS, False),
        # Checked once, asked once: the second answer is never used for the connection of the first.
        ([["127.0.0.1"], ["169.254.169.254"]], ("127.0.0.0/8",), UnknownReason.UNREACHABLE, True),
        ([["8.8.8.8"]], (), UnknownReason.PLAIN_HTTP, False),
    ],
)
async def test_a_name_is_checked_where_it_is_resolved(listener, answers, allowed, reason, connects):
    port, connections = listener
    resolver = Rebinding(*answers)
    found = await list_http_tools(
        f"http://rebinding.example:{port}/mcp", policy=AddressPolicy.of(*allowed), resolver=resolver
    )
    assert isinstance(found, UnknownListing)
    assert found.reason is reason
    assert bool(connections) is connects
    assert resolver.asked == 1


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1", "2130706433", "0x7f000001"]
)
async def test_no_spelling_of_loopback_is_asked(listener, host):
    port, connections = listener
    found = await list_http_tools(f"http://{host}:{port}/mcp")
    assert isinstance(found, UnknownListing)
    assert found.reason in {UnknownReason.FORBIDDEN_ADDRESS, UnknownReason.UNREACHABLE}
    assert not connections


async def test_no_proxy_of_the_environment_is_used(listener, monkeypatch):
    port, connections = listener
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    policy = AddressPolicy.of("127.0.0.0/8")
    found = await list_http_tools("http://127.0.0.1:1/mcp", policy=policy)
    assert (found.reason, connections) == (UnknownReason.UNREACHABLE, [])


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"ftp://{CANARY}/", "invalid_scheme"),
        (f"https://{CANARY}:x/", "invalid"),
        ("https:///mcp", "invalid"),
        (f"https://{CANARY}:{CANARY}@server.example/", "credentials_in_url"),
        (f"https://server.example/#{CANARY}", "fragment"),
        ("https://server.example/" + "a" * 2048, "too_long"),
        (f"https://server.example/\n{CANARY}", "invalid"),
    ],
)
def test_an_unusable_url(url, code):
    with pytest.raises(ContractError) as caught:
        endpoint(url)
    assert str(caught.value) == f"url: {code}"
    assert CANARY not in repr((caught.value, caught.value.__cause__, caught.value.__context__))


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": CANARY}, "reserved_name"),
        ({"mcp-session-id": CANARY}, "reserved_name"),
        ({"a b": CANARY}, "invalid_name"),
        ({"Authorization": f"Bearer {CANARY}\r\nHost: x"}, "invalid_value"),
        ({"X-A": "1", "x-a": "2"}, "repeated_name"),
    ],
)
def test_unusable_headers(headers, code):
    with pytest.raises(ContractError) as caught:
        check_headers(headers)
    assert str(caught.value) == f"headers: {code}"

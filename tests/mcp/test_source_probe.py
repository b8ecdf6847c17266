"""``toolvet source probe`` as a process: JSON to standard output, prose to standard error, exit 0, 2 or 3."""

import json
import re
import ssl
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import yaml
from aiohttp import web
from tests.mcp.http_servers import script
from tests.mcp.servers.hostile_http import CANARY, MODERN, listing, tool

from controlplane.certificates import CertificateAuthority
from toolvet.cli.source_mapping import propose
from toolvet.kube.account_resources import source_from_object
from toolvet.mcp.address import AddressPolicy
from toolvet.mcp.http import list_http_tools
from toolvet.mcp.observation import REASON_MEANINGS, Listing, UnknownReason

HERE = ("--allow", "127.0.0.0/8")
DIGESTS = {"exact", "fingerprint", "contract", "hints", "rest"}


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


def probe(*arguments, stdin=None):
    command = [sys.executable, "-m", "toolvet", "source", "probe", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)
    assert "Traceback" not in done.stderr
    assert CANARY not in done.stdout + done.stderr
    return done


def test_a_listing_is_told_in_digests(origin):
    done = probe(f"{origin}/some_tools_malformed", *HERE)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    tools = report.pop("tools")
    assert report.pop("bytes") > 0
    assert report == {
        "outcome": "observed",
        "protocolVersion": "2026-07-28",
        "toolCount": 5,
        "pages": 1,
        "instructionsFlags": [],
    }
    assert [one["index"] for one in tools] == [0, 1, 2, 3, 4]
    assert [one.get("malformed") for one in tools] == [
        None,
        "title: invalid_type",
        "name: missing",
        "definition: invalid_type",
        None,
    ]
    assert tools[0].keys() == {"index", "sideEffectClass", "flags", *DIGESTS}
    assert all(tools[0][name].startswith("sha256:") for name in DIGESTS)
    assert tools[0]["fingerprint"] != tools[4]["fingerprint"]  # the name is part of it
    assert "three" not in done.stdout


def test_names_are_printed_where_asked_for(origin):
    done = probe(f"{origin}/honest", *HERE, "--names")
    assert [one["name"] for one in json.loads(done.stdout)["tools"]] == ["one", "two"]


def test_a_mapping_is_proposed_as_an_mcpsource_takes_it(origin):
    done = probe(f"{origin}/honest", *HERE, "--mapping", "org.example")
    assert (done.returncode, done.stderr) == (0, "")
    mapping = yaml.safe_load(done.stdout)["mapping"]
    assert mapping["defaults"] == {"idNamespace": "org.example"}
    assert mapping["tools"] == [
        {"name": "one", "toolId": "tool:org.example/one"},
        {"name": "two", "toolId": "tool:org.example/two"},
    ]
    done = probe(f"{origin}/honest", *HERE, "--mapping", "not a namespace")
    assert (done.returncode, done.stdout) == (2, "")
    assert "id_namespace: invalid_identifier" in done.stderr


def test_names_that_give_no_id_get_one_that_says_nothing():
    names = ["b.c", "b_c", "z", "\u212a", "x" * 257, "\udc00", None]
    proposal = propose([{"name": name} for name in names], "org.example")
    ids = {item["name"]: item["toolId"] for item in yaml.safe_load(proposal.text)["mapping"]["tools"]}
    assert list(ids) == ["b.c", "b_c", "z", "\u212a"], "in the order of the rule of the resource"
    assert ids.pop("z") == "tool:org.example/z"
    assert all(re.fullmatch("tool:org[.]example/t-[0-9a-f]{32}", text) for text in ids.values())
    assert (proposal.opaque, proposal.unnameable) == (3, 3)
    spec = {"url": "https://a.example/", "inventoryName": "a", **yaml.safe_load(proposal.text)}
    taken = source_from_object({"metadata": {"name": "a"}, "spec": spec}).mapping
    assert {name: entry["toolId"] for name, entry in taken.tools.items()} == {
        **ids,
        "z": "tool:org.example/z",
    }


def test_a_remote_reference_is_flagged(origin):
    done = probe(f"{origin}/remote_reference", *HERE)
    assert json.loads(done.stdout)["tools"][0]["flags"] == ["remote_reference"]


def test_headers_come_from_a_file(origin, tmp_path):
    file = tmp_path / "headers"
    file.write_text("# who asks\n\nAuthorization: Bearer admin\n")
    counts = [
        json.loads(done.stdout)["toolCount"]
        for done in (
            probe(f"{origin}/by_credential", *HERE),
            probe(f"{origin}/by_credential", *HERE, "--header-file", str(file)),
            probe(f"{origin}/by_credential", *HERE, "--header-file", "-", stdin=file.read_text()),
        )
    ]
    assert counts == [1, 2, 2]


@pytest.mark.parametrize(
    ("path", "options", "reason", "status"),
    [
        ("honest", (), "forbidden_address", None),
        ("unauthorized", HERE, "unauthorized", 401),
        ("duplicate_name", HERE, "duplicate_tool_name", None),
        ("silence", (*HERE, "--timeout", "0.5"), "timed_out", None),
    ],
)
def test_nothing_known(origin, path, options, reason, status):
    done = probe(f"{origin}/{path}", *options)
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert (told["outcome"], told["reason"], told["httpStatus"]) == ("unknown", reason, status)
    assert done.stderr == f"unknown: {reason}: {REASON_MEANINGS[UnknownReason(reason)]}\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "error"),
    [
        ((f"ftp://{CANARY}/",), None, "url: invalid_scheme"),
        (("http://server.example/", "--allow", f"{CANARY}/8"), None, "allow: invalid_network"),
        (("http://server.example/", "--header-file", "/nowhere"), None, "headers: unreadable_file"),
        (("http://server.example/", "--header-file", "-"), CANARY, "headers: invalid_line"),
        (("http://server.example/", "--header-file", "-"), f"Host: {CANARY}", "headers: reserved_name"),
        (("http://server.example/", "--header-file", "-"), f"X: \x01{CANARY}", "headers: invalid_value"),
        (("http://server.example/", "--ca-file", "-"), CANARY, "ca: invalid_certificates"),
    ],
)
def test_bad_input(arguments, stdin, error):
    done = probe(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: {error}"


def test_every_reason_has_a_meaning():
    assert REASON_MEANINGS.keys() == set(UnknownReason)


@pytest.fixture(scope="module")
def authority():
    return CertificateAuthority("authority", datetime.now(UTC))


@pytest.fixture
async def over_tls(authority, tmp_path):
    """A server whose certificate is for localhost."""
    pair = authority.issue("server", dns=["localhost"])
    (tmp_path / "cert").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")

    async def answer(request):
        message = await request.json()
        result = MODERN if message["method"] == "server/discover" else listing(tool("one"))
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    app = web.Application()
    app.router.add_post("/mcp", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    yield site._server.sockets[0].getsockname()[1]
    await runner.cleanup()


async def test_certificates_are_verified(over_tls, authority):
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    policy = AddressPolicy.of("127.0.0.0/8", "::1")
    by_name = f"https://localhost:{over_tls}/mcp"
    known = await list_http_tools(by_name, policy=policy, tls=trusting)
    assert isinstance(known, Listing)
    assert len(known.definitions) == 1
    stranger = await list_http_tools(by_name, policy=policy)
    other_name = await list_http_tools(f"https://127.0.0.1:{over_tls}/mcp", policy=policy, tls=trusting)
    assert {stranger.reason, other_name.reason} == {UnknownReason.TLS_FAILED}
    private = await list_http_tools(by_name, tls=trusting)
    assert private.reason is UnknownReason.FORBIDDEN_ADDRESS

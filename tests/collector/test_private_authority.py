"""Servers with the certificate of a private authority: verified by those of the Secret, or not at all."""

import base64
import ssl
from datetime import UTC, datetime

import pytest

from collector.mcp_server import RewritingServer
from collector.watching import (
    CANARY,
    admin_apply,
    condition,
    definition,
    inventory,
    source,
    status,
    wait,
)
from controlplane.certificates import CertificateAuthority
from story.team import Team
from toolvet.collector.credentials import login_of
from toolvet.core.errors import ContractError

URL = "https://mcp.example/mcp"


@pytest.fixture
def authority():
    return CertificateAuthority("private", datetime.now(UTC))


def serving(authority, folder, *addresses):
    pair = authority.issue("server", addresses=addresses)
    files = folder / "tls.crt", folder / "tls.key"
    for file, data in zip(files, (pair.certificate, pair.key), strict=True):
        file.write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


def secret(host, **data):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login"},
        "type": "toolvet.dev/mcp-credentials",
        "stringData": {"host": host, **data},
    }


def test_a_private_authority_is_believed_for_its_host_alone(team: Team, authority, tmp_path) -> None:
    with RewritingServer(definition("read"), tls=serving(authority, tmp_path, "127.0.0.1")) as server:
        host = f"127.0.0.1:{server.port}"
        admin_apply(team, source(server))
        wait(lambda: status(team).get("unknownReason") == "tls_failed", "an unknown authority is believed")

        stranger = CertificateAuthority("stranger", datetime.now(UTC)).certificate.decode()
        admin_apply(team, secret(host, **{"ca.crt": stranger}))
        admin_apply(team, source(server, credentialsSecretName="login"))
        looks = status(team)["attemptedAt"]
        wait(lambda: status(team)["attemptedAt"] != looks, "no look")
        assert status(team)["unknownReason"] == "tls_failed"
        assert not server.seen_headers

        mine = {"ca.crt": authority.certificate.decode()}
        admin_apply(team, secret("mcp.example", **mine))
        wait(lambda: condition(team, "Stalled").get("reason") == "credentials_other_host", "not refused")
        admin_apply(team, secret(host, headers=f"Authorization: Bearer {CANARY}", **mine))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        assert len(inventory(team)) == 1
        assert server.seen_headers[-1]["Authorization"] == f"Bearer {CANARY}"

        admin_apply(team, secret(host, **{"ca.crt": "no certificate"}))
        wait(lambda: condition(team, "Stalled").get("reason") == "credentials_invalid_authority", "accepted")
        assert len(inventory(team)) == 1


def test_a_certificate_of_another_host_is_none_of_this_one(team: Team, authority, tmp_path) -> None:
    with RewritingServer(definition("read"), tls=serving(authority, tmp_path, "127.0.0.2")) as server:
        authorities = {"ca.crt": authority.certificate.decode()}
        admin_apply(team, secret(f"127.0.0.1:{server.port}", **authorities))
        admin_apply(team, source(server, credentialsSecretName="login"))
        wait(lambda: status(team).get("unknownReason") == "tls_failed", "another name is accepted")
        assert not inventory(team)


def stored(**data):
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    return {"type": "toolvet.dev/mcp-credentials", "data": encoded}


def test_what_a_secret_may_hold(authority):
    pem = authority.certificate.decode()
    leaf = authority.issue("server", dns=["mcp.example"]).certificate.decode()
    only = login_of(stored(host="mcp.example", **{"ca.crt": f"# Größe\n{pem}{pem}"}), URL)
    assert only.headers == {}
    assert only.tls.verify_mode is ssl.CERT_REQUIRED
    assert only.tls.check_hostname
    assert only.tls.cert_store_stats()["x509_ca"] == 1, "the system's authorities are not believed beside it"
    assert login_of(stored(host="mcp.example", headers="A: b"), URL).tls is None
    for data, code in (
        ({}, "invalid_data"),
        ({"headers": "no colon " + CANARY}, "invalid_data"),
        ({"ca.crt": ""}, "invalid_authority"),
        ({"ca.crt": CANARY}, "invalid_authority"),
        ({"ca.crt": leaf}, "invalid_authority"),
        ({"ca.crt": pem[: len(pem) // 2] + CANARY}, "invalid_authority"),
        ({"ca.crt": pem, "headers": "no colon"}, "invalid_data"),
    ):
        with pytest.raises(ContractError) as caught:
            login_of(stored(host="mcp.example", **data), URL)
        assert str(caught.value) == f"credentials: {code}"
        assert caught.value.__cause__ is caught.value.__context__ is None

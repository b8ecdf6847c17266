"""Kubeconfig files against the real API server: each way to log in, and a code for every fault."""

import base64
import json
import os
import ssl
import stat
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.bed import ControlPlane
from toolvet.core.errors import ContractError
from toolvet.kube.client import ApiError, connect
from toolvet.kube.kubeconfig import Login, load
from toolvet.kube.manifest import yaml_text
from toolvet.kube.names import SELF_REVIEWS

CANARY = "canary"
EXEC_API = "client.authentication.k8s.io/v1"

Document = dict[str, Any]


@pytest.fixture(autouse=True)
def no_kubeconfig_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def admin(controlplane: ControlPlane) -> Document:
    """The bed's own file: everything inline."""
    document: Document = json.loads(controlplane.kubeconfig().read_bytes())
    return document


@pytest.fixture
def token(controlplane: ControlPlane, namespace: str) -> str:
    return controlplane.token(namespace, "default")


def write(path: Path, document: Document) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml_text(document))
    return path


def with_user(document: Document, user: Document) -> Document:
    return document | {"users": [{"name": "user", "user": user}]}


def raw(document: Document, kind: str, key: str) -> bytes:
    return base64.b64decode(document[f"{kind}s"][0][kind][key])


async def who(login: Login) -> str:
    """The name that the API server knows us by."""
    async with connect(login.credentials, user_agent="toolvet-tests") as api:
        review = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        answer = await api.create(SELF_REVIEWS, None, review)
    name: str = answer["status"]["userInfo"]["username"]
    return name


# Ways to log in


async def test_a_client_certificate_inline(controlplane: ControlPlane) -> None:
    login = load(controlplane.kubeconfig(), None)
    assert login.namespace == "default"
    assert await who(login) == await who(load(controlplane.kubeconfig(), "controlplane"))
    assert not (await who(login)).startswith("system:serviceaccount:")


async def test_a_client_certificate_in_files_beside_it(admin: Document, tmp_path: Path) -> None:
    expected = await who(load(write(tmp_path / "inline", admin), None))
    folder = tmp_path / "files"
    folder.mkdir()
    for name, kind, key in (
        ("ca.crt", "cluster", "certificate-authority"),
        ("a.crt", "user", "client-certificate"),
        ("a.key", "user", "client-key"),
    ):
        (folder / name).write_bytes(raw(admin, kind, f"{key}-data"))
    cluster = {"server": admin["clusters"][0]["cluster"]["server"], "certificate-authority": "ca.crt"}
    user = {"client-certificate": "a.crt", "client-key": str(folder / "a.key")}
    document = with_user(admin | {"clusters": [{"name": "controlplane", "cluster": cluster}]}, user)
    assert await who(load(write(folder / "config", document), None)) == expected


async def test_a_token(admin: Document, token: str, namespace: str, tmp_path: Path) -> None:
    login = load(write(tmp_path / "config", with_user(admin, {"token": token})), None)
    assert await who(login) == f"system:serviceaccount:{namespace}:default"


async def test_a_token_file_is_read_again_for_every_call(
    admin: Document, controlplane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    held = tmp_path / "token"
    held.write_text(controlplane.token(namespace, "default") + "\n")
    document = with_user(admin, {"tokenFile": "token", "token": "outdated"})
    login = load(write(tmp_path / "config", document), None)
    assert await who(login) == f"system:serviceaccount:{namespace}:default"
    controlplane.api(
        "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "other"}}
    )
    held.write_text(controlplane.token(namespace, "other"))
    assert await who(login) == f"system:serviceaccount:{namespace}:other"
    held.unlink()
    with pytest.raises(ContractError) as caught:
        await who(login)
    assert str(caught.value) == "kubeconfig.tokenFile: unreadable_file"


async def test_nobody(admin: Document, tmp_path: Path) -> None:
    login = load(write(tmp_path / "config", with_user(admin, {})), None)
    with pytest.raises(ApiError) as caught:
        await who(login)
    assert caught.value.status in {401, 403}


async def test_a_server_that_is_not_the_clusters_is_not_talked_to(admin: Document, tmp_path: Path) -> None:
    cluster = {"server": admin["clusters"][0]["cluster"]["server"]}
    document = admin | {"clusters": [{"name": "controlplane", "cluster": cluster}]}
    with pytest.raises(ApiError) as caught:
        await who(load(write(tmp_path / "config", document), None))
    assert (caught.value.status, caught.value.reason) == (0, "Unreachable")
    document["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    assert await who(load(write(tmp_path / "config", document), None))


# Plugins


def plugin(tmp_path: Path, status: Document, *, exit_code: int = 0) -> Document:
    """A user with a program of its own that prints these credentials."""
    credential = {"apiVersion": EXEC_API, "kind": "ExecCredential", "status": status}
    program = tmp_path / "bin" / "login"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "assert os.environ['LOGIN_AS'] == 'default' and sys.argv[1:] == ['get']\n"
        f"print({json.dumps(credential)!r})\nsys.exit({exit_code})\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": EXEC_API,
            "command": str(program),
            "args": ["get"],
            "env": [{"name": "LOGIN_AS", "value": "default"}],
            "interactiveMode": "Never",
        }
    }


async def test_a_plugin_gives_a_token(admin: Document, token: str, namespace: str, tmp_path: Path) -> None:
    document = with_user(admin, plugin(tmp_path, {"token": token}))
    login = load(write(tmp_path / "config", document), None)
    assert await who(login) == f"system:serviceaccount:{namespace}:default"


async def test_a_plugin_gives_a_certificate(admin: Document, tmp_path: Path) -> None:
    expected = await who(load(write(tmp_path / "inline", admin), None))
    pair = {
        "clientCertificateData": raw(admin, "user", "client-certificate-data").decode(),
        "clientKeyData": raw(admin, "user", "client-key-data").decode(),
    }
    document = with_user(admin, plugin(tmp_path, pair))
    assert await who(load(write(tmp_path / "config", document), None)) == expected


@pytest.mark.parametrize(
    ("status", "exit_code"), [({"token": CANARY}, 1), ({}, 0), ({"clientCertificateData": CANARY}, 0)]
)
def test_a_plugin_that_fails_is_no_login(
    admin: Document, status: Document, exit_code: int, tmp_path: Path
) -> None:
    document = with_user(admin, plugin(tmp_path, status, exit_code=exit_code))
    assert code(write(tmp_path / "config", document)) == "kubeconfig: login_failed"


def test_a_plugin_that_is_not_there_is_no_login(admin: Document, tmp_path: Path) -> None:
    document = with_user(admin, {"exec": {"apiVersion": EXEC_API, "command": f"/nonexistent/{CANARY}"}})
    assert code(write(tmp_path / "config", document)) == "kubeconfig: login_failed"
    unknown = with_user(admin, {"auth-provider": {"name": CANARY}})
    assert code(write(tmp_path / "unknown", unknown)) == "kubeconfig: login_failed"


# Where the file is, and several of them


async def test_kubeconfig_names_files_and_the_first_to_name_something_wins(
    admin: Document, token: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {
        "current-context": "mine",
        "contexts": [
            {"name": "mine", "context": {"cluster": "controlplane", "user": "user", "namespace": "here"}}
        ],
        "users": [{"name": "user", "user": {"token": token}}],
    }
    # The second file has the cluster, another user of that name, and another current context.
    files = [write(tmp_path / "one" / "config", first), write(tmp_path / "two" / "config", admin)]
    absent = tmp_path / "absent"
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, [absent, *files, ""])))
    login = load(None, None)
    assert login.namespace == "here"
    assert await who(login) == f"system:serviceaccount:{namespace}:default"
    assert load(None, "controlplane").namespace == "default"
    # A file that is named on the command line is the only one.
    assert not (await who(load(files[1], None))).startswith("system:serviceaccount:")


async def test_relative_paths_start_from_the_file_that_has_them(
    admin: Document, token: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "token").write_text(token)
    clusters = {"clusters": admin["clusters"], "current-context": "controlplane"}
    users = {"contexts": admin["contexts"], "users": [{"name": "user", "user": {"tokenFile": "token"}}]}
    files = [write(tmp_path / "one" / "config", clusters), write(tmp_path / "two" / "config", users)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    assert await who(load(None, None)) == f"system:serviceaccount:{namespace}:default"


async def test_the_file_in_the_home_folder(admin: Document, tmp_path: Path) -> None:
    write(tmp_path / "home" / ".kube" / "config", admin)
    assert await who(load(None, None))


def test_no_file_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ContractError, match=r"^kubeconfig: not_found$"):
        load(None, None)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(ContractError, match=r"^kubeconfig: not_found$"):
        load(None, None)


# Faults


def code(path: Path, context: str | None = None, use: Callable[[Login], object] = lambda login: login) -> str:
    with pytest.raises(ContractError) as caught:
        use(load(path, context))
    assert caught.value.__context__ is None
    shown = [line for line in traceback.format_exception(caught.value) if not line.startswith("  File")]
    assert CANARY not in "".join(shown)
    return str(caught.value)


IN_CLUSTER_C = "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
TLS: Callable[[Login], object] = lambda login: login.credentials.ssl_context()  # noqa: E731
HEADERS: Callable[[Login], object] = lambda login: login.credentials.headers()  # noqa: E731


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "kubeconfig: invalid_type"),
        ("[]", "kubeconfig: invalid_type"),
        (f"{CANARY}: [", "kubeconfig: invalid_yaml"),
        (f"a: {CANARY}\na: {CANARY}\n", "kubeconfig: duplicate_member"),
        (f"a: {CANARY}\n", "kubeconfig: no_current_context"),
        (f"current-context: {CANARY}\n", "kubeconfig: unknown_context"),
        (f"current-context: [{CANARY}]\n", "kubeconfig: no_current_context"),
        (f"current-context: a\ncontexts: [{CANARY}]\n", "kubeconfig: unknown_context"),
        (f"current-context: a\ncontexts: {CANARY}\n", "kubeconfig: unknown_context"),
        ("current-context: a\ncontexts: 1\n", "kubeconfig: unknown_context"),
        (f"current-context: a\ncontexts: [{{name: a, context: {CANARY}}}]\n", "kubeconfig: unknown_context"),
        (IN_CLUSTER_C, "kubeconfig: unknown_cluster"),
        (
            IN_CLUSTER_C + f"clusters: [{{name: c, cluster: {{server: [{CANARY}]}}}}]\n",
            "kubeconfig: unknown_cluster",
        ),
    ],
)
def test_a_file_that_leads_nowhere(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    assert code(path) == expected


def test_a_file_that_cannot_be_read(tmp_path: Path, admin: Document) -> None:
    assert code(tmp_path / CANARY) == "kubeconfig: unreadable_file"
    assert code(tmp_path) == "kubeconfig: unreadable_file"
    path = tmp_path / "config"
    path.write_bytes(b"\xff\xfe")
    assert code(path) == "kubeconfig: byte_order_mark"
    assert code(write(path, admin), CANARY) == "kubeconfig: unknown_context"


@pytest.mark.parametrize(
    ("user", "use", "expected"),
    [
        ({"client-certificate-data": CANARY}, TLS, "kubeconfig.client-certificate-data: invalid_base64"),
        ({"client-certificate-data": 1}, TLS, "kubeconfig.client-certificate-data: invalid_base64"),
        ({"client-certificate": CANARY}, TLS, "kubeconfig.client-certificate: unreadable_file"),
        (
            {"client-certificate-data": base64.b64encode(b"x").decode(), "client-key": CANARY},
            TLS,
            "kubeconfig.client-key: unreadable_file",
        ),
        (
            {"client-certificate-data": base64.b64encode(CANARY.encode()).decode(), "client-key-data": ""},
            TLS,
            "kubeconfig: invalid_certificate",
        ),
        ({"tokenFile": CANARY}, HEADERS, "kubeconfig.tokenFile: unreadable_file"),
    ],
)
def test_a_user_that_cannot_be_used(
    admin: Document, user: Document, use: Callable[[Login], object], expected: str, tmp_path: Path
) -> None:
    assert code(write(tmp_path / "config", with_user(admin, user)), None, use) == expected


def test_a_user_who_acts_as_another_is_refused(admin: Document, tmp_path: Path) -> None:
    for key, value in (("as", CANARY), ("as-groups", [CANARY])):
        document = with_user(admin, {"token": "x", key: value})
        assert code(write(tmp_path / "config", document)) == "kubeconfig: impersonation_not_supported"


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ({"certificate-authority": CANARY}, "kubeconfig.certificate-authority: unreadable_file"),
        ({"certificate-authority-data": "%"}, "kubeconfig.certificate-authority-data: invalid_base64"),
        (
            {"certificate-authority-data": base64.b64encode(CANARY.encode()).decode()},
            "kubeconfig: invalid_certificate",
        ),
        (
            {"certificate-authority-data": base64.b64encode(b"\xff").decode()},
            "kubeconfig: invalid_certificate",
        ),
    ],
)
def test_an_authority_that_cannot_be_used(
    admin: Document, cluster: Document, expected: str, tmp_path: Path
) -> None:
    server = admin["clusters"][0]["cluster"]["server"]
    document = admin | {"clusters": [{"name": "controlplane", "cluster": {"server": server, **cluster}}]}
    assert code(write(tmp_path / "config", document), None, TLS) == expected


def test_a_server_without_tls_gets_no_context(admin: Document, tmp_path: Path) -> None:
    cluster = {"server": "http://127.0.0.1:1/"}
    document = admin | {"clusters": [{"name": "controlplane", "cluster": cluster}]}
    login = load(write(tmp_path / "config", document), None)
    assert login.credentials.server == "http://127.0.0.1:1"
    assert login.credentials.ssl_context() is None
    assert isinstance(load(write(tmp_path / "tls", admin), None).credentials.ssl_context(), ssl.SSLContext)

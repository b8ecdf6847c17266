"""The control plane is real, starts in time, and serves what the other tests stand on."""

import base64
import json
import signal
import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from controlplane import bed as bed_module
from controlplane import build, lifecycle
from controlplane.api import ApiError
from controlplane.bed import ControlPlane, ControlPlaneError
from controlplane.commands import CommandError
from controlplane.waiting import wait_until

pytestmark = pytest.mark.cluster


class Denier(BaseHTTPRequestHandler):
    """An admission webhook that refuses everything."""

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"code": 403, "message": "refused by the test"}
        response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
        body = json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments):
        pass


@contextmanager
def denying_server(pair, folder):
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Denier) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_starts_within_ten_seconds(controlplane):
    assert 0 < controlplane.start_seconds <= 10


def test_users_are_who_their_certificate_says(controlplane):
    kubeconfig = controlplane.kubeconfig("alice", ["reviewers", "team-a"])
    answer = controlplane.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig)
    user = json.loads(answer.stdout)["status"]["userInfo"]
    assert user["username"] == "alice"
    assert user["groups"] == ["reviewers", "team-a", "system:authenticated"]


def test_admin_may_everything_and_others_nothing(controlplane, namespace):
    assert controlplane.kubectl("auth", "can-i", "*", "*").stdout == "yes\n"
    refused = controlplane.kubectl(
        "get", "pods", "-n", namespace, kubeconfig=controlplane.kubeconfig("bob"), check=False
    )
    assert refused.returncode == 1
    assert 'User "bob" cannot list resource "pods"' in refused.stderr


def test_tokens_are_subject_to_rbac(controlplane, namespace):
    controlplane.kubectl("create", "serviceaccount", "agent", "-n", namespace)
    kubeconfig = controlplane.service_account_kubeconfig(namespace, "agent")

    def read():
        return controlplane.kubectl("get", "configmaps", "-n", namespace, kubeconfig=kubeconfig, check=False)

    refused = read()
    assert refused.returncode == 1
    assert "(Forbidden)" in refused.stderr
    assert f"system:serviceaccount:{namespace}:agent" in refused.stderr
    controlplane.kubectl(
        "create",
        "rolebinding",
        "view",
        "--clusterrole=view",
        f"--serviceaccount={namespace}:agent",
        "-n",
        namespace,
    )
    wait_until(lambda: read().returncode == 0, 10, "the role binding has no effect")


def test_service_account_directory_is_like_a_pods(controlplane, namespace):
    directory = controlplane.service_account(namespace, "default")
    assert {path.name for path in directory.iterdir() if not path.name.startswith("..")} == {
        "token",
        "ca.crt",
        "namespace",
    }
    assert (directory / "namespace").read_text() == namespace
    assert (directory / "ca.crt").read_bytes() == controlplane.ca_file.read_bytes()
    payload = (directory / "token").read_text().split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["sub"] == f"system:serviceaccount:{namespace}:default"
    assert claims["exp"] - claims["iat"] == 3600


def test_a_token_is_renewed_in_place(controlplane, namespace):
    directory = controlplane.service_account(namespace, "default")
    before = (directory / "..data").readlink()
    assert controlplane.service_account(namespace, "default", seconds=7200) == directory
    assert (directory / "..data").readlink() != before
    assert not (directory / before).exists()


def test_a_missing_service_account_is_named(controlplane, namespace, monkeypatch):
    monkeypatch.setattr(bed_module, "ACCOUNT_SECONDS", 0.2)
    with pytest.raises(TimeoutError, match=f"no service account {namespace}/nobody"):
        controlplane.token(namespace, "nobody")


def test_environment_is_that_of_a_pod(controlplane):
    host, port = controlplane.environment().values()
    assert controlplane.server == f"https://{host}:{port}"


def test_a_failed_command_shows_what_it_wrote(controlplane):
    with pytest.raises(CommandError, match='"nothing-like-it" not found'):
        controlplane.kubectl("get", "namespace", "nothing-like-it")


def test_helm_reaches_the_cluster(controlplane, namespace):
    assert json.loads(controlplane.helm("list", "-n", namespace, "-o", "json").stdout) == []


def test_controllers_work_under_their_own_accounts(controlplane, namespace):
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "agent", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "agent", "image": "example.invalid/agent:1"}]},
            },
        },
    }
    controlplane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(manifest))
    path = f"/api/v1/namespaces/{namespace}/pods"
    wait_until(lambda: controlplane.api("GET", path)["items"], 20, "no Pod was made")
    writers = {
        event["user"]["username"]
        for event in map(json.loads, controlplane.audit_log.read_text().splitlines())
        if event["verb"] == "create" and event["objectRef"].get("namespace") == namespace
    }
    assert "system:serviceaccount:kube-system:deployment-controller" in writers
    assert "system:serviceaccount:kube-system:replicaset-controller" in writers


def test_a_deleted_namespace_goes(controlplane):
    name = controlplane.create_namespace()
    controlplane.kubectl("create", "configmap", "left", "-n", name)
    controlplane.delete_namespace(name)

    def gone():
        try:
            controlplane.api("GET", f"/api/v1/namespaces/{name}")
        except ApiError as error:
            return error.status == 404
        return False

    wait_until(gone, 60, "the namespace is still there")
    controlplane.delete_namespace(name)  # harmless


def test_audit_log_has_every_write_with_its_user(controlplane, namespace):
    role = f"--namespace={namespace}"
    controlplane.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "--user=carol", role)
    carol = controlplane.kubeconfig("carol")

    def create():
        return controlplane.kubectl("create", "configmap", "mine", role, kubeconfig=carol, check=False)

    wait_until(lambda: create().returncode == 0, 10, "the role binding has no effect")
    events = [json.loads(line) for line in controlplane.audit_log.read_text().splitlines()]
    mine = [e for e in events if e["user"]["username"] == "carol" and e["verb"] == "create"]
    assert {event["level"] for event in events} == {"Metadata"}
    assert {event["stage"] for event in events} <= {"ResponseStarted", "ResponseComplete"}
    assert [e["responseStatus"]["code"] for e in mine][-1] == 201
    assert mine[-1]["objectRef"]["namespace"] == namespace


def test_audit_log_must_be_asked_for():
    with pytest.raises(ControlPlaneError, match="audit=True"):
        assert ControlPlane().audit_log


def test_webhook_is_reached_through_an_external_name(controlplane, namespace, tmp_path):
    service = {
        "metadata": {"name": "gate"},
        "spec": {"ports": [{"port": 443}], "selector": {"app": "gate"}},  # as a chart makes it: ClusterIP
    }
    controlplane.api("POST", f"/api/v1/namespaces/{namespace}/services", service)
    controlplane.serve_locally(namespace, "gate")
    pair = controlplane.authority.issue("gate", dns=[f"gate.{namespace}.svc"])
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with denying_server(pair, tmp_path) as port:
        webhook = {
            "name": "deny.test.invalid",
            "clientConfig": {
                "service": {"namespace": namespace, "name": "gate", "port": port},
                "caBundle": base64.b64encode(controlplane.authority.certificate).decode(),
            },
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["configmaps"],
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "failurePolicy": "Ignore",  # only an answer of the webhook can refuse
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        controlplane.api("POST", configurations, {"metadata": {"name": namespace}, "webhooks": [webhook]})
        try:

            def refused():
                arguments = ("create", "configmap", "x", "-n", namespace, "--dry-run=server")
                return "refused by the test" in controlplane.kubectl(*arguments, check=False).stderr

            wait_until(refused, 10, "the webhook was not called")
        finally:
            controlplane.api("DELETE", f"{configurations}/{namespace}")


def test_secret_is_projected_as_by_a_kubelet(controlplane, namespace, tmp_path):
    controlplane.kubectl("create", "secret", "generic", "pair", "--from-literal=tls.crt=one", "-n", namespace)
    folder = controlplane.project_secret(namespace, "pair", tmp_path / "tls")
    assert (folder / "tls.crt").read_text() == "one"
    secret = f"/api/v1/namespaces/{namespace}/secrets/pair"
    controlplane.api("PATCH", secret, {"stringData": {"tls.key": "two"}, "data": {"tls.crt": None}})
    controlplane.project_secret(namespace, "pair", folder)
    assert [path.name for path in folder.iterdir() if not path.name.startswith("..")] == ["tls.key"]


def test_a_daemon_that_ends_is_named_with_its_log(tmp_path):
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho the disk is on fire\nexit 3\n")
    broken.chmod(0o755)
    bed = ControlPlane(names={**build.programs(), "etcd": broken})
    with pytest.raises(ControlPlaneError, match=r"etcd ended with exit code 3:\n  the disk is on fire"):
        bed.start()
    assert not bed.directory.exists()


def test_a_lost_port_is_replaced(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        lost = taken.getsockname()[1]
        ports = iter([lost, lifecycle.free_port()])
        # The race itself: free when chosen, taken when used.
        monkeypatch.setattr(lifecycle, "free_port", lambda: next(ports))
        with ControlPlane(scheduler=True) as bed:
            assert bed.port != lost
            assert set(bed.processes) == {
                "etcd",
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
            }
            assert [process.poll() for process in bed.processes.values()] == [None] * 4


def test_process_under_test_stops_when_asked(controlplane):
    polite = controlplane.start_process("polite", ["/bin/sh", "-c", "echo ready; exec sleep 1000"])
    wait_until(lambda: "ready" in polite.tail(), 10, "it did not start")
    assert polite.poll() is None
    assert polite.stop() == -signal.SIGTERM
    assert polite.stop() == -signal.SIGTERM  # harmless


def test_process_that_does_not_listen_is_killed(controlplane):
    deaf = controlplane.start_process("deaf", ["/bin/sh", "-c", "trap '' TERM; echo ready; exec sleep 1000"])
    wait_until(lambda: "ready" in deaf.tail(), 10, "it did not start")
    assert deaf.stop(seconds=0.2) == -signal.SIGKILL


def test_process_gets_exactly_its_environment(controlplane):
    process = controlplane.start_process("environment", ["/usr/bin/env"], controlplane.environment())
    assert process.wait(10) == 0
    assert process.log.read_text() == (
        f"KUBERNETES_SERVICE_HOST=127.0.0.1\nKUBERNETES_SERVICE_PORT={controlplane.port}\n"
    )


def test_process_that_cannot_start_is_named(controlplane):
    with pytest.raises(RuntimeError, match="absent cannot be started: No such file or directory"):
        controlplane.start_process("absent", ["/nonexistent/program"])


def test_programs_are_the_pinned_version(controlplane):
    go_mod = (build.SOURCE / "go.mod").read_text()
    version = json.loads(controlplane.kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
    assert f"k8s.io/kubernetes {version}\n" in go_mod

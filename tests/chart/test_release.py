"""The chart's life on a real API server: install, upgrade, diff, uninstall."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import yaml

from chart.rights import NAMESPACE
from controlplane.bed import ControlPlane
from controlplane.chart import CHART, install_chart
from controlplane.waiting import wait_until

OURS = (
    *("customresourcedefinitions", "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    *("validatingwebhookconfigurations", "clusterroles", "clusterrolebindings"),
    *("deployments", "services", "serviceaccounts", "roles", "rolebindings"),
    *("poddisruptionbudgets", "networkpolicies", "flowschemas", "prioritylevelconfigurations"),
)
LABEL = "app.kubernetes.io/instance=toolvet"


def helm_install(bed: ControlPlane, *options: str, program: str = "helm") -> None:
    arguments = ("install", "toolvet", CHART, "--namespace", NAMESPACE, "--create-namespace")
    bed.helm(*arguments, *options, program=program)


def versions(bed: ControlPlane) -> dict[str, str]:
    """resourceVersion of everything of the release, and of nothing that changes by itself."""
    shown = bed.kubectl("get", ",".join(OURS), "-A", "--selector", LABEL, "--output", "json")
    return {
        f"{item['kind']}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for item in json.loads(shown.stdout)["items"]
        if item["kind"] not in ("Deployment", "CustomResourceDefinition")
    }


def names(bed: ControlPlane, kind: str) -> list[str]:
    shown = bed.kubectl("get", kind, "-A", "--selector", LABEL, "--output", "name")
    return shown.stdout.split()


@pytest.fixture
def program() -> str:
    """The Helm that ``release`` was installed by; a test may ask for another."""
    return "helm"


@pytest.fixture
def release(controlplane: ControlPlane, program: str) -> Iterator[ControlPlane]:
    """The folder's control plane with the chart installed; the definitions it keeps are the next one's."""
    helm_install(controlplane, "--set", "networkPolicy.enabled=true", program=program)
    yield controlplane
    controlplane.helm("uninstall", "toolvet", "-n", NAMESPACE, "--ignore-not-found", program=program)


both_helms = pytest.mark.parametrize("program", ["helm", "helm3"])


@pytest.fixture
def new_cluster() -> Iterator[ControlPlane]:
    """A control plane for one test. The API server may take minutes to finish deleting a definition that
    was changed a moment ago, so nobody waits for that here."""
    with ControlPlane() as bed:
        yield bed


@both_helms
def test_upgrades_change_nothing_and_leave_the_controllers_fields_alone(
    release: ControlPlane, program: str
) -> None:
    bundle = base64.b64encode(release.ca_file.read_bytes()).decode()
    trust = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "toolvet"},
        "webhooks": [
            {"name": f"{mode}.toolvet.dev", "clientConfig": {"caBundle": bundle}}
            for mode in ("enforce", "warn", "audit")
        ],
    }
    apply = ("apply", "--server-side", "--field-manager=toolvet-ca", "--filename", "-")
    release.kubectl(*apply, input=json.dumps(trust))
    before = versions(release)
    for _ in range(2):
        release.helm("upgrade", "toolvet", CHART, "-n", NAMESPACE, "--reuse-values", program=program)
    assert versions(release) == before
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/toolvet"
    # Also by the next Helm over what an older one installed.
    release.helm("upgrade", "toolvet", CHART, "-n", NAMESPACE, "--reuse-values")
    hooks = release.api("GET", path)["webhooks"]
    assert {hook["clientConfig"]["caBundle"] for hook in hooks} == {bundle}


def test_a_server_side_diff_after_install_is_empty(release: ControlPlane) -> None:
    manifest = release.helm("get", "manifest", "toolvet", "-n", NAMESPACE).stdout
    objects = [obj for obj in yaml.safe_load_all(manifest) if obj]
    for obj in objects:
        # What helm adds to every object on its way to the release.
        obj["metadata"].setdefault("annotations", {}).update(
            {"meta.helm.sh/release-name": "toolvet", "meta.helm.sh/release-namespace": NAMESPACE}
        )
    done = release.kubectl(
        *("diff", "--server-side", "--filename", "-"), input=yaml.safe_dump_all(objects), check=False
    )
    assert done.returncode == 0, done.stdout


@both_helms
def test_the_manifest_holds_the_webhook_configuration_and_uninstalling_takes_it_away(
    release: ControlPlane, program: str
) -> None:
    manifest = release.helm("get", "manifest", "toolvet", "-n", NAMESPACE, program=program).stdout
    assert "kind: ValidatingWebhookConfiguration" in manifest
    release.helm("uninstall", "toolvet", "--namespace", NAMESPACE, program=program)
    for kind in OURS[3:]:
        assert names(release, kind) == [], kind
    assert len(names(release, "customresourcedefinitions")) == 8
    assert len(names(release, "validatingadmissionpolicies")) == 12
    assert len(names(release, "validatingadmissionpolicybindings")) == 12
    # What was kept is taken over by the next release of the same name.
    helm_install(release, program=program)


def test_nothing_is_kept_where_the_values_say_so(new_cluster: ControlPlane) -> None:
    helm_install(new_cluster, "--set", "crds.keep=false")
    new_cluster.helm("uninstall", "toolvet", "--namespace", NAMESPACE)
    for kind in OURS[1:]:
        assert names(new_cluster, kind) == [], kind
    shown = new_cluster.kubectl("get", "customresourcedefinitions", "--output", "json").stdout
    assert all("deletionTimestamp" in item["metadata"] for item in json.loads(shown)["items"])


def test_definitions_may_come_from_elsewhere(new_cluster: ControlPlane) -> None:
    new_cluster.kubectl("apply", "--server-side", "--filename", CHART.parent.parent / "crds")
    helm_install(new_cluster, "--set", "crds.enabled=false")
    assert names(new_cluster, "customresourcedefinitions") == []
    new_cluster.helm("uninstall", "toolvet", "--namespace", NAMESPACE)
    new_cluster.kubectl("get", "toolinventories")


def test_the_pods_of_both_pass_the_restricted_standard(release: ControlPlane) -> None:
    enforce = "pod-security.kubernetes.io/enforce=restricted"
    # The API server warns for every Pod template that its namespace would not let become a Pod.
    release.kubectl("label", "namespace", NAMESPACE, enforce, "pod-security.kubernetes.io/warn=restricted")
    for process in ("controller", "webhook"):
        done = release.kubectl(
            *("rollout", "restart", f"deployment/toolvet-{process}", "--namespace", NAMESPACE)
        )
        assert "PodSecurity" not in done.stderr
        wait_until(
            lambda process=process: (
                release.kubectl(
                    *("get", "pods", "--namespace", NAMESPACE, "--output", "name"),
                    *("--selector", f"app.kubernetes.io/component={process}"),
                ).stdout
            ),
            20,
            "no Pod was let in",
        )


def test_the_controllers_account_makes_its_two_secrets_by_apply_and_no_other(release: ControlPlane) -> None:
    account = release.service_account_kubeconfig(NAMESPACE, "toolvet-controller")

    def apply(name: str) -> int:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}}
        return release.kubectl(
            *("apply", "--server-side", "--validate=false", "--filename", "-"),
            input=json.dumps(secret),
            kubeconfig=account,
            check=False,
        ).returncode

    assert apply("toolvet-ca") == 0
    assert apply("toolvet-tls") == 0
    assert apply("another") == 1
    for question, answer in (
        (("create", "leases"), "yes"),
        (("update", "leases/toolvet-controller"), "yes"),
        (("update", "leases/other"), "no"),
        (("create", "secrets"), "no"),
        (("get", "secrets/other"), "no"),
        (("patch", "validatingwebhookconfigurations/toolvet"), "yes"),
        (("patch", "validatingwebhookconfigurations/other"), "no"),
        (("patch", "toolinventories", "--subresource=status", "-n", "default"), "yes"),
        (("patch", "toolinventories", "-n", "default"), "no"),
        (("approve", "runtoolcatalogsnapshots", "-n", "default"), "no"),
        (("exempt", "catalogpolicies"), "no"),
    ):
        scope = () if "-n" in question or "catalogpolicies" in question else ("-n", NAMESPACE)
        told = release.kubectl("auth", "can-i", *question, *scope, kubeconfig=account, check=False)
        assert told.stdout.strip() == answer, question


@pytest.mark.parametrize("process", ["webhook", "controller"])
def test_each_process_has_seats_of_its_own_at_the_api_server(release: ControlPlane, process: str) -> None:
    name = f"toolvet-{process}"
    level = release.api("GET", f"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/{name}")
    request = urllib.request.Request(  # noqa: S310  # the bed's own server
        f"{release.server}/apis/toolvet.dev/v1alpha1/toolinventories?limit=1",
        headers={"Authorization": f"Bearer {release.token(NAMESPACE, name)}"},
    )
    trust = ssl.create_default_context(cafile=release.ca_file)

    def classified() -> bool:
        try:
            answer = urllib.request.urlopen(request, context=trust)  # noqa: S310  # the same
        except urllib.error.HTTPError as error:  # the gate may not list, but it was classified before
            answer = error
        with answer:
            return answer.headers["X-Kubernetes-PF-PriorityLevel-UID"] == level["metadata"]["uid"]

    wait_until(classified, 20, "it shares its seats with others")


def test_the_bed_leads_the_api_server_here_and_leaves_the_configuration_to_helm(
    release: ControlPlane,
) -> None:
    for port in (20001, 20002):
        installed = install_chart(release, gate_port=port)
        services = f"/api/v1/namespaces/{NAMESPACE}/services"
        service = release.api("GET", f"{services}/{installed.fullname}-webhook")
        assert service["spec"]["externalName"] == "localhost"
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        hooks = release.api("GET", f"{path}/{installed.fullname}")["webhooks"]
        assert {hook["clientConfig"]["service"]["port"] for hook in hooks} == {port}
    assert installed.webhook_args[0] == "webhook"
    assert installed.controller_args[0] == "controller"
    assert installed.webhook_service_account == "toolvet-webhook"
    assert installed.controller_service_account == "toolvet-controller"

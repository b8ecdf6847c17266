"""What needs no webhook: the API server itself refuses, with nothing behind the gate's port.

The developer holds what a tenant's administrator gets: ``edit`` in the namespace, hence also the right to
act as its service accounts, and writing the namespace through each of its three doors.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from controlplane.bed import ControlPlane
from controlplane.commands import Completed
from crds.api import Resources
from crds.objects import DIGEST, approval, inventory, record, records, snapshot
from crds.rights import RBAC, await_right, bind, give

CANARY = "canary"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class User:
    """Somebody with a kubeconfig, working in one namespace."""

    resources: Resources
    name: str

    @property
    def kubeconfig(self) -> Path:
        return self.resources.bed.kubeconfig(self.name, ("system:authenticated",))

    def kubectl(self, *arguments: str, text: str | None = None) -> Completed:
        return self.resources.bed.kubectl(*arguments, input=text, kubeconfig=self.kubeconfig, check=False)

    def create(self, obj: dict, *arguments: str) -> Completed:
        namespace = self.resources.namespace
        return self.kubectl("create", "-n", namespace, "-f", "-", *arguments, text=json.dumps(obj))

    def approve(self, *arguments: str, **spec: str) -> Completed:
        return self.create(approval(**{"approvedBy": self.name, **spec}), "--dry-run=server", *arguments)


@pytest.fixture(scope="package")
def namespace_writer(installed_bed: ControlPlane) -> str:
    installed_bed.api(
        "POST",
        f"{RBAC}/clusterroles",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "test-namespace-writer"},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["namespaces", "namespaces/status", "namespaces/finalize"],
                    "verbs": ["get", "create", "update", "patch"],
                }
            ],
        },
    )
    return "test-namespace-writer"


@pytest.fixture
def developer(resources: Resources, namespace_writer: str) -> User:
    user = User(resources, f"developer-{resources.namespace}")
    bind(resources.bed, user.name, "edit", resources.namespace)
    bind(resources.bed, user.name, namespace_writer)
    return user


@pytest.fixture
def reviewer(resources: Resources) -> User:
    user = User(resources, f"reviewer-{resources.namespace}")
    bind(resources.bed, user.name, "toolvet-reviewer", resources.namespace)
    return user


@pytest.fixture
def enforced(resources: Resources) -> str:
    resources.bed.kubectl("label", "namespace", resources.namespace, "toolvet.dev/mode=enforce")
    return resources.namespace


def mode_of(resources: Resources) -> str | None:
    found = resources.bed.api("GET", f"/api/v1/namespaces/{resources.namespace}")
    return found["metadata"]["labels"].get("toolvet.dev/mode")


# -- approvals ------------------------------------------------------------------------------------------


def test_a_reviewer_approves_in_their_own_name_and_in_no_other(reviewer: User) -> None:
    assert reviewer.approve().returncode == 0
    told = reviewer.approve(approvedBy=f"{CANARY}-somebody-else")
    assert told.returncode == 1
    assert "approved_by: not_the_caller" in told.stderr
    assert CANARY not in told.stderr


def test_applying_server_side_is_a_creation_too(reviewer: User) -> None:
    forged = json.dumps(approval(approvedBy="somebody-else"))
    namespace = reviewer.resources.namespace
    told = reviewer.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", text=forged)
    assert "approved_by: not_the_caller" in told.stderr


def test_approving_needs_the_verb_on_that_snapshot(developer: User, resources: Resources) -> None:
    bed, namespace = resources.bed, resources.namespace
    give(bed, developer.name, namespace, {"resources": ["catalogapprovals"], "verbs": ["create"]})
    told = developer.approve()
    assert told.returncode == 1
    assert "snapshot_name: not_permitted" in told.stderr
    assert "assistant" not in told.stderr.partition("denied request:")[2]

    named = {"resourceNames": [f"assistant-{DIGEST[7:23]}"]}
    give(
        bed,
        developer.name,
        namespace,
        {"resources": ["runtoolcatalogsnapshots"], "verbs": ["approve"], **named},
    )
    assert developer.approve().returncode == 0
    told = developer.approve(inventoryName="other", snapshotName=f"other-{DIGEST[7:23]}")
    assert "snapshot_name: not_permitted" in told.stderr


def test_a_service_account_of_the_namespace_never_approves_whatever_it_may(
    developer: User, resources: Resources
) -> None:
    bed, namespace = resources.bed, resources.namespace
    account = f"system:serviceaccount:{namespace}:default"
    bed.kubectl(
        *("create", "rolebinding", "everything", "-n", namespace, "--clusterrole=cluster-admin"),
        f"--serviceaccount={namespace}:default",
    )
    await_right(bed, account, "create", "catalogapprovals.toolvet.dev", namespace)
    told = developer.approve(f"--as={account}", approvedBy=account)
    assert told.returncode == 1
    assert "approved_by: not_independent" in told.stderr


def test_a_service_account_of_another_namespace_may_approve(resources: Resources) -> None:
    bed, namespace = resources.bed, resources.namespace
    bed.kubectl(
        *("create", "rolebinding", "pipeline", "-n", namespace, "--clusterrole=toolvet-reviewer"),
        "--serviceaccount=default:default",
    )
    name = "system:serviceaccount:default:default"
    await_right(bed, name, "create", "catalogapprovals.toolvet.dev", namespace)
    kubeconfig = bed.service_account_kubeconfig("default", "default")
    given = json.dumps(approval(approvedBy=name))
    bed.kubectl("create", "-n", namespace, "-f", "-", input=given, kubeconfig=kubeconfig)


def test_revoking_needs_no_authorship(reviewer: User, resources: Resources) -> None:
    resources.create(approval())
    namespace = resources.namespace
    told = reviewer.kubectl(
        *("patch", "catalogapproval", "first", "-n", namespace, "--type=merge"),
        *("--patch", '{"spec":{"revoked":true}}'),
    )
    assert told.returncode == 0, told.stderr


def test_who_captured_a_snapshot_is_its_author_or_nobody(reviewer: User) -> None:
    assert reviewer.create(snapshot(), "--dry-run=server").returncode == 0
    assert reviewer.create(snapshot(capturedBy=reviewer.name), "--dry-run=server").returncode == 0
    told = reviewer.create(snapshot(capturedBy=CANARY), "--dry-run=server")
    assert "captured_by: not_the_caller" in told.stderr
    assert CANARY not in told.stderr


# -- the mode of a namespace ----------------------------------------------------------------------------


def strip_by_patch(user: User, namespace: str, *subresource: str) -> Completed:
    change = '{"metadata":{"labels":{"toolvet.dev/mode":null}}}'
    return user.kubectl("patch", "namespace", namespace, *subresource, "--type=merge", "--patch", change)


def strip_by_finalize(user: User, namespace: str) -> Completed:
    found = user.resources.bed.api("GET", f"/api/v1/namespaces/{namespace}")
    del found["metadata"]["labels"]["toolvet.dev/mode"]
    path = f"/api/v1/namespaces/{namespace}/finalize"
    return user.kubectl("replace", "--raw", path, "-f", "-", text=json.dumps(found))


def test_the_label_is_stripped_through_none_of_the_three_doors(
    developer: User, resources: Resources, enforced: str
) -> None:
    for told in (
        strip_by_patch(developer, enforced),
        strip_by_patch(developer, enforced, "--subresource=status"),
        strip_by_finalize(developer, enforced),
    ):
        assert told.returncode == 1
        assert "mode: not_permitted" in told.stderr
    assert mode_of(resources) == "enforce"


def test_all_three_doors_would_strip_it_for_who_may_exempt(
    developer: User, resources: Resources, enforced: str
) -> None:
    # Without this the test above could pass because a door was closed anyway.
    bind(resources.bed, developer.name, "toolvet-policy-admin")
    for strip in (
        lambda: strip_by_patch(developer, enforced),
        lambda: strip_by_patch(developer, enforced, "--subresource=status"),
        lambda: strip_by_finalize(developer, enforced),
    ):
        told = strip()
        assert told.returncode == 0, told.stderr
        assert mode_of(resources) is None
        resources.bed.kubectl("label", "namespace", enforced, "toolvet.dev/mode=enforce")


def test_raising_the_mode_needs_no_exemption_and_lowering_does(developer: User, resources: Resources) -> None:
    def label(value: str) -> Completed:
        return developer.kubectl(
            "label", "namespace", resources.namespace, f"toolvet.dev/mode{value}", "--overwrite"
        )

    for up in ("=audit", "=warn", "=enforce"):
        assert label(up).returncode == 0
    for down in ("=warn", "=audit", "-"):
        assert "mode: not_permitted" in label(down).stderr
    assert mode_of(resources) == "enforce"


def create_namespace(user: User, mode: str) -> Completed:
    metadata = {"name": "made", "labels": {"toolvet.dev/mode": mode}}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return user.kubectl("create", "--dry-run=server", "-f", "-", text=json.dumps(made))


@pytest.mark.parametrize("mode", ["Enforce", "enforced", "", "none", "off", CANARY])
def test_a_misspelt_mode_is_refused_by_rule_and_not_repeated(
    developer: User, resources: Resources, mode: str
) -> None:
    told = developer.kubectl(
        "label", "namespace", resources.namespace, f"toolvet.dev/mode={mode}", "--overwrite"
    )
    assert told.returncode == 1
    assert "mode: unknown_mode" in told.stderr
    assert CANARY not in told.stderr
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "made", "labels": {"toolvet.dev/mode": mode}},
    }
    told = developer.kubectl("create", "--dry-run=server", "-f", "-", text=json.dumps(made))
    assert "mode: unknown_mode" in told.stderr


def test_creating_a_namespace_with_a_mode_needs_nothing(developer: User) -> None:
    for mode in ("enforce", "warn", "audit"):
        told = create_namespace(developer, mode)
        assert told.returncode == 0, told.stderr


def test_a_namespace_whose_mode_is_not_touched_is_left_alone(
    developer: User, resources: Resources, enforced: str
) -> None:
    assert developer.kubectl("label", "namespace", enforced, "team=a").returncode == 0
    assert developer.kubectl("annotate", "namespace", enforced, "team=a").returncode == 0


def test_an_enforced_namespace_is_deleted_and_finalized(resources: Resources) -> None:
    name = resources.bed.create_namespace(labels={"toolvet.dev/mode": "enforce"})
    resources.bed.kubectl("delete", "namespace", name, "--wait", "--timeout=60s")


# -- what client-side apply leaves behind -----------------------------------------------------------------


def apply(resources: Resources, obj: dict, *arguments: str) -> Completed:
    return resources.bed.kubectl(
        "apply", "-n", resources.namespace, "-f", "-", *arguments, input=json.dumps(obj), check=False
    )


def test_client_side_apply_of_the_contract_passes(resources: Resources) -> None:
    one = inventory(record())
    one["metadata"]["labels"] = {"app": "x", "example.com/description": 'text: "quoted" and: more'[:4]}
    one["metadata"]["annotations"] = {"note": 'a "quoted": text with \\ in it', "spec": "x"}
    assert apply(resources, one).returncode == 0
    one["spec"]["tools"].append(record("tool:org.example/z"))
    told = apply(resources, one)
    assert told.returncode == 0, told.stderr
    assert apply(resources, snapshot(record())).returncode == 0
    assert apply(resources, approval()).returncode == 0
    # The annotation still names a label that has gone: no reason to refuse.
    resources.bed.kubectl("label", "toolinventory", "assistant", "-n", resources.namespace, "app-")


def test_an_exported_object_can_be_applied_again(resources: Resources) -> None:
    resources.create(inventory(record()))
    exported = resources.bed.kubectl(
        *("get", "toolinventory", "assistant", "-n", resources.namespace, "--output", "json")
    )
    again = json.loads(exported.stdout)
    told = apply(resources, again)
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("member", ["description", "inputSchema", "desc\\u0072iption", 'a"b', "a:b"])
def test_text_under_an_unknown_member_is_not_kept_by_client_side_apply(
    resources: Resources, member: str
) -> None:
    obj = inventory(record(**{member: CANARY}))
    told = apply(resources, obj, "--validate=false")
    assert told.returncode == 1
    denial = told.stderr.partition("denied request:")[2]
    assert "last_applied: unknown_member" in denial
    assert CANARY not in denial


@pytest.mark.parametrize(
    "text",
    ['{"spec": {"tools": [{"description" : "x"}]}}', '{"spec":{"d\\u0065scription":"x"}}', '{"a\\"b":1}'],
)
def test_other_spellings_of_a_member_are_found_too(resources: Resources, text: str) -> None:
    obj = inventory(record())
    obj["metadata"]["annotations"] = {LAST_APPLIED: text}
    assert "last_applied: unknown_member" in resources.refusal(obj)


def test_a_catalog_as_large_as_client_side_apply_can_keep_passes(resources: Resources) -> None:
    # The annotation may have 256 KiB: the check of all its members must fit the API server's cost limit.
    told = apply(resources, inventory(*records(700)))
    assert told.returncode == 0, told.stderr
    shown = resources.bed.kubectl("get", "tvinv", "assistant", "-n", resources.namespace, "--output", "json")
    assert len(json.loads(shown.stdout)["metadata"]["annotations"][LAST_APPLIED]) > 200_000

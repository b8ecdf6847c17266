"""Give somebody rights, and wait until the API server knows them."""

from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def await_right(
    bed: ControlPlane, user: str, verb: str, resource: str, namespace: str, name: str = ""
) -> None:
    """Return once the authorizer knows: it learns of a binding a moment after it is stored."""
    served, _, group = resource.partition(".")
    plural, _, subresource = served.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "namespace": namespace, "name": name}
    asked |= {"subresource": subresource} if subresource else {}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    wait_until(lambda: bed.api("POST", path, review)["status"]["allowed"], 10, f"{user} may not {verb}")


PROBES = {
    "toolvet-viewer": ("list", "heldtoolcalls.toolvet.dev"),
    "edit": ("create", "pods"),
    "test-namespace-writer": ("patch", "namespaces"),
    "toolvet-reviewer": ("approve", "runtoolcatalogsnapshots.toolvet.dev"),
    "toolvet-policy-admin": ("exempt", "catalogpolicies.toolvet.dev"),
    "toolvet-source-owner": ("create", "mcpsources.toolvet.dev"),
    "toolvet-account-holder": ("create", "toolenablements.toolvet.dev"),
    "toolvet-call-decider": ("decide", "heldtoolcalls.toolvet.dev"),
    "toolvet-agent": ("create", "heldtoolcalls.toolvet.dev"),
}


def bind(bed: ControlPlane, user: str, role: str, namespace: str | None = None) -> None:
    """Give a user a ClusterRole, in one namespace or in all."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    api_group = "rbac.authorization.k8s.io"
    bed.api(
        "POST",
        f"{RBAC}{scope}/{kind.lower()}s",
        {
            "apiVersion": f"{api_group}/v1",
            "kind": kind,
            "metadata": {"generateName": "test-"},
            "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": api_group, "kind": "User", "name": user}],
        },
    )
    await_right(bed, user, *PROBES[role], namespace or "")


def give(bed: ControlPlane, user: str, namespace: str, rule: dict) -> None:
    """Give a user one rule in a namespace."""
    verb, plural = rule["verbs"][0], rule["resources"][0]
    api_group = "rbac.authorization.k8s.io"
    common = {"apiVersion": f"{api_group}/v1", "metadata": {"generateName": "test-"}}
    role = {**common, "kind": "Role", "rules": [{"apiGroups": ["toolvet.dev"], **rule}]}
    made = bed.api("POST", f"{RBAC}/namespaces/{namespace}/roles", role)
    binding = {
        **common,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": api_group, "kind": "Role", "name": made["metadata"]["name"]},
        "subjects": [{"apiGroup": api_group, "kind": "User", "name": user}],
    }
    bed.api("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    name = rule.get("resourceNames", [""])[0]
    await_right(bed, user, verb, f"{plural}.toolvet.dev", namespace, name)

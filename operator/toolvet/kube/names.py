"""Every name this product has in a cluster: group, kinds, labels, annotations, field managers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard

GROUP = "toolvet.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

MODE_LABEL = f"{GROUP}/mode"
INVENTORY_ANNOTATION = f"{GROUP}/inventory"
SNAPSHOT_ANNOTATION = f"{GROUP}/snapshot"
BINDING_ANNOTATIONS = (INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION)

POLICY_NAME = "default"
APPROVAL_GUARD = f"approvals.{GROUP}"
"""The admission policy, and its binding, that let an approver speak for nobody else."""
DEFAULT_SERVICE_ACCOUNT = "default"

CONTROLLER_MANAGER = "toolvet-controller"
CA_MANAGER = "toolvet-ca"
CLI_MANAGER = "toolvet-cli"
COLLECTOR_MANAGER = "toolvet-collector"

SOURCE_ANNOTATION = f"{GROUP}/source"
"""On an inventory: the MCPSource that feeds it. The collector writes no inventory that does not name it."""
OBSERVED_UNTIL_ANNOTATION = f"{GROUP}/observed-until"
"""On such an inventory: until when what was observed counts. The collector alone sets or moves it."""
CREDENTIALS_TYPE = f"{GROUP}/mcp-credentials"
DEFINITIONS_TYPE = f"{GROUP}/mcp-definitions"
EVIDENCE_TYPE = f"{GROUP}/tool-change-evidence"
"""Types of Secrets."""


class Mode(StrEnum):
    """What becomes of a verdict in a namespace that carries the label."""

    ENFORCE = "enforce"
    WARN = "warn"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a kind is served; ``group`` is empty for the core API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion of an object of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the URL path of the collection, of one object, or of a subresource of it.

        Names come from object metadata or were checked with ``is_object_name``.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace is not None else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part is not None)
        return f"{root}{scope}/{self.plural}{tail}"


INVENTORIES = Resource(GROUP, VERSION, "toolinventories", "ToolInventory")
SNAPSHOTS = Resource(GROUP, VERSION, "runtoolcatalogsnapshots", "RunToolCatalogSnapshot")
APPROVALS = Resource(GROUP, VERSION, "catalogapprovals", "CatalogApproval")
POLICIES = Resource(GROUP, VERSION, "catalogpolicies", "CatalogPolicy", namespaced=False)
MCP_SOURCES = Resource(GROUP, VERSION, "mcpsources", "MCPSource")
TOOL_CHANGES = Resource(GROUP, VERSION, "toolchanges", "ToolChange")
TOOL_ENABLEMENTS = Resource(GROUP, VERSION, "toolenablements", "ToolEnablement")
HELD_TOOL_CALLS = Resource(GROUP, VERSION, "heldtoolcalls", "HeldToolCall")

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
SECRETS = Resource("", "v1", "secrets", "Secret")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
ADMISSION_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
ADMISSION_POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
SELF_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)

MAX_OBJECT_NAME = 253
MAX_LABEL = 63
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")
_ALPHANUMERIC = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def is_object_name(name: object) -> TypeGuard[str]:
    """Tell whether a text can be the name of an object (RFC 1123 subdomain), hence part of a path."""
    if type(name) is not str or not 0 < len(name) <= MAX_OBJECT_NAME or not _NAME_CHARACTERS.issuperset(name):
        return False
    return all(
        label and label[0] in _ALPHANUMERIC and label[-1] in _ALPHANUMERIC for label in name.split(".")
    )


def is_namespace_name(name: object) -> bool:
    """Tell whether a text can be the name of a namespace (RFC 1123 label)."""
    return is_object_name(name) and len(name) <= MAX_LABEL and "." not in name

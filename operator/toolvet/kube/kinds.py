"""The table of governed kinds: one source of the webhook's rules, its CEL predicate and our reading.

``governed_change_cel`` is what the API server evaluates before it calls the gate, ``workload`` feeds the
same question to ``core.workload.is_governed_change``; a test compares both over random pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from toolvet.core.workload import Workload
from toolvet.kube.names import (
    BINDING_ANNOTATIONS,
    DEFAULT_SERVICE_ACCOUNT,
    INVENTORY_ANNOTATION,
    SNAPSHOT_ANNOTATION,
    Resource,
    is_object_name,
)

Object = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GovernedKind:
    """A kind whose objects bring pods into being.

    ``template_path`` leads to the pod template; it is empty where the object is the pod itself. ``count`` and
    ``pause`` are the members of its spec that hold pods back: zero of the one, true of the other.
    """

    resource: Resource
    template_path: tuple[str, ...]
    subresources: tuple[str, ...] = ()
    count: str | None = None
    pause: str | None = None

    @property
    def is_pod(self) -> bool:
        """Tell whether the object is the pod itself and not a source of pods."""
        return not self.template_path

    @property
    def judged_path(self) -> tuple[str, ...]:
        """Where all that makes another pod stands: the pod template, or the whole template of a Job."""
        return self.template_path[:2]


_TEMPLATE = ("spec", "template")
SCALE = "scale"
EPHEMERAL_CONTAINERS = "ephemeralcontainers"

KINDS = (
    GovernedKind(
        Resource("apps", "v1", "deployments", "Deployment"), _TEMPLATE, (SCALE,), "replicas", "paused"
    ),
    GovernedKind(Resource("apps", "v1", "statefulsets", "StatefulSet"), _TEMPLATE, (SCALE,), "replicas"),
    GovernedKind(Resource("apps", "v1", "daemonsets", "DaemonSet"), _TEMPLATE),
    GovernedKind(Resource("apps", "v1", "replicasets", "ReplicaSet"), _TEMPLATE, (SCALE,), "replicas"),
    GovernedKind(
        Resource("", "v1", "replicationcontrollers", "ReplicationController"),
        _TEMPLATE,
        (SCALE,),
        "replicas",
    ),
    GovernedKind(Resource("batch", "v1", "jobs", "Job"), _TEMPLATE, (), "parallelism", "suspend"),
    GovernedKind(
        Resource("batch", "v1", "cronjobs", "CronJob"),
        ("spec", "jobTemplate", "spec", "template"),
        pause="suspend",
    ),
    GovernedKind(Resource("", "v1", "podtemplates", "PodTemplate"), ("template",)),
    GovernedKind(Resource("", "v1", "pods", "Pod"), (), (EPHEMERAL_CONTAINERS,)),
)

NO_NAME = "(not a name)"
"""Stands for an annotation's value that cannot name an object; no object has this name."""

BY_RESOURCE = {(kind.resource.group, kind.resource.plural): kind for kind in KINDS}

# What an update of a pod may change and that makes it another pod to us: its containers (images can be
# replaced in place, ephemeral ones added) and the annotations that bind it.
_POD_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")

WORKLOAD_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemon-set-controller",
    "job-controller",
    "replication-controller",
)
"""Service accounts in kube-system whose objects come from a workload that was judged.

The cronjob-controller is none of them: each Job of a CronJob is a new run, and judged.
"""


def _member(value: object, name: str) -> Any:  # noqa: ANN401  # members of API objects are untyped
    return value.get(name) if isinstance(value, Mapping) else None


def _annotations(holder: object) -> dict[str, str]:
    found = _member(_member(holder, "metadata"), "annotations")
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ValueError("annotations are no mapping")  # noqa: TRY004  # as pod_template
    return {key: _of_type(str, found[key], "") for key in BINDING_ANNOTATIONS if key in found}


def _of_type(kind: type[T], value: object, default: T) -> T:
    """Return a member that the API promises to be absent or of this type; ValueError as pod_template."""
    if value is None:
        return default
    if type(value) is not kind:
        raise ValueError("a member of another type")  # as pod_template
    return value


def _name(annotation: str | None) -> str | None:
    """Return the name in an annotation; free text becomes NO_NAME, so that it is never read or repeated."""
    return annotation if annotation is None or is_object_name(annotation) else NO_NAME


def _labels(holder: object) -> tuple[tuple[str, str], ...]:
    found = _of_type(dict, _member(_member(holder, "metadata"), "labels"), {})
    return tuple(sorted((str(key), _of_type(str, value, "")) for key, value in found.items()))


def _at(obj: object, path: tuple[str, ...]) -> object:
    for name in path:
        obj = _member(obj, name)
    return obj


def _misplaced(kind: GovernedKind, obj: Object) -> tuple[str, ...]:
    """Name the binding annotations that stand anywhere above the pod template, where they bind nothing."""
    holders = [_at(obj, kind.template_path[:depth]) for depth in range(len(kind.template_path))]
    return tuple(sorted({key for holder in holders for key in _annotations(holder)}))


def pod_template(kind: GovernedKind, obj: Object) -> Object:
    """Return the pod template of an object; the object itself where it is a pod.

    Raises ValueError where there is none: an object that cannot be read is never judged as if it bound
    nothing.
    """
    template = _at(obj, kind.template_path)
    if not isinstance(template, Mapping) or not isinstance(template.get("spec"), Mapping):
        raise ValueError("no pod template")  # noqa: TRY004  # a fault of the object, not of a caller
    return template


def workload(kind: GovernedKind, obj: Object) -> Workload:
    """Reduce an object of a governed kind to what the decision knows of it; ValueError as pod_template."""
    template = pod_template(kind, obj)
    spec = template["spec"]
    binding = _annotations(template)
    if kind.is_pod:
        judged: object = (binding, *(spec.get(name) or [] for name in _POD_CONTAINERS))
    else:
        judged = _at(obj, kind.judged_path)
    return Workload(
        kind=kind.resource.kind,
        name=str(_member(obj.get("metadata"), "name") or ""),
        service_account=_of_type(str, spec.get("serviceAccountName"), "")
        or _of_type(str, spec.get("serviceAccount"), "")
        or DEFAULT_SERVICE_ACCOUNT,
        inventory=_name(binding.get(INVENTORY_ANNOTATION)),
        snapshot=_name(binding.get(SNAPSHOT_ANNOTATION)),
        misplaced=_misplaced(kind, obj),
        template=judged,
        replicas=1 if kind.count is None else _of_type(int, _member(obj.get("spec"), kind.count), 1),
        paused=kind.pause is not None and _of_type(bool, _member(obj.get("spec"), kind.pause), False),
        labels=_labels(template),
    )


def _cel_list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"


_SCALE_CHANGE = "oldObject.?spec.?replicas.orValue(0) == 0 && object.?spec.?replicas.orValue(0) > 0"


def _pod_change() -> str:
    spec = [f"object.spec.?{name} != oldObject.spec.?{name}" for name in _POD_CONTAINERS]
    binding = [
        f"object.metadata.?annotations[?'{key}'] != oldObject.metadata.?annotations[?'{key}']"
        for key in BINDING_ANNOTATIONS
    ]
    return " || ".join([*spec, *binding])


def _template_change(kind: GovernedKind) -> str:
    path = ".?".join(kind.judged_path)
    tests = [f"object.?{path} != oldObject.?{path}"]
    if kind.count is not None:
        old, new = (f"{side}.?spec.?{kind.count}.orValue(1)" for side in ("oldObject", "object"))
        tests.append(f"({old} == 0 && {new} > 0)")
    if kind.pause is not None:
        old, new = (f"{side}.?spec.?{kind.pause}.orValue(false)" for side in ("oldObject", "object"))
        tests.append(f"({old} && !{new})")
    return " || ".join(tests)


def governed_change_cel() -> str:
    """Return the predicate in CEL, for every governed kind at once.

    ``request.subResource`` is an absent key on the main resource, hence the optional selection. The last kind
    of the table needs no test of its name: the rules let no other through.
    """
    *named, last = ((kind, _pod_change() if kind.is_pod else _template_change(kind)) for kind in KINDS)
    choice = "".join(
        f" : request.resource.resource == '{kind.resource.plural}' ? ({change})" for kind, change in named
    )
    return (
        "request.operation == 'CREATE'"
        f" || (request.?subResource.orValue('') == '{SCALE}' ? ({_SCALE_CHANGE})"
        f"{choice} : ({last[1]}))"
    )


def match_conditions() -> list[dict[str, str]]:
    """Return the matchConditions of each webhook: what fails one never leaves the API server."""
    controllers = [f"system:serviceaccount:kube-system:{name}" for name in WORKLOAD_CONTROLLERS]
    users = [*controllers, "system:kube-controller-manager"]
    return [
        {"name": "governed-change", "expression": governed_change_cel()},
        # ownerReferences can be forged; the authenticated user cannot.
        {
            "name": "not-a-workload-controller",
            "expression": f"!(request.userInfo.username in {_cel_list(users)})",
        },
    ]


def webhook_rules() -> list[dict[str, Any]]:
    """Return the rules of each webhook: every version, subresources by name, no wildcard resource."""
    groups = sorted({kind.resource.group for kind in KINDS}, reverse=True)
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [name for kind in KINDS if kind.resource.group == group for name in _served(kind)],
            "scope": "Namespaced",
        }
        for group in groups
    ]


def _served(kind: GovernedKind) -> list[str]:
    plural = kind.resource.plural
    return [plural, *(f"{plural}/{name}" for name in kind.subresources)]

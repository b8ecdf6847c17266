"""Objects of every governed kind, and random changes of them that the API server takes."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from toolvet.kube.kinds import GovernedKind

Object = dict[str, Any]
Change = Callable[[Random, Object], None]

_LABELS = {"app": "web"}


def pod_spec(image: str = "registry.test/web:1", **members: Any) -> Object:
    container = {"name": "web", "image": image}
    # As short as it gets: nothing runs here, and what a controller made is to go at once.
    return {"containers": [container], "terminationGracePeriodSeconds": 0, **members}


def template(annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata: Object = {"labels": dict(_LABELS)}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod_spec(**spec)}


_RUN_TO_COMPLETION = ("Job", "CronJob")
_UNSELECTIVE = (*_RUN_TO_COMPLETION, "PodTemplate")
_REQUIRED = {"StatefulSet": {"serviceName": "web"}, "CronJob": {"schedule": "0 0 1 1 *"}}


def _selector(kind: str) -> Object:
    return dict(_LABELS) if kind == "ReplicationController" else {"matchLabels": dict(_LABELS)}


def pods_of(kind: GovernedKind, obj: Object) -> Object:
    """Return the pod template of an object, or the pod itself."""
    for name in kind.template_path:
        obj = obj[name]
    return obj


def governed(kind: GovernedKind, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """Build an object of a kind; annotations and pod spec go where the kind has them."""
    resource = kind.resource
    obj: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    made = template(annotations, **spec)
    if kind.is_pod:
        return obj | {"metadata": {"name": name, **made["metadata"]}, "spec": made["spec"]}
    if resource.kind in _RUN_TO_COMPLETION:
        made["spec"]["restartPolicy"] = "Never"
    selector = {} if resource.kind in _UNSELECTIVE else {"selector": _selector(resource.kind)}
    for member in reversed(kind.template_path[1:]):
        made = {member: made}
    obj[kind.template_path[0]] = made
    if kind.template_path[0] == "spec":
        obj["spec"] |= selector | _REQUIRED.get(resource.kind, {})
    return obj


def _put(holder: Object, key: str, value: object) -> None:
    if value is None:
        holder.pop(key, None)
    else:
        holder[key] = value


_BINDINGS = ("toolvet.dev/inventory", "toolvet.dev/snapshot")


def _annotate(keys: tuple[str, ...]) -> Callable[[Random, Object], None]:
    def change(random: Random, metadata: Object) -> None:
        annotations = metadata.setdefault("annotations", {})
        _put(annotations, random.choice(keys), random.choice([None, "", "one", "two"]))

    return change


_annotate_plain = _annotate(("example.org/note",))
_annotate_binding = _annotate(_BINDINGS)


def _set_label(random: Random, obj: Object) -> None:
    obj["metadata"].setdefault("labels", {})["extra"] = random.choice(["one", "two"])


def _set_finalizer(random: Random, obj: Object) -> None:
    _put(obj["metadata"], "finalizers", random.choice([None, ["example.org/keep"]]))


def _image(random: Random, spec: Object) -> None:
    random.choice(spec["containers"])["image"] = random.choice(["registry.test/web:1", "registry.test/web:2"])


def _nothing(_: Random, __: Object) -> None:
    pass


def _of_template(change: Change, path: tuple[str, ...] = ("spec", "template")) -> Change:
    def at_template(random: Random, obj: Object) -> None:
        for name in path:
            obj = obj[name]
        change(random, obj)

    return at_template


def _environment(random: Random, tpl: Object) -> None:
    value = random.choice(["one", "two"])
    _put(tpl["spec"]["containers"][0], "env", random.choice([None, [{"name": "X", "value": value}]]))


def _service_account(random: Random, tpl: Object) -> None:
    name = random.choice([None, "default", "assistant"])
    for key in ("serviceAccountName", "serviceAccount"):
        _put(tpl["spec"], key, name)


def _template_label(random: Random, tpl: Object) -> None:
    tpl["metadata"]["labels"] = _LABELS | random.choice([{}, {"extra": "one"}])


def _replicas(random: Random, obj: Object) -> None:
    _put(obj["spec"], "replicas", random.choice([None, 0, 0, 1, 2]))


def _paused(random: Random, obj: Object) -> None:
    _put(obj["spec"], "paused", random.choice([None, True, False]))


def _suspend(random: Random, obj: Object) -> None:
    _put(obj["spec"], "suspend", random.choice([None, True, False]))


def _parallelism(random: Random, obj: Object) -> None:
    # Never left out: the API server would then fill in completions, which cannot be changed.
    obj["spec"]["parallelism"] = random.choice([0, 0, 1, 2])


def _schedule(random: Random, obj: Object) -> None:
    obj["spec"]["schedule"] = random.choice(["0 0 1 1 *", "0 0 2 1 *"])


def _job_label(random: Random, obj: Object) -> None:
    metadata = obj["spec"]["jobTemplate"].setdefault("metadata", {})
    metadata["labels"] = random.choice([{"run": "one"}, {"run": "two"}])


def _min_ready(random: Random, obj: Object) -> None:
    obj["spec"]["minReadySeconds"] = random.choice([0, 5])


_ON_ANY: tuple[Change, ...] = (
    _nothing,
    _set_label,
    _set_finalizer,
    lambda random, obj: _annotate_plain(random, obj["metadata"]),
    lambda random, obj: _annotate_binding(random, obj["metadata"]),
)
_IN_TEMPLATES: tuple[Change, ...] = (
    lambda random, tpl: _annotate_plain(random, tpl["metadata"]),
    lambda random, tpl: _annotate_binding(random, tpl["metadata"]),
    lambda random, tpl: _image(random, tpl["spec"]),
    _environment,
    _service_account,
    _template_label,
)


def _templated(*path: str) -> tuple[Change, ...]:
    return (*_ON_ANY, *(_of_template(change, path) for change in _IN_TEMPLATES))


_ON_TEMPLATES: tuple[Change, ...] = (*_templated("spec", "template"), _min_ready)


def _init_image(random: Random, obj: Object) -> None:
    for container in obj["spec"].get("initContainers", []):
        container["image"] = random.choice(["registry.test/init:1", "registry.test/init:2"])


def _toleration(random: Random, obj: Object) -> None:
    added = {"key": f"example.org/{random.randrange(3)}", "operator": "Exists", "effect": "NoSchedule"}
    if added not in obj["spec"]["tolerations"]:
        obj["spec"]["tolerations"].append(added)


def _deadline(random: Random, obj: Object) -> None:
    obj["spec"].setdefault("activeDeadlineSeconds", random.choice([100, 200]))


CHANGES: dict[str, tuple[Change, ...]] = {
    "Deployment": (*_ON_TEMPLATES, _replicas, _replicas, _paused, _paused),
    "StatefulSet": (*_ON_TEMPLATES, _replicas, _replicas),
    "DaemonSet": _ON_TEMPLATES,
    "ReplicaSet": (*_ON_TEMPLATES, _replicas, _replicas),
    "ReplicationController": (*_ON_TEMPLATES, _replicas, _replicas),
    # The template of a Job cannot be changed but while it is suspended, and then in few places.
    "Job": (*_ON_ANY, _deadline, _suspend, _suspend, _parallelism, _parallelism),
    "CronJob": (
        *_templated("spec", "jobTemplate", "spec", "template"),
        _schedule,
        _job_label,
        _suspend,
        _suspend,
    ),
    "PodTemplate": _templated("template"),
    "Pod": (
        *_ON_ANY,
        lambda random, obj: _image(random, obj["spec"]),
        _init_image,
        _toleration,
        _deadline,
    ),
}
"""What an update of each governed kind may change: a kind without an entry fails the tests."""


def changed(kind: GovernedKind, random: Random, obj: Object) -> Object:
    """Change a copy of a stored object in one to three ways."""
    new = copy.deepcopy(obj)
    new["metadata"].pop("resourceVersion", None)
    new["metadata"].pop("managedFields", None)
    for change in random.choices(CHANGES[kind.resource.kind], k=random.randint(1, 3)):
        change(random, new)
    return new


def random_base(kind: GovernedKind, random: Random, name: str) -> Object:
    """Build an object to be stored, from which changes start."""
    init = [{"name": "init", "image": "registry.test/init:1"}]
    annotations = random.choice(
        [None, {_BINDINGS[0]: "one"}, {"example.org/note": "one", _BINDINGS[1]: "one"}]
    )
    obj = governed(kind, name, annotations, **random.choice([{}, {"initContainers": init}]))
    if not kind.is_pod:
        for change in (_replicas, _paused, _suspend, _parallelism):
            if change in CHANGES[kind.resource.kind]:
                change(random, obj)
    return obj

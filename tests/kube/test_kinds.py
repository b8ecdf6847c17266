"""What is read of a workload, and that an object which cannot be read is never one that binds nothing."""

import copy
from typing import Any

import pytest

from kube.objects import governed, pods_of, template
from toolvet.core.workload import is_governed_change
from toolvet.kube.kinds import (
    BY_RESOURCE,
    KINDS,
    NO_NAME,
    WORKLOAD_CONTROLLERS,
    GovernedKind,
    webhook_rules,
    workload,
)
from toolvet.kube.names import INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION, is_object_name

CANARY = "canary text"
EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource.kind)
TEMPLATED = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not kind.is_pod], ids=lambda kind: kind.resource.kind
)
BINDING = {INVENTORY_ANNOTATION: "assistant", SNAPSHOT_ANNOTATION: "assistant-0123456789abcdef"}


def pod_of(kind: GovernedKind, obj: dict[str, Any]) -> dict[str, Any]:
    return pods_of(kind, obj)


@EACH_KIND
def test_the_binding_is_read_of_the_pods(kind: GovernedKind) -> None:
    found = workload(kind, governed(kind, "web", BINDING, serviceAccountName="worker"))
    assert (found.kind, found.name, found.service_account) == (kind.resource.kind, "web", "worker")
    assert (found.inventory, found.snapshot) == ("assistant", "assistant-0123456789abcdef")
    assert found.misplaced == ()
    assert found.labels == (("app", "web"),)
    bare = workload(kind, governed(kind, "web"))
    assert (bare.service_account, bare.inventory, bare.snapshot) == ("default", None, None)
    assert (bare.replicas, bare.paused) == (1, False)


@EACH_KIND
@pytest.mark.parametrize(
    ("spec", "account"),
    [
        ({}, "default"),
        ({"serviceAccountName": ""}, "default"),
        ({"serviceAccountName": None}, "default"),
        ({"serviceAccount": "old"}, "old"),
        ({"serviceAccountName": "new", "serviceAccount": "old"}, "new"),
        ({"serviceAccountName": "", "serviceAccount": "old"}, "old"),
    ],
)
def test_the_effective_service_account(kind: GovernedKind, spec: dict[str, Any], account: str) -> None:
    assert workload(kind, governed(kind, "web", **spec)).service_account == account


@TEMPLATED
def test_a_binding_on_the_workload_itself_is_misplaced(kind: GovernedKind) -> None:
    obj = governed(kind, "web")
    obj["metadata"]["annotations"] = {**BINDING, "example.org/note": "x"}
    found = workload(kind, obj)
    assert found.misplaced == (INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION)
    assert (found.inventory, found.snapshot) == (None, None)


@EACH_KIND
@pytest.mark.parametrize("text", ["", CANARY, "Upper", "a/../b", "a" * 254, "a\nb", "-a"])
def test_an_annotation_that_is_no_name_binds_to_nothing_that_exists(kind: GovernedKind, text: str) -> None:
    found = workload(kind, governed(kind, "web", {INVENTORY_ANNOTATION: text, SNAPSHOT_ANNOTATION: text}))
    assert (found.inventory, found.snapshot) == (NO_NAME, NO_NAME)
    assert not is_object_name(NO_NAME)


@EACH_KIND
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("spec", None),
        ("spec", CANARY),
        ("spec.serviceAccountName", 1),
        ("spec.serviceAccountName", [CANARY]),
        ("spec.serviceAccount", {CANARY: CANARY}),
        ("metadata.annotations", CANARY),
        ("metadata.annotations", [CANARY]),
        ("metadata.annotations", {INVENTORY_ANNOTATION: 1}),
        ("metadata.annotations", {SNAPSHOT_ANNOTATION: [CANARY]}),
        ("metadata.labels", CANARY),
        ("metadata.labels", {"app": 1}),
    ],
)
def test_pods_that_cannot_be_read_are_refused(kind: GovernedKind, place: str, value: object) -> None:
    obj = governed(kind, "web", BINDING)
    *path, last = place.split(".")
    holder = pod_of(kind, obj)
    for name in path:
        holder = holder[name]
    holder[last] = value
    with pytest.raises(ValueError, match=r"^[a-z ]+$") as caught:
        workload(kind, obj)
    assert CANARY not in str(caught.value)


UNREADABLE = {"template": (None, CANARY, {}), "count": (CANARY, 1.0, True), "pause": ("true", 1)}


@TEMPLATED
@pytest.mark.parametrize(
    ("member", "value"), [(name, value) for name, values in UNREADABLE.items() for value in values]
)
def test_a_spec_that_cannot_be_read_is_refused(kind: GovernedKind, member: str, value: object) -> None:
    obj = governed(kind, "web")
    *path, last = kind.template_path
    if member != "template":
        name = getattr(kind, member)
        path, last = ["spec"], name
        if name is None:
            return  # this kind has no such member
    holder = obj
    for name in path:
        holder = holder[name]
    holder[last] = value
    with pytest.raises(ValueError, match=r"^[a-z ]+$"):
        workload(kind, obj)


def test_a_binding_on_the_job_template_is_misplaced() -> None:
    kind = BY_RESOURCE["batch", "cronjobs"]
    obj = governed(kind, "web")
    obj["spec"]["jobTemplate"]["metadata"] = {"annotations": BINDING}
    assert workload(kind, obj).misplaced == (INVENTORY_ANNOTATION, SNAPSHOT_ANNOTATION)


def test_whatever_makes_pods_from_what_was_not_judged_is_judged() -> None:
    """Each controller that is left out by name works for a kind of the table."""
    governed_kinds = {kind.resource.kind for kind in KINDS}
    works_for = {
        "deployment-controller": "Deployment",
        "replicaset-controller": "ReplicaSet",
        "statefulset-controller": "StatefulSet",
        "daemon-set-controller": "DaemonSet",
        "job-controller": "Job",
        "replication-controller": "ReplicationController",
    }
    assert set(WORKLOAD_CONTROLLERS) == set(works_for)
    assert set(works_for.values()) <= governed_kinds


@TEMPLATED
def test_a_change_anywhere_in_the_template_is_governed(kind: GovernedKind) -> None:
    old = governed(kind, "web", BINDING)
    for path in (("metadata", "labels", "new"), ("spec", "hostNetwork"), ("spec", "nodeSelector")):
        new = copy.deepcopy(old)
        holder = pods_of(kind, new)
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = {"x": "y"} if path[-1] != "new" else "y"
        assert is_governed_change(workload(kind, old), workload(kind, new))
    same = copy.deepcopy(old) | {"status": {"replicas": 9}}
    same["metadata"]["labels"] = {"x": "y"}
    assert not is_governed_change(workload(kind, old), workload(kind, same))


def test_rules_name_every_kind_and_its_subresources_and_no_other() -> None:
    served = {(rule["apiGroups"][0], name) for rule in webhook_rules() for name in rule["resources"]}
    expected = {
        (kind.resource.group, "/".join(filter(None, (kind.resource.plural, subresource))))
        for kind in KINDS
        for subresource in ("", *kind.subresources)
    }
    assert served == expected
    assert not any("*" in name for _, name in served)
    assert all(rule["operations"] == ["CREATE", "UPDATE"] for rule in webhook_rules())
    assert set(BY_RESOURCE) == {(group, name) for group, name in served if "/" not in name}


def test_a_pod_template_without_metadata_is_read() -> None:
    kind = KINDS[0]
    obj = governed(kind, "web")
    obj["spec"]["template"] = {"spec": template()["spec"]}
    assert workload(kind, obj).inventory is None

"""Manifests as what they declare: our own objects, modes of namespaces, and workloads to judge.

Every object of ours is understood or refused here, with its place: a file that cannot be applied is never
judged as if it were not there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolvet.core.errors import ContractError
from toolvet.core.workload import Workload
from toolvet.kube.kinds import KINDS, GovernedKind, workload
from toolvet.kube.names import (
    API_VERSION,
    APPROVALS,
    GROUP,
    INVENTORIES,
    MODE_LABEL,
    NAMESPACES,
    POLICIES,
    SNAPSHOTS,
    SOURCE_ANNOTATION,
    Mode,
    Resource,
    is_object_name,
)
from toolvet.kube.resources import (
    approval_from_object,
    catalog_from_inventory,
    check_object,
    policies_from_object,
    snapshot_from_object,
)

Object = dict[str, Any]
Key = tuple[Resource, str | None, str]

_GOVERNED = {(kind.resource.group, kind.resource.kind): kind for kind in KINDS}
_OURS = {resource.kind: resource for resource in (INVENTORIES, SNAPSHOTS, APPROVALS, POLICIES)}
_MAX_NESTED_LISTS = 8


@dataclass(frozen=True, slots=True)
class Subject:
    """A workload among the manifests. ``name`` is None where the API server is to make one up."""

    file: str
    document: int
    kind: GovernedKind
    namespace: str
    name: str | None
    title: str
    """What it is called in a report: its name, or the beginning of one and ``*``."""
    workload: Workload


@dataclass(slots=True)
class Declared:
    """What a set of manifests declares; ``objects`` are ours, reduced to name, namespace and spec."""

    objects: dict[Key, Object] = field(default_factory=dict)
    approvals: dict[tuple[str, str], list[Object]] = field(default_factory=dict)
    """By namespace and snapshot name."""
    modes: dict[str, Mode] = field(default_factory=dict)
    subjects: list[Subject] = field(default_factory=list)


def declare(documents: Iterable[tuple[str, int, object]], namespace: str) -> Declared:
    """Understand documents of files; ``namespace`` is that of objects that name none.

    Raises ContractError at ``file[document]``: not_an_object, invalid_name, duplicate_object,
    invalid_workload, unsupported_version, invalid_mode, and the codes of kube.resources.
    """
    declared = Declared()
    # Objects that are not stored have no uid; theirs is one that nobody can have approved.
    uid = str(uuid.uuid4())
    for file, index, document in documents:
        place = f"{file}[{index}]"
        for obj in _objects(document, place, _MAX_NESTED_LISTS):
            fault: ContractError | None = None
            try:
                _add(declared, obj, file, index, namespace, uid)
            except ContractError as error:
                fault = error
            if fault is not None:
                raise fault.under(place)
    return declared


def _objects(document: object, place: str, depth: int) -> Iterator[Object]:
    """Yield the objects of a document: itself, or the items of a List of any kind."""
    if not isinstance(document, dict):
        raise ContractError(place, "not_an_object")
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        raise ContractError(place, "not_an_object")
    items = document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    if depth == 0:
        raise ContractError(place, "too_deep")
    # A list of one kind, as the API serves it, leaves kind and version out of its items.
    header = {} if kind == "List" else {"apiVersion": version, "kind": kind.removesuffix("List")}
    for item in items:
        yield from _objects({**header, **item} if isinstance(item, dict) else item, place, depth - 1)


def _add(declared: Declared, obj: Object, file: str, index: int, default: str, uid: str) -> None:
    group, _, _ = obj["apiVersion"].rpartition("/")
    governed = _GOVERNED.get((group, obj["kind"]))
    ours = _OURS.get(obj["kind"]) if group == GROUP else None
    if governed is not None:
        declared.subjects.append(_subject(governed, obj, file, index, default))
    elif ours is not None:
        _add_ours(declared, ours, obj, default, uid)
    elif (group, obj["kind"]) == (NAMESPACES.group, NAMESPACES.kind):
        _add_mode(declared, obj)


def _metadata(obj: Object) -> Mapping[str, Any]:
    found = obj.get("metadata")
    if not isinstance(found, Mapping):
        raise ContractError("metadata", "invalid_type")
    return found


def _name(metadata: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the name, None where it is to be generated, and what to call the object."""
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if is_object_name(name):
        return name, name
    if name is None and isinstance(prefix, str) and is_object_name(f"{prefix}x"):
        return None, f"{prefix}*"
    raise ContractError("metadata.name", "invalid_name")


def _namespace(metadata: Mapping[str, Any], default: str) -> str:
    namespace = metadata.get("namespace", default)
    if not is_object_name(namespace):
        raise ContractError("metadata.namespace", "invalid_name")
    return namespace


def _subject(kind: GovernedKind, obj: Object, file: str, index: int, default: str) -> Subject:
    metadata = _metadata(obj)
    name, title = _name(metadata)
    judged: Workload | None
    try:
        judged = workload(kind, obj)
    except (LookupError, TypeError, ValueError):
        judged = None
    if judged is None:
        raise ContractError("spec", "invalid_workload")
    return Subject(file, index, kind, _namespace(metadata, default), name, title, judged)


def _add_ours(declared: Declared, resource: Resource, obj: Object, default: str, uid: str) -> None:
    if obj["apiVersion"] != API_VERSION:
        raise ContractError("apiVersion", "unsupported_version")
    metadata = _metadata(obj)
    name, _ = _name(metadata)
    namespace = _namespace(metadata, default) if resource.namespaced else None
    if name is None and resource is not APPROVALS:
        raise ContractError("metadata.name", "invalid_name")
    # Nothing else of the metadata and no status: the API server writes those.
    stored_as = name or f"{metadata['generateName']}x"
    check_object(resource, {**obj, "metadata": {"name": stored_as}})
    reduced: Object = {
        "metadata": {"name": stored_as, "namespace": namespace, "uid": uid},
        "spec": obj.get("spec"),
    }
    annotations = metadata.get("annotations")
    if resource is INVENTORIES and isinstance(annotations, Mapping) and SOURCE_ANNOTATION in annotations:
        # Which source feeds it is said there; that the source looked is not for a manifest to say.
        reduced["metadata"]["annotations"] = {SOURCE_ANNOTATION: annotations[SOURCE_ANNOTATION]}
    _understand(resource, reduced)
    if name is not None:
        if (resource, namespace, name) in declared.objects:
            raise ContractError("metadata.name", "duplicate_object")
        declared.objects[resource, namespace, name] = reduced
    if resource is APPROVALS and namespace is not None:
        snapshot = reduced["spec"]["snapshotName"]
        declared.approvals.setdefault((namespace, snapshot), []).append(reduced)


def _understand(resource: Resource, obj: Object) -> None:
    if resource is INVENTORIES:
        catalog_from_inventory(obj)
    elif resource is SNAPSHOTS:
        snapshot_from_object(obj)
    elif resource is APPROVALS:
        approval_from_object(obj, None)
    else:
        policies_from_object(obj)


def _add_mode(declared: Declared, obj: Object) -> None:
    metadata = _metadata(obj)
    name, _ = _name(metadata)
    labels = metadata.get("labels") or {}
    if name is None or not isinstance(labels, Mapping):
        raise ContractError("metadata", "invalid_type")
    if MODE_LABEL not in labels:
        return  # applying it leaves a label alone that somebody else has set
    mode = labels[MODE_LABEL]
    if mode not in list(Mode):
        raise ContractError("metadata.labels", "invalid_mode")
    if name in declared.modes:
        raise ContractError("metadata.name", "duplicate_object")
    declared.modes[name] = Mode(mode)

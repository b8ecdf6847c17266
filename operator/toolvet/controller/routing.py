"""Which keys an event concerns. Keys are all that is remembered: what they mean is read live.

The maps below only route. An entry that outlived its object (a deletion missed while a watch was broken)
costs a pass that finds nothing to do, and is never mistaken for state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from toolvet.core.workload import Workload
from toolvet.kube.kinds import KINDS, workload
from toolvet.kube.names import (
    APPROVALS,
    DEFAULT_SERVICE_ACCOUNT,
    INVENTORIES,
    MODE_LABEL,
    NAMESPACES,
    POLICIES,
    SNAPSHOTS,
    Resource,
    is_object_name,
)

Object = Mapping[str, Any]


class Kind(Enum):
    """What a key names."""

    INVENTORY = "inventory"
    """An inventory, whether or not it exists, with its snapshots, approvals and workloads."""
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Key:
    """The unit of work."""

    kind: Kind
    namespace: str
    name: str


POLICY_KEY = Key(Kind.POLICY, "", "")

# ReplicaSets, Jobs and Pods come and go with these; those that stand alone are counted in every pass.
_WATCHED_PLURALS = frozenset(
    {"deployments", "statefulsets", "daemonsets", "replicationcontrollers", "cronjobs"}
)
WATCHED_WORKLOADS = tuple(kind for kind in KINDS if kind.resource.plural in _WATCHED_PLURALS)
WATCHED: tuple[Resource, ...] = (
    INVENTORIES,
    SNAPSHOTS,
    APPROVALS,
    POLICIES,
    NAMESPACES,
    *(kind.resource for kind in WATCHED_WORKLOADS),
)
_BY_RESOURCE = {kind.resource: kind for kind in WATCHED_WORKLOADS}

_Binding = tuple[str, str | None, str | None, tuple[str, ...]]


def _binding(subject: Workload) -> _Binding:
    """Reduce a workload to what its verdict depends on: most of its events change none of it."""
    return subject.service_account, subject.inventory, subject.snapshot, subject.misplaced


class Routing:
    """Turns events into keys."""

    def __init__(self) -> None:
        self._known: dict[str, set[str]] = {}
        self._modes: dict[str, object] = {}
        self._workloads: dict[str, dict[str, _Binding]] = {}

    def keys(self, resource: Resource, obj: Object, *, deleted: bool) -> frozenset[Key]:
        """Return the keys that an event concerns; ``obj`` is the object as the event shows it."""
        metadata = obj.get("metadata") or {}
        namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        if resource == INVENTORIES:
            return self._of_inventory(namespace, name)
        if resource in {SNAPSHOTS, APPROVALS}:
            return self._of_evidence(namespace, obj)
        if resource == POLICIES:
            return frozenset({POLICY_KEY}) | self.all()
        if resource == NAMESPACES:
            return self._of_namespace(name, (metadata.get("labels") or {}).get(MODE_LABEL), deleted=deleted)
        return self._of_workload(resource, namespace, str(metadata.get("uid") or ""), obj, deleted=deleted)

    def all(self) -> frozenset[Key]:
        """Return every known key but the policy's."""
        return frozenset(key for namespace in self._known for key in self._in_namespace(namespace))

    def forget(self, key: Key) -> None:
        """Drop a key of which nothing exists; the next event brings it back."""
        names = self._known.get(key.namespace, set())
        names.discard(key.name)
        if not names:
            self._known.pop(key.namespace, None)

    def _in_namespace(self, namespace: str) -> frozenset[Key]:
        return _keys(namespace, self._known.get(namespace, ()))

    def _of_inventory(self, namespace: str, name: str) -> frozenset[Key]:
        self._known.setdefault(namespace, set()).add(name)
        # Its coming or going may hand a workload to, or take it from, the inventory that is annotated.
        names = {name}
        for binding in self._workloads.get(namespace, {}).values():
            if binding[0] == name:
                names.update(_inventories(binding))
        return _keys(namespace, names)

    def _of_evidence(self, namespace: str, obj: Object) -> frozenset[Key]:
        name = str((obj.get("spec") or {}).get("inventoryName") or "")
        if not is_object_name(name):
            return frozenset()
        self._known.setdefault(namespace, set()).add(name)
        return _keys(namespace, {name})

    def _of_namespace(self, name: str, mode: object, *, deleted: bool) -> frozenset[Key]:
        if deleted:
            self._modes.pop(name, None)
            return frozenset()
        known, before = name in self._modes, self._modes.get(name)
        self._modes[name] = mode
        # At first sight the inventories' own events do the same.
        return self._in_namespace(name) if known and before != mode else frozenset()

    def _of_workload(
        self, resource: Resource, namespace: str, uid: str, obj: Object, *, deleted: bool
    ) -> frozenset[Key]:
        here = self._workloads.setdefault(namespace, {})
        before = here.pop(uid, None)
        after: _Binding | None = None
        if not deleted:
            try:
                after = _binding(workload(_BY_RESOURCE[resource], obj))
            except ValueError:
                after = None  # the API server's own schema excludes it; without a template it binds nothing
        if after is not None:
            here[uid] = after
        if not here:
            self._workloads.pop(namespace, None)
        if before == after:
            return frozenset()
        return _keys(namespace, {*_inventories(before), *_inventories(after)})


def _inventories(binding: _Binding | None) -> Sequence[str]:
    if binding is None:
        return ()
    account, annotated, _, _ = binding
    names = [account] if annotated is None else [account, annotated]
    # No inventory may be named as the service account of every Pod that names none.
    return [name for name in names if is_object_name(name) and name != DEFAULT_SERVICE_ACCOUNT]


def _keys(namespace: str, names: Iterable[str]) -> frozenset[Key]:
    return frozenset(Key(Kind.INVENTORY, namespace, name) for name in names)

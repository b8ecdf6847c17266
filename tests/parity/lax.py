"""Store what our CRDs refuse: for a while they ask for nothing, as an older release's might have."""

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until
from crds.api import Resources
from parity.conftest import DEFINITIONS, SOURCES
from parity.objects import Object

ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def _lax(version: Object) -> Object:
    # The fields that can be selected by have to be declared.
    paths = [field["jsonPath"] for field in version.get("selectableFields", ())]
    named = {path.removeprefix(".spec."): TEXT for path in paths}
    spec = {"type": "object", **ANYTHING, "properties": named} if named else ANYTHING
    return {"type": "object", **ANYTHING, "properties": {"spec": spec, "status": ANYTHING}}


def _replace(bed: ControlPlane, definition: Object) -> None:
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    version = bed.api("GET", path)["metadata"]["resourceVersion"]
    metadata = {**definition["metadata"], "resourceVersion": version}
    bed.api("PUT", path, {**definition, "metadata": metadata})


def _accepts(resources: Resources, kind: str) -> bool:
    obj = {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "probe"},
        "spec": {"probe": 1},
    }
    try:
        return resources.accepts(obj)
    except ApiError as error:
        if error.status not in (400, 404, 422):
            raise
        return False


@contextmanager
def without_rules(bed: ControlPlane) -> Iterator[None]:
    """Take the schemas and rules away; put them back at the end."""
    strict = [yaml.safe_load(path.read_text()) for path in SOURCES]
    kinds = [definition["spec"]["names"]["kind"] for definition in strict]
    resources = Resources(bed, "default")
    for definition in map(yaml.safe_load, (path.read_text() for path in SOURCES)):
        (version,) = definition["spec"]["versions"]
        version["schema"]["openAPIV3Schema"] = _lax(version)
        _replace(bed, definition)
    wait_until(lambda: all(_accepts(resources, kind) for kind in kinds), 20, "the rules are still there")
    try:
        yield
    finally:
        for definition in strict:
            _replace(bed, definition)
        wait_until(lambda: not any(_accepts(resources, kind) for kind in kinds), 20, "the rules are not back")

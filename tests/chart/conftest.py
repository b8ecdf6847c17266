"""A control plane of the chart tests' own: they install and uninstall what others rely on."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from chart.rights import NAMESPACE, Place
from controlplane.bed import ControlPlane
from controlplane.chart import CHART, install_chart
from controlplane.ports import free_port

Render = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="package")
def controlplane() -> Iterator[ControlPlane]:
    """Used in place of the session's one by every test of this folder."""
    with ControlPlane() as bed:
        yield bed


@pytest.fixture(scope="package")
def render(controlplane: ControlPlane) -> Render:
    """``render(*options, release=, namespace=, values=, program=)``: the objects of ``helm template``."""

    def template(
        *options: str,
        release: str = "toolvet",
        namespace: str = "toolvet-system",
        values: dict[str, Any] | None = None,
        program: str = "helm",
    ) -> list[dict]:
        shown = controlplane.helm(
            *("template", release, CHART, "--namespace", namespace, "--values", "-"),
            *options,
            input=json.dumps(values or {}),
            program=program,
        )
        return [document for document in yaml.safe_load_all(shown.stdout) if document]

    return template


@pytest.fixture(scope="module")
def place(controlplane: ControlPlane) -> Iterator[Place]:
    install_chart(controlplane, gate_port=free_port())
    with controlplane.namespace("rights-", {"toolvet.dev/mode": "audit"}) as team:
        yield Place(controlplane, team)
    controlplane.helm("uninstall", "toolvet", "--namespace", NAMESPACE)

"""Every value has the effect it says, and no value lacks a test: rendered with it and without."""

import base64
import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from chart.conftest import Render
from controlplane.chart import CHART

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
BOTH = ("toolvet-controller", "toolvet-webhook")
GUARDED = ("CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
PEER = [{"ipBlock": {"cidr": "10.0.0.0/28"}}]
LIMITS = {"limits": {"memory": "1Gi"}}


class Rendered:
    """Rendered objects, looked at by kind and name."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.objects = objects

    def one(self, kind: str, name: str = "toolvet") -> dict[str, Any]:
        (found,) = [obj for obj in self.objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
        return found

    def names(self, *kinds: str) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self.objects if obj["kind"] in kinds)

    def pod(self, name: str) -> dict[str, Any]:
        return self.one("Deployment", name)["spec"]["template"]["spec"]

    def container(self, name: str) -> dict[str, Any]:
        (found,) = self.pod(name)["containers"]
        return found

    def argument(self, name: str, option: str) -> str:
        arguments = self.container(name)["args"]
        return arguments[arguments.index(option) + 1]

    def hooks(self) -> list[dict[str, Any]]:
        return self.one("ValidatingWebhookConfiguration")["webhooks"]


@dataclass(frozen=True)
class Case:
    """What ``look`` sees without the value and with it; ``beside`` are values of both."""

    value: Any
    look: Callable[[Rendered], Any]
    without: Any
    with_it: Any
    beside: dict[str, Any] = field(default_factory=dict)


def of_pods(look: Callable[[dict[str, Any]], Any]) -> Callable[[Rendered], list[Any]]:
    return lambda rendered: [look(rendered.pod(name)) for name in BOTH]


def of_containers(look: Callable[[dict[str, Any]], Any]) -> Callable[[Rendered], list[Any]]:
    return lambda rendered: [look(rendered.container(name)) for name in BOTH]


def policy(part: str, name: str = "toolvet-webhook") -> Callable[[Rendered], Any]:
    return lambda rendered: rendered.one("NetworkPolicy", name)["spec"][part][0]


def level(name: str) -> Callable[[Rendered], Any]:
    def shares(rendered: Rendered) -> int:
        return rendered.one("PriorityLevelConfiguration", name)["spec"]["limited"]["nominalConcurrencyShares"]

    return shares


def kept(rendered: Rendered) -> list[bool]:
    found = [obj for obj in rendered.objects if obj["kind"] in GUARDED]
    return sorted({"helm.sh/resource-policy" in obj["metadata"].get("annotations", {}) for obj in found})


CLOSED = {"networkPolicy.enabled": True}
BY_ISSUER = {"webhook.certificates.mode": "cert-manager"}
PROVIDED = {
    "webhook.certificates.mode": "provided",
    "webhook.certificates.existingSecret": "one",
    "webhook.certificates.caBundle": PEM + "0\n",
}
ALL_PORTS = [{"protocol": "TCP", "port": port} for port in (443, 6443)]

COLLECTOR = "toolvet-collector"
COLLECTED = {"collector.enabled": True}
ELSEWHERE = [{"ports": [{"protocol": "TCP", "port": 8443}]}]


def collector_container(look: Callable[[dict[str, Any]], Any]) -> Callable[[Rendered], Any]:
    return lambda rendered: look(rendered.container(COLLECTOR))


def allowed(container: dict[str, Any]) -> list[str]:
    arguments = container["args"]
    return [arguments[at + 1] for at, argument in enumerate(arguments) if argument == "--allow"]


CASES: dict[str, Case] = {
    "collector.enabled": Case(
        True, lambda r: COLLECTOR in r.names("Deployment", "ServiceAccount"), False, True
    ),
    "collector.replicas": Case(
        2, lambda r: r.one("Deployment", COLLECTOR)["spec"]["replicas"], 1, 2, COLLECTED
    ),
    "collector.healthPort": Case(
        8099,
        collector_container(
            lambda c: [c["args"][c["args"].index("--health-port") + 1], c["ports"][0]["containerPort"]]
        ),
        ["8081", 8081],
        ["8099", 8099],
        COLLECTED,
    ),
    "collector.allow": Case(
        ["10.0.0.0/8", "mcp.example"],
        collector_container(allowed),
        [],
        ["10.0.0.0/8", "mcp.example"],
        COLLECTED,
    ),
    "collector.egress": Case(
        ELSEWHERE,
        lambda r: [rule for rule in r.one("NetworkPolicy", COLLECTOR)["spec"]["egress"] if rule in ELSEWHERE],
        [],
        ELSEWHERE,
        COLLECTED | CLOSED,
    ),
    "collector.resources": Case(
        LIMITS,
        collector_container(lambda c: c["resources"]["limits"]["memory"]),
        "512Mi",
        "1Gi",
        COLLECTED,
    ),
    "nameOverride": Case(
        "vet", lambda r: r.names("Deployment"), list(BOTH), ["x-vet-controller", "x-vet-webhook"]
    ),
    "fullnameOverride": Case("g", lambda r: r.names("Deployment"), list(BOTH), ["g-controller", "g-webhook"]),
    "image.repository": Case(
        "r.example/t",
        of_containers(lambda c: c["image"]),
        [f"toolvet:{VERSION}"] * 2,
        [f"r.example/t:{VERSION}"] * 2,
    ),
    "image.tag": Case(
        "2", of_containers(lambda c: c["image"]), [f"toolvet:{VERSION}"] * 2, ["toolvet:2"] * 2
    ),
    "image.pullPolicy": Case(
        "Always", of_containers(lambda c: c["imagePullPolicy"]), ["IfNotPresent"] * 2, ["Always"] * 2
    ),
    "imagePullSecrets": Case(
        [{"name": "s"}], of_pods(lambda p: p.get("imagePullSecrets")), [None] * 2, [[{"name": "s"}]] * 2
    ),
    "crds.enabled": Case(False, lambda r: len(r.names(*GUARDED)) > 10, True, False),
    "crds.keep": Case(False, kept, [True], [False]),
    "controller.replicas": Case(2, lambda r: r.one("Deployment", BOTH[0])["spec"]["replicas"], 1, 2),
    "controller.healthPort": Case(9999, lambda r: r.argument(BOTH[0], "--health-port"), "8081", "9999"),
    "controller.resources": Case(LIMITS, lambda r: _memory(r, BOTH[0]), "512Mi", "1Gi"),
    "webhook.replicas": Case(
        1,
        lambda r: (r.one("Deployment", BOTH[1])["spec"]["replicas"], r.names("PodDisruptionBudget")),
        (2, ["toolvet-webhook"]),
        (1, []),
    ),
    "webhook.port": Case(9443, lambda r: r.argument(BOTH[1], "--port"), "10250", "9443"),
    "webhook.servicePort": Case(
        8443,
        lambda r: (
            {r.one("Service", BOTH[1])["spec"]["ports"][0]["port"]}
            | {hook["clientConfig"]["service"]["port"] for hook in r.hooks()}
        ),
        {443},
        {8443},
    ),
    "webhook.timeoutSeconds": Case(9, lambda r: {hook["timeoutSeconds"] for hook in r.hooks()}, {5}, {9}),
    "webhook.resources": Case(LIMITS, lambda r: _memory(r, BOTH[1]), "256Mi", "1Gi"),
    "webhook.certificates.mode": Case(
        "cert-manager",
        lambda r: (r.names("Certificate", "Issuer"), r.argument(BOTH[0], "--certificates")),
        ([], "managed"),
        (["toolvet-ca", "toolvet-ca", "toolvet-self-signed", "toolvet-webhook"], "external"),
    ),
    "webhook.certificates.issuerRef": Case(
        {"name": "corporate", "kind": "ClusterIssuer", "group": "pki.example"},
        lambda r: (r.one("Certificate", BOTH[1])["spec"]["issuerRef"], r.names("Issuer")),
        (
            {"group": "cert-manager.io", "kind": "Issuer", "name": "toolvet-ca"},
            ["toolvet-ca", "toolvet-self-signed"],
        ),
        ({"group": "pki.example", "kind": "ClusterIssuer", "name": "corporate"}, []),
        BY_ISSUER,
    ),
    "webhook.certificates.existingSecret": Case(
        "two", lambda r: r.pod(BOTH[1])["volumes"][0]["secret"]["secretName"], "one", "two", PROVIDED
    ),
    "webhook.certificates.caBundle": Case(
        PEM,
        lambda r: {base64.b64decode(hook["clientConfig"]["caBundle"]).decode() for hook in r.hooks()},
        {PEM + "0\n"},
        {PEM},
        PROVIDED,
    ),
    "networkPolicy.enabled": Case(True, lambda r: r.names("NetworkPolicy"), [], list(BOTH)),
    "networkPolicy.callers": Case(
        PEER,
        lambda r: (policy("ingress")(r), policy("ingress", BOTH[0])(r).get("from")),
        ({"ports": [{"protocol": "TCP", "port": 10250}]}, None),
        ({"ports": [{"protocol": "TCP", "port": 10250}], "from": PEER}, None),
        CLOSED,
    ),
    "networkPolicy.apiServers": Case(
        PEER,
        lambda r: [policy("egress", name)(r) for name in BOTH],
        [{"ports": ALL_PORTS}] * 2,
        [{"ports": ALL_PORTS, "to": PEER}] * 2,
        CLOSED,
    ),
    "networkPolicy.apiServerPorts": Case(
        [8443],
        lambda r: [policy("egress", name)(r)["ports"] for name in BOTH],
        [ALL_PORTS] * 2,
        [[{"protocol": "TCP", "port": 8443}]] * 2,
        CLOSED,
    ),
    "flowControl.enabled": Case(
        False, lambda r: r.names("FlowSchema", "PriorityLevelConfiguration"), sorted([*BOTH, *BOTH]), []
    ),
    "flowControl.webhookShares": Case(7, level(BOTH[1]), 30, 7),
    "flowControl.controllerShares": Case(7, level(BOTH[0]), 10, 7),
    "flowControl.collectorShares": Case(7, level(COLLECTOR), 5, 7, COLLECTED),
    "nodeSelector": Case({"a": "b"}, of_pods(lambda p: p.get("nodeSelector")), [None] * 2, [{"a": "b"}] * 2),
    "tolerations": Case(
        [{"key": "a"}], of_pods(lambda p: p.get("tolerations")), [None] * 2, [[{"key": "a"}]] * 2
    ),
    "priorityClassName": Case(
        "high", of_pods(lambda p: p.get("priorityClassName")), [None] * 2, ["high"] * 2
    ),
}


def _memory(rendered: Rendered, name: str) -> str:
    return rendered.container(name)["resources"]["limits"]["memory"]


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key != "resources":
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def nested(values: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for path, value in values.items():
        *parents, last = path.split(".")
        place = functools.reduce(lambda found, key: found.setdefault(key, {}), parents, result)
        place[last] = value
    return result


@pytest.fixture(scope="module")
def rendered(render: Render) -> Callable[..., Rendered]:
    """Render once for the same values."""
    known: dict[str, Rendered] = {}

    def once(values: dict[str, Any], **options: str) -> Rendered:
        key = json.dumps([values, options], sort_keys=True)
        if key not in known:
            known[key] = Rendered(render(values=nested(values), **options))
        return known[key]

    return once


def test_no_value_lacks_a_test() -> None:
    assert set(CASES) == set(leaves(VALUES))


@pytest.mark.parametrize("path", CASES)
def test_a_value_does_what_it_says(rendered: Callable[..., Rendered], path: str) -> None:
    case = CASES[path]
    assert case.look(rendered(case.beside)) == case.without
    options = {"release": "x"} if path == "nameOverride" else {}
    assert case.look(rendered({**case.beside, path: case.value}, **options)) == case.with_it


EVERYTHING = {path: case.value for path, case in CASES.items() if not path.startswith("webhook.cert")}


@pytest.mark.parametrize("more", [{}, EVERYTHING, EVERYTHING | BY_ISSUER, EVERYTHING | PROVIDED])
def test_helm_3_renders_the_same(rendered: Callable[..., Rendered], more: dict[str, Any]) -> None:
    def sorted_objects(program: str) -> list[str]:
        return sorted(json.dumps(obj, sort_keys=True) for obj in rendered(more, program=program).objects)

    assert sorted_objects("helm") == sorted_objects("helm3")

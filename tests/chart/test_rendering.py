"""What the chart renders, read as data."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.conftest import Render
from controlplane.bed import ControlPlane
from controlplane.chart import CHART
from toolvet.kube.kinds import match_conditions, webhook_rules

ROOT = CHART.parent.parent
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def of_kind(objects: list[dict], kind: str) -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == kind}


def resolve(schema: dict) -> dict:
    if "$ref" in schema:
        return SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_helm_lint_finds_nothing(controlplane: ControlPlane, program: str) -> None:
    shown = controlplane.helm("lint", "--strict", CHART, program=program).stdout
    assert "1 chart(s) linted, 0 chart(s) failed" in shown
    assert "WARNING" not in shown


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert chart["version"] == chart["appVersion"] == package


def test_values_and_schema_have_the_same_keys_and_nothing_else_is_accepted() -> None:
    def compare(values: dict, schema: dict, path: str) -> None:
        # Helm adds `global` to the values of a dependency; no value of ours.
        known = set(schema["properties"]) - ({"global"} if not path else set())
        assert known == set(values), path
        assert schema["additionalProperties"] is False, path
        for key, value in values.items():
            child = resolve(schema["properties"][key])
            if isinstance(value, dict) and value and not path.endswith("resources") and key != "resources":
                compare(value, child, f"{path}.{key}")

    compare(VALUES, SCHEMA, "")


def test_every_value_is_explained() -> None:
    # A comment above a value, or above the run of values it stands in.
    explained = False
    for line in (CHART / "values.yaml").read_text().splitlines():
        text = line.strip()
        if text.startswith("#"):
            explained = True
        elif not text:
            explained = False
        elif not text.startswith(("requests:", "limits:", "resources:", "- ")):
            assert explained or text.endswith(":"), text


@pytest.mark.parametrize(
    "option",
    [
        "unknown=1",
        "webhook.failurePolicy=Ignore",
        "webhook.timeoutSeconds=31",
        "webhook.port=443",
        "webhook.replicas=0",
        "image.pullPolicy=Sometimes",
        "crds.keep=perhaps",
        "image.digest=x",
        "networkPolicy.callers[0].ipBlok.cidr=10.0.0.0/8",
        "networkPolicy.apiServerPorts=[]",
        "flowControl.webhookShares=0",
        "webhook.certificates.mode=none",
        # A value that the mode does not use is a mistake, as is the lack of one that it needs.
        "webhook.certificates.issuerRef.name=mine",
        "webhook.certificates.existingSecret=mine",
        "webhook.certificates.mode=provided",
        "webhook.certificates.mode=cert-manager,webhook.certificates.issuerRef.kind=ClusterIssuer",
    ],
)
def test_a_value_outside_the_schema_is_refused(controlplane: ControlPlane, option: str) -> None:
    done = controlplane.helm("template", "toolvet", CHART, "--set", option, check=False)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr


def test_webhooks_take_rules_and_conditions_from_the_table_of_kinds(render: Render) -> None:
    (configuration,) = of_kind(render(), "ValidatingWebhookConfiguration").values()
    assert [hook["name"] for hook in configuration["webhooks"]] == [
        "enforce.toolvet.dev",
        "warn.toolvet.dev",
        "audit.toolvet.dev",
    ]
    for hook in configuration["webhooks"]:
        mode = hook["name"].partition(".")[0]
        assert hook["rules"] == webhook_rules()
        assert hook["matchConditions"] == match_conditions()
        assert hook["failurePolicy"] == ("Fail" if mode == "enforce" else "Ignore")
        assert hook["clientConfig"]["service"]["path"] == f"/v1/{mode}"
        assert "caBundle" not in hook["clientConfig"]
        assert hook["sideEffects"] == "None"
        assert hook["timeoutSeconds"] == 5


def test_webhooks_never_match_by_wildcard_nor_a_namespace_of_the_system(render: Render) -> None:
    (configuration,) = of_kind(render(namespace="guard"), "ValidatingWebhookConfiguration").values()
    for hook in configuration["webhooks"]:
        for rule in hook["rules"]:
            assert set(rule["operations"]) == {"CREATE", "UPDATE"}
            assert not any("*" in word for key in ("apiGroups", "resources") for word in rule[key])
            assert not any(word.endswith(("/status", "/binding", "/eviction")) for word in rule["resources"])
        mode, names = hook["namespaceSelector"]["matchExpressions"]
        assert mode == {
            "key": "toolvet.dev/mode",
            "operator": "In",
            "values": [hook["name"].partition(".")[0]],
        }
        assert names == {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "guard"],
        }


def test_no_role_aggregates_and_none_has_a_wildcard(render: Render) -> None:
    objects = render()
    roles = [*of_kind(objects, "ClusterRole").values(), *of_kind(objects, "Role").values()]
    assert len(roles) == 12
    for role in roles:
        assert "aggregationRule" not in role
        assert not any("aggregate" in label for label in role["metadata"]["labels"])
        for rule in role["rules"]:
            assert not any("*" in word for words in rule.values() for word in words), role["metadata"]["name"]


def test_people_get_only_the_verbs_of_their_role(render: Render) -> None:
    roles = of_kind(render(), "ClusterRole")

    def verbs(role: str, resource: str) -> set[str]:
        rules = roles[f"toolvet-{role}"]["rules"]
        return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}

    reading = {"get", "list", "watch"}
    ours = {"toolinventories", "runtoolcatalogsnapshots", "catalogapprovals", "catalogpolicies"}
    assert all(verbs("viewer", resource) == reading for resource in ours)
    assert verbs("producer", "toolinventories") == reading | {"create", "update", "patch"}
    assert not any(verbs("producer", resource) for resource in ours - {"toolinventories"})
    assert verbs("reviewer", "toolinventories") == reading
    assert verbs("reviewer", "runtoolcatalogsnapshots") == reading | {"create", "approve"}
    assert verbs("reviewer", "catalogapprovals") == reading | {"create", "update", "patch", "delete"}
    assert not verbs("reviewer", "catalogpolicies")
    assert verbs("policy-admin", "catalogpolicies") == reading | {
        "create",
        "update",
        "patch",
        "delete",
        "exempt",
    }
    assert not any(verbs("policy-admin", resource) for resource in ours - {"catalogpolicies"})
    bindings = of_kind(render(), "ClusterRoleBinding")
    assert set(bindings) == {"toolvet-controller", "toolvet-webhook"}


def test_the_gate_can_write_nothing(render: Render) -> None:
    objects = render()
    role = of_kind(objects, "ClusterRole")["toolvet-webhook"]
    for rule in role["rules"]:
        if rule["resources"] == ["subjectaccessreviews"]:
            assert rule["verbs"] == ["create"]
        else:
            assert set(rule["verbs"]) <= {"get", "list"}
    # What it forges before it is ready, in a namespace where the policy never lets it through.
    (forged,) = of_kind(objects, "Role")["toolvet-webhook"]["rules"]
    assert (forged["resources"], forged["verbs"]) == (["catalogapprovals"], ["create"])


def test_the_controller_reaches_two_secrets_and_one_webhook_configuration(render: Render) -> None:
    objects = render()
    role = of_kind(objects, "Role")["toolvet-controller"]
    (secrets,) = [rule for rule in role["rules"] if "secrets" in rule["resources"]]
    assert secrets["resourceNames"] == ["toolvet-ca", "toolvet-tls"]
    rules = of_kind(objects, "ClusterRole")["toolvet-controller"]["rules"]
    assert not any("secrets" in rule["resources"] for rule in rules)
    (configurations,) = [rule for rule in rules if "validatingwebhookconfigurations" in rule["resources"]]
    assert configurations["resourceNames"] == ["toolvet"]
    assert set(configurations["verbs"]) == {"get", "patch"}


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "cert-manager"},
        {"mode": "provided", "existingSecret": "mine", "caBundle": "-----BEGIN CERTIFICATE-----"},
    ],
)
def test_with_certificates_of_others_no_secret_is_anybodys(render: Render, values: dict[str, Any]) -> None:
    objects = render(values={"webhook": {"certificates": values}})
    for role in [*of_kind(objects, "ClusterRole").values(), *of_kind(objects, "Role").values()]:
        assert not any("secrets" in rule["resources"] for rule in role["rules"])
    (container,) = of_kind(objects, "Deployment")["toolvet-controller"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["args"][container["args"].index("--certificates") + 1] == "external"
    assert not {"--ca-secret", "--tls-secret", "--service"} & set(container["args"])


def test_the_authority_of_cert_manager_signs_what_the_gate_serves(render: Render) -> None:
    objects = render(values={"webhook": {"certificates": {"mode": "cert-manager"}}})
    certificates, issuers = of_kind(objects, "Certificate"), of_kind(objects, "Issuer")
    leaf, authority = certificates["toolvet-webhook"]["spec"], certificates["toolvet-ca"]["spec"]
    (service,) = of_kind(objects, "Service")
    assert f"{service}.toolvet-system.svc" in leaf["dnsNames"]
    assert issuers[leaf["issuerRef"]["name"]]["spec"] == {"ca": {"secretName": authority["secretName"]}}
    assert authority["isCA"] is True
    assert issuers[authority["issuerRef"]["name"]]["spec"] == {"selfSigned": {}}
    gate = of_kind(objects, "Deployment")["toolvet-webhook"]["spec"]["template"]["spec"]
    assert gate["volumes"][0]["secret"]["secretName"] == leaf["secretName"] != authority["secretName"]
    (configuration,) = of_kind(objects, "ValidatingWebhookConfiguration").values()
    assert configuration["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": "toolvet-system/toolvet-webhook"
    }


def test_every_pod_is_chosen_by_its_budget_and_its_network_policy(render: Render) -> None:
    objects = render("--set", "networkPolicy.enabled=true")
    labels = {
        name: deployment["spec"]["template"]["metadata"]["labels"]
        for name, deployment in of_kind(objects, "Deployment").items()
    }
    chosen = of_kind(objects, "NetworkPolicy")
    assert set(chosen) == set(labels)
    for name, policy in chosen.items():
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels[name].items()
    (budget,) = of_kind(objects, "PodDisruptionBudget").values()
    spread = of_kind(objects, "Deployment")["toolvet-webhook"]["spec"]["template"]["spec"]
    selector = budget["spec"]["selector"]["matchLabels"]
    assert selector.items() <= labels["toolvet-webhook"].items()
    assert not selector.items() <= labels["toolvet-controller"].items()
    assert spread["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"] == selector


def test_the_gate_lives_without_a_certificate(render: Render) -> None:
    (container,) = of_kind(render(), "Deployment")["toolvet-webhook"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["livenessProbe"]["tcpSocket"] == {"port": "https"}
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_pods_meet_the_restricted_standard_and_have_accounts_of_their_own(render: Render) -> None:
    objects = render()
    deployments = of_kind(objects, "Deployment")
    assert set(deployments) == {"toolvet-controller", "toolvet-webhook"}
    for name, deployment in deployments.items():
        spec = deployment["spec"]["template"]["spec"]
        assert spec["serviceAccountName"] == name
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"livenessProbe", "readinessProbe", "resources"} <= set(container)
    assert set(of_kind(objects, "ServiceAccount")) == set(deployments)


def test_the_gate_is_replaced_without_a_gap_and_mounts_no_private_key_but_its_own(render: Render) -> None:
    gate = of_kind(render(), "Deployment")["toolvet-webhook"]["spec"]
    assert gate["replicas"] == 2
    assert gate["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    (volume,) = gate["template"]["spec"]["volumes"]
    assert volume["secret"]["optional"] is True
    assert [item["key"] for item in volume["secret"]["items"]] == ["tls.crt", "tls.key"]


def test_ports_are_followed_from_value_to_configuration(render: Render) -> None:
    objects = render("--set", "webhook.port=9443,webhook.servicePort=8443,controller.healthPort=9090")
    (container,) = of_kind(objects, "Deployment")["toolvet-webhook"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][container["args"].index("--port") + 1] == "9443"
    assert container["ports"] == [{"name": "https", "containerPort": 9443}]
    (service,) = of_kind(objects, "Service").values()
    assert service["spec"]["ports"][0]["port"] == 8443
    (configuration,) = of_kind(objects, "ValidatingWebhookConfiguration").values()
    assert {hook["clientConfig"]["service"]["port"] for hook in configuration["webhooks"]} == {8443}
    (leader,) = of_kind(objects, "Deployment")["toolvet-controller"]["spec"]["template"]["spec"]["containers"]
    assert leader["args"][-2:] == ["--health-port", "9090"]


def test_names_follow_release_and_override(render: Render) -> None:
    assert "prod-toolvet-webhook" in of_kind(render(release="prod"), "Deployment")
    named = of_kind(render("--set", "fullnameOverride=guard"), "Deployment")["guard-controller"]
    arguments = named["spec"]["template"]["spec"]["containers"][0]["args"]
    for option, value in (
        ("--lease", "guard-controller"),
        ("--ca-secret", "guard-ca"),
        ("--tls-secret", "guard-tls"),
        ("--service", "guard-webhook"),
        ("--webhook-configuration", "guard"),
        ("--namespace", "toolvet-system"),
    ):
        assert arguments[arguments.index(option) + 1] == value


def test_definitions_and_policies_come_stay_and_go_together(render: Render) -> None:
    kinds = ("CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

    def guarded(*options: str) -> list[dict]:
        return [obj for obj in render(*options) if obj["kind"] in kinds]

    whole = [obj["kind"] for obj in guarded()]
    assert whole.count(kinds[0]) == 8
    assert whole.count(kinds[1]) == whole.count(kinds[2]) == 12
    assert all(obj["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"} for obj in guarded())
    assert len(guarded("--set", "crds.keep=false")) == len(whole)
    assert not any("annotations" in obj["metadata"] for obj in guarded("--set", "crds.keep=false"))
    assert guarded("--set", "crds.enabled=false") == []


def test_policies_fail_closed_and_speak_fixed_texts(render: Render) -> None:
    objects = render()
    policies = of_kind(objects, "ValidatingAdmissionPolicy")
    bindings = of_kind(objects, "ValidatingAdmissionPolicyBinding")
    assert set(policies) == set(bindings)
    for name, policy in policies.items():
        assert policy["spec"]["failurePolicy"] == "Fail"
        assert bindings[name]["spec"] == {"policyName": name, "validationActions": ["Deny"]}
        for validation in policy["spec"]["validations"]:
            assert "messageExpression" not in validation
            assert re.match(r"[a-zA-Z_.]+: [a-z_]+: ", validation["message"])
            assert "\n" not in validation["message"]


def test_no_object_is_a_hook_and_none_carries_a_secret(render: Render) -> None:
    objects = render()
    for obj in objects:
        assert "helm.sh/hook" not in obj["metadata"].get("annotations", {})
    assert not of_kind(objects, "Secret")


def test_definitions_of_the_chart_are_those_of_the_source(render: Render) -> None:
    rendered = of_kind(render(), "CustomResourceDefinition")
    sources = [yaml.safe_load(path.read_text()) for path in sorted(Path(ROOT / "crds").glob("*.yaml"))]
    assert {source["metadata"]["name"] for source in sources} == set(rendered)
    for source in sources:
        assert rendered[source["metadata"]["name"]]["spec"] == source["spec"]

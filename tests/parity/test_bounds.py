"""Every bound and expression of the CRDs is the code's own number: none can be changed on one side alone."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from crds.objects import LONGEST_NAMESPACE, record
from parity.conftest import SOURCES
from toolvet.controller import change, evidence
from toolvet.controller.conditions import ConditionType
from toolvet.core import identifiers, tool_listing
from toolvet.core.approval import SNAPSHOT_NAME_DIGITS, Approval
from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.denial import SHORT_DIGEST_DIGITS
from toolvet.core.differences import DIFFERENCE_CODES
from toolvet.core.identifiers import DIGEST_LENGTH, MAX_NAMESPACE_LENGTH
from toolvet.core.policy import Policy, ReviewOn
from toolvet.core.reasons import Reason
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.tool_account import AccountRule, CallPhase, ChangeEvent
from toolvet.kube import account_shapes, resources, shapes
from toolvet.kube.names import MAX_LABEL, MAX_OBJECT_NAME
from toolvet.kube.resources import catalog_from_inventory

SCHEMAS = {
    definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for definition in (yaml.safe_load(path.read_text()) for path in SOURCES)
}
LONGEST_TOOL_ID = f"tool:{LONGEST_NAMESPACE}/{'a' * 64}"
RUN_ID = "run_" + "0" * 32
LONGEST_TIME = "2030-01-31T12:00:00.123456Z"
LONGEST_AGE = "999999h999999m999999s"

# By the name of the member, "[]" for an item of a list and "{}" for a value of a map.
EXACT: dict[str, dict[str, int]] = {
    "maxLength": {
        "toolId": len(LONGEST_TOOL_ID),
        "version": identifiers.MAX_VERSION_LENGTH,
        "capabilityClass": identifiers.MAX_IDENTIFIER_LENGTH,
        "schemaDigest": DIGEST_LENGTH,
        "implementationId": DIGEST_LENGTH,
        "catalogDigest": DIGEST_LENGTH,
        "previousCatalogDigest": DIGEST_LENGTH,
        "inventoryDigest": DIGEST_LENGTH,
        "snapshotDigest": DIGEST_LENGTH,
        "digest": SHORT_DIGEST_DIGITS,
        "chainDigest": DIGEST_LENGTH,
        "inventoryName": shapes.MAX_INVENTORY_NAME,
        "snapshotName": MAX_OBJECT_NAME,
        "runId": len(RUN_ID),
        "capturedBy": shapes.MAX_USER_NAME,
        "approvedBy": shapes.MAX_USER_NAME,
        "deliverySubjects[]": shapes.MAX_USER_NAME,
        "serviceAccountNames[]": MAX_OBJECT_NAME,
        "matchLabels{}": MAX_LABEL,
        "namespaces[]": MAX_LABEL,
        "minorChangeOf[]": DIGEST_LENGTH,
        "sourceName": account_shapes.MAX_SOURCE_NAME,
        "enablementName": MAX_OBJECT_NAME,
        "changeName": MAX_OBJECT_NAME,
        "credentialsSecretName": MAX_OBJECT_NAME,
        "evidenceSecretName": MAX_OBJECT_NAME,
        "url": account_shapes.MAX_URL,
        "tool": account_shapes.MAX_RUNTIME_NAME,
        "path": account_shapes.MAX_POINTER,
        "idNamespace": MAX_NAMESPACE_LENGTH,
        "subject": shapes.MAX_USER_NAME,
        "requestedBy": shapes.MAX_USER_NAME,
        "decidedBy": shapes.MAX_USER_NAME,
        "definitionFingerprint": DIGEST_LENGTH,
        "argumentsDigest": DIGEST_LENGTH,
        "fingerprint": DIGEST_LENGTH,
        "contract": DIGEST_LENGTH,
        "hints": DIGEST_LENGTH,
        "rest": DIGEST_LENGTH,
        "sourceUid": 36,
        "consumptionId": 32,
        # metav1.Condition has these.
        "type": 316,
        "message": 32768,
        "reason": 1024,
    },
    "maxItems": {
        "tools": shapes.MAX_TOOLS,
        "minorChangeOf": shapes.MAX_MINOR_CHANGES,
        "bindings": shapes.MAX_TOOLS,
        "deliverySubjects": shapes.MAX_SUBJECTS,
        "serviceAccountNames": shapes.MAX_SUBJECTS,
        "overrides": shapes.MAX_OVERRIDES,
        "namespaces": shapes.MAX_OVERRIDE_NAMESPACES,
        "entries": change.MAX_ENTRIES,
        "differences": evidence.MAX_DIFFERENCES,
        "ignorePaths": account_shapes.MAX_IGNORED_PATHS,
        "ignoredPaths": account_shapes.MAX_IGNORED_PATHS,
        "rules": shapes.MAX_TOOLS,
        "effectiveRules": shapes.MAX_TOOLS,
        "acknowledged": account_shapes.MAX_ACKNOWLEDGED,
        "pendingChanges": account_shapes.MAX_PENDING,
    },
    "maxProperties": {"matchLabels": shapes.MAX_LABELS},
    "minLength": dict.fromkeys(
        (
            *("inventoryName", "capturedBy", "approvedBy", "reason", "sourceName", "subject", "requestedBy"),
            *("enablementName", "changeName", "decidedBy"),
        ),
        1,
    ),
}
# Room for the longest and the most that the grammar allows or that we write.
ROOM: dict[str, dict[str, int]] = {
    "maxLength": {
        "sideEffectClass": max(map(len, SideEffectClass)),
        "expiresAt": len(LONGEST_TIME),
        "time": len(LONGEST_TIME),
        "lastTransitionTime": len(LONGEST_TIME),
        "maxApprovalAge": len(LONGEST_AGE),
        "reviewOn": max(map(len, ReviewOn)),
        "codes[]": max(map(len, Reason)),
        "reasons[]": max(map(len, ChangeReason)),
        "fields[]": max(map(len, change._FIELDS.values())),
        "change": len("removed"),
        "eligibility": len("re-review-required"),
        "name": MAX_OBJECT_NAME,
        "kind": len("RemoteMCPServer"),
        "apiVersion": len("toolhive.stacklok.dev/v99alpha99"),
        "maxObservationAge": len(LONGEST_AGE),
        "reading": len("Literal"),
        "unlisted": 8,
        "protocolVersion": len("2025-11-25"),
        "unknownReason": 32,
        "observedAt": len(LONGEST_TIME),
        "attemptedAt": len(LONGEST_TIME),
        "event": max(map(len, ChangeEvent)),
        "severity": len("Material"),
        "literalSeverity": len("Material"),
        "flags[]": max(map(len, ToolFlag)),
        "rule": max(map(len, AccountRule)),
        "defaultRule": max(map(len, AccountRule)),
        "phase": max(map(len, CallPhase)),
        "status": len("Unknown"),
    },
    "maxItems": {
        "codes": len(DIFFERENCE_CODES),
        "reasons": len(Reason),
        "flags": len(ToolFlag),
        "fields": len(change._FIELDS),
        "conditions": len(ConditionType),
    },
}
BOUNDS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")


def nodes(schema: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, schema
    for member, child in schema.get("properties", {}).items():
        yield from nodes(child, member)
    if "items" in schema:
        yield from nodes(schema["items"], f"{name}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{name}{{}}")


ALL_NODES = [(kind, *node) for kind, schema in SCHEMAS.items() for node in nodes(schema, "")]
RULES = [
    (kind, name, rule["rule"])
    for kind, name, schema in ALL_NODES
    for rule in schema.get("x-kubernetes-validations", ())
]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_bound_is_a_constant_of_the_code(kind: str) -> None:
    for _, name, schema in (node for node in ALL_NODES if node[0] == kind):
        for bound in BOUNDS:
            if bound not in schema:
                continue
            exact, room = EXACT.get(bound, {}).get(name), ROOM.get(bound, {}).get(name)
            assert (exact, room) != (None, None), f"{name}: {bound} is nobody's"
            if exact is not None:
                assert schema[bound] == exact, f"{name}: {bound}"
            if room is not None:
                assert schema[bound] >= room, f"{name}: {bound}"
        # The controller counts: a status of ours cannot be refused for a number.
        assert schema.get("minimum", 0) == 0
        assert "maximum" not in schema


def test_the_table_has_nothing_that_the_crds_do_not_have() -> None:
    for table in (EXACT, ROOM):
        for bound, names in table.items():
            for name in names:
                assert any(name == found and bound in schema for _, found, schema in ALL_NODES), (bound, name)


def test_the_longest_that_the_grammar_allows_is_allowed() -> None:
    assert len(catalog_from_inventory({"spec": {"tools": [record(LONGEST_TOOL_ID)]}}).bindings) == 1
    assert resources._DURATION.fullmatch(LONGEST_AGE)
    assert not resources._DURATION.fullmatch(f"9{LONGEST_AGE}")
    assert shapes._UTC_TIME.fullmatch(LONGEST_TIME)
    assert str(resources.run_id_of({}, RUN_ID)) == RUN_ID


def plain(pattern: str) -> str:
    """Write a pattern of ours as the CRDs do: groups unnamed and captured, a dot as a class."""
    ungrouped = re.sub(r"\(\?(?::|P<\w+>)", "(", pattern)
    return ungrouped.replace(r"\.", "[.]").replace(r"\[", "[[]").replace(r"\]", "[]]")


def whole(pattern: str) -> str:
    return f"^{plain(pattern)}$"


_IDENTIFIER = (
    rf"{identifiers._LABEL}(?:\.{identifiers._LABEL})+/[a-z][a-z0-9-]{{0,63}}(?:@{identifiers._VERSION})?"
)
PATTERNS = {
    whole(rf"tool:{_IDENTIFIER}"),
    whole(rf"capability:{_IDENTIFIER}"),
    f"@{plain(identifiers._VERSION)}$",
    whole(identifiers._VERSION),
    whole(identifiers._DIGEST.pattern),
    whole(identifiers._CORRELATION.pattern.replace("(?P<kind>run|act)", "run")),
    f"^{plain(resources._DURATION.pattern).replace('([0-9]{1,6})', '[0-9]{1,6}')}$",
    "[1-9]",
    whole(rf"{identifiers._LABEL}(?:\.{identifiers._LABEL})+"),
    *(
        whole(pattern.pattern)
        for pattern in (
            account_shapes._URL,
            account_shapes._REFERENCE,
            account_shapes._POINTER,
            account_shapes._UID,
        )
    ),
}
# Names and days have no pattern in the code; test_same_verdict holds them to the same verdicts.
WITHOUT = {
    *("inventory_name", "namespaces", "expires_at", "source_name", "enablement_name", "change_name", "name"),
    *("credentials_secret_name", "evidence_secret_name", "consumption_id"),
}


def test_every_pattern_is_the_codes_own() -> None:
    ungrouped = [re.sub(r"[()]", "", plain(text)) for text in (identifiers._IDENTIFIER.pattern, _IDENTIFIER)]
    assert ungrouped[0] == f"[a-z]+:{ungrouped[1]}"
    found = {
        pattern
        for _, _, schema in ALL_NODES
        for rule in schema.get("x-kubernetes-validations", ())
        if rule["message"].partition(":")[0] not in WITHOUT
        for pattern in re.findall(r"matches\('([^']*)'\)", rule["rule"])
    }
    assert found == PATTERNS


def test_every_number_in_a_rule_is_a_constant_of_the_code() -> None:
    prefix = len("sha256:")
    cut = f"substring({prefix}, {prefix + SNAPSHOT_NAME_DIGITS})"
    known = [
        f"self.metadata.name.size() <= {shapes.MAX_INVENTORY_NAME}",
        f"indexOf('/') <= {len('tool:') + MAX_NAMESPACE_LENGTH}",
        f"indexOf('/') <= {len('capability:') + MAX_NAMESPACE_LENGTH}",
        f"catalogDigest.size() == {DIGEST_LENGTH}",
        cut,
        f"self.requiredApprovals >= 1 && self.requiredApprovals <= {shapes.MAX_REQUIRED_APPROVALS}",
        f"key.size() <= {shapes.MAX_LABEL_KEY}",
        "self.namespaces.size() >= 1",
        f"self.metadata.name.size() <= {account_shapes.MAX_SOURCE_NAME}",
        f"self.intervalSeconds >= {account_shapes.MIN_INTERVAL}",
        f"self.intervalSeconds <= {account_shapes.MAX_INTERVAL}",
        "self.reasons.size() >= 1",
        "self.reasons[i - 1]",
        "self.flags[i - 1]",
        "i == 0",
        "self[i - 1]",
    ]
    text = [re.sub(r"matches\('[^']*'\)", "", " ".join(rule.split())) for _, _, rule in RULES]
    for part in known:
        assert any(part in rule for rule in text), part
    left = text
    for part in known:
        left = [rule.replace(part, "") for rule in left]
    assert not [rule for rule in left if re.search(r"\d", re.sub(r"'[^']*'", "", rule))]


def test_codes_of_changes_are_those_of_the_core() -> None:
    for word, known in (("reason,", ChangeReason), ("flag,", ToolFlag)):
        (rule,) = {rule for _, _, rule in RULES if f"all({word}" in rule and " in [" in rule}
        assert set(re.findall(r"'([^']*)'", rule)) == set(known)


def test_classes_defaults_and_the_listers_limit_are_the_same() -> None:
    (classes,) = {rule for _, _, rule in RULES if "sideEffectClass" in rule}
    assert set(re.findall(r"'([^']*)'", classes)) == set(SideEffectClass)
    spec = {kind: schema["properties"]["spec"]["properties"] for kind, schema in SCHEMAS.items()}
    choices = {rule for kind, _, rule in RULES if "reviewOn" in rule}
    assert set(re.findall(r"'([^']*)'", *choices)) == set(ReviewOn)
    assert spec["CatalogPolicy"]["reviewOn"]["default"] == Policy().review_on
    assert spec["CatalogPolicy"]["requiredApprovals"]["default"] == Policy().required_approvals
    assert spec["CatalogApproval"]["revoked"]["default"] is Approval("", "", "", "", "", "").revoked
    assert tool_listing.MAX_TOOLS == shapes.MAX_TOOLS

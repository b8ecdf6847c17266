"""The grammar of a record: the API server and the core agree on every value, and neither repeats one."""

import pytest

from crds.api import Resources
from crds.objects import (
    DIGEST,
    LABEL,
    LONGEST_CAPABILITY,
    LONGEST_NAMESPACE,
    LONGEST_VERSION,
    inventory,
    record,
    snapshot,
)
from toolvet.core.errors import ContractError
from toolvet.kube.resources import catalog_from_inventory

CANARY = "canary"  # lower case: a part of every refused value that no message of ours has

VALID = [
    ("toolId", "tool:org.example/summarize"),
    ("toolId", "tool:org.example/trailing-"),
    ("toolId", "tool:org.example/a--b"),
    ("toolId", "tool:0.9/a"),
    ("toolId", f"tool:{LABEL}.{LABEL}/a"),
    ("toolId", f"tool:{LONGEST_NAMESPACE}/{'a' * 64}"),
    ("version", "0.0.0"),
    ("version", "10.200.3000"),
    ("version", LONGEST_VERSION),
    ("capabilityClass", "capability:org.example/text"),
    ("capabilityClass", "capability:org.example/text@1.0.0"),
    ("capabilityClass", LONGEST_CAPABILITY),
    ("sideEffectClass", "none"),
    ("sideEffectClass", "read-only"),
    ("sideEffectClass", "idempotent-write"),
    ("sideEffectClass", "non-idempotent-write"),
    ("sideEffectClass", "destructive"),
    ("schemaDigest", "sha256:" + "0123456789abcdef" * 4),
    ("implementationId", "sha256:" + "0123456789abcdef" * 4),
]

ID, VERSION_APART = "tool_id: invalid_identifier", "tool_id: version_must_be_separate"
SEMVER, CAPABILITY = "version: invalid_semver", "capability_class: invalid_identifier"
CLASS, SCHEMA = "side_effect_class: invalid_class", "schema_digest: invalid_digest"
IMPLEMENTATION = "implementation_id: invalid_digest"

INVALID = [
    ("toolId", "", ID),
    ("toolId", CANARY, ID),
    ("toolId", f"tool:{CANARY}/one-label", ID),
    ("toolId", f"tool:org.{CANARY}/", ID),
    ("toolId", f"tool:org.{CANARY}/0digit", ID),
    ("toolId", f"tool:org.{CANARY}/-a", ID),
    ("toolId", f"tool:org.{CANARY}/under_score", ID),
    ("toolId", f"tool:org.{CANARY}/Upper", ID),
    ("toolId", f"tool:Org.{CANARY}/a", ID),
    ("toolId", f"tool:org.{CANARY}/a\n", ID),
    ("toolId", f"\ntool:org.{CANARY}/a", ID),
    ("toolId", f"tool:org.{CANARY}/a\nb", ID),
    ("toolId", f" tool:org.{CANARY}/a", ID),
    ("toolId", f"tool:org.{CANARY}/é", ID),
    ("toolId", f"tool:org.{CANARY}/a\u0661", ID),
    ("toolId", f"tool:-org.{CANARY}/a", ID),
    ("toolId", f"tool:org-.{CANARY}/a", ID),
    ("toolId", f"tool:org..{CANARY}/a", ID),
    ("toolId", f"tool:.org.{CANARY}/a", ID),
    ("toolId", f"tool:org.{CANARY}:443/a", ID),
    ("toolId", f"tool:org.{CANARY}/a/b", ID),
    ("toolId", f"TOOL:org.{CANARY}/a", ID),
    ("toolId", f"capability:org.{CANARY}/a", ID),
    ("toolId", f"tool:{LABEL}l.{CANARY}/a", ID),
    ("toolId", f"tool:org.{CANARY}/{'a' * 65}", ID),
    ("toolId", f"tool:{CANARY}.{LONGEST_NAMESPACE}/a", ID),
    ("toolId", f"tool:org.{CANARY}/a@1.0", ID),
    ("toolId", f"tool:org.{CANARY}/a@1.0.0", VERSION_APART),
    ("version", "", SEMVER),
    ("version", CANARY, SEMVER),
    ("version", f"1.0.0-{CANARY}", SEMVER),
    ("version", f"1.0.0+{CANARY}", SEMVER),
    ("version", "4711.0", SEMVER),
    ("version", "4711.0.0.0", SEMVER),
    ("version", "04711.0.0", SEMVER),
    ("version", "v4711.0.0", SEMVER),
    ("version", "-4711.0.0", SEMVER),
    ("version", "4711.0.0\n", SEMVER),
    ("version", "4711.0.\u0660", SEMVER),
    ("capabilityClass", CANARY, CAPABILITY),
    ("capabilityClass", f"tool:org.{CANARY}/a", CAPABILITY),
    ("capabilityClass", f"capability:org.{CANARY}/a@1", CAPABILITY),
    ("capabilityClass", f"capability:org.{CANARY}/a@1.0.01", CAPABILITY),
    ("capabilityClass", f"capability:org.{CANARY}/a@1.0.0\n", CAPABILITY),
    ("capabilityClass", f"capability:{CANARY}.{LONGEST_NAMESPACE}/a", CAPABILITY),
    ("sideEffectClass", CANARY, CLASS),
    ("sideEffectClass", "", CLASS),
    ("sideEffectClass", "Destructive", CLASS),
    ("sideEffectClass", "destructive\n", CLASS),
    ("sideEffectClass", "read_only", CLASS),
    ("schemaDigest", CANARY, SCHEMA),
    ("schemaDigest", "a" * 64, SCHEMA),
    ("schemaDigest", "sha256:" + "A" * 64, SCHEMA),
    ("schemaDigest", "sha512:" + "a" * 64, SCHEMA),
    ("schemaDigest", "sha256:" + "a" * 63, SCHEMA),
    ("schemaDigest", "sha256:" + "a" * 63 + "\n", SCHEMA),
    ("implementationId", CANARY, IMPLEMENTATION),
    ("implementationId", "sha256:" + "g" * 64, IMPLEMENTATION),
]


def core_accepts(obj: dict) -> bool:
    try:
        catalog_from_inventory(obj)
    except ContractError:
        return False
    return True


def test_valid_values_are_accepted_by_the_api_server_and_by_the_core(resources: Resources) -> None:
    for field, value in VALID:
        obj = inventory(record(**{field: value}) if field != "toolId" else record(value))
        assert core_accepts(obj), (field, value)
        assert resources.accepts(obj), (field, value)


def test_invalid_values_are_refused_by_code_at_the_record_and_never_repeated(resources: Resources) -> None:
    for field, value, code in INVALID:
        bad = {**record("tool:org.example/first"), field: value}
        for obj, place in ((inventory(bad), "spec.tools[0]"), (snapshot(bad), "spec.bindings[0]")):
            told = resources.refusal(obj)
            assert f"{place}: " in told, (field, value, told)
            assert code in told, (field, value, told)
            assert CANARY not in told, (field, value, told)
            assert not value.strip() or value.strip() not in told.replace(code, ""), (field, value, told)
        assert not core_accepts(inventory(bad)), (field, value)


@pytest.mark.parametrize("field", sorted(record()))
def test_a_missing_or_overlong_member_is_refused_without_its_value(resources: Resources, field: str) -> None:
    without = record()
    del without[field]
    assert f"spec.tools[0].{field}: Required value" in resources.refusal(inventory(without))
    told = resources.refusal(inventory({**record(), field: CANARY * 100}))
    assert f"spec.tools[0].{field}: Too long" in told
    assert CANARY not in told


def test_every_fault_of_every_record_is_named_at_once(resources: Resources) -> None:
    told = resources.refusal(
        inventory(record("tool:a.b/a", version="x"), record("tool:a.b/b", schemaDigest="x")),
    )
    assert "spec.tools[0]: Invalid value: version: invalid_semver" in told
    assert "spec.tools[1]: Invalid value: schema_digest: invalid_digest" in told


def test_order_and_uniqueness_are_those_of_the_plain_text(resources: Resources) -> None:
    one, ten, two = (record("tool:a.b/x", version) for version in ("1.9.0", "1.10.0", "2.0.0"))
    dash, longer = record("tool:a.b/x-y", "1.0.0"), record("tool:a.b/xy", "1.0.0")
    assert resources.accepts(inventory(ten, one, two, dash, longer))
    assert resources.accepts(snapshot(ten, one, two, dash, longer))
    for disordered in ((one, ten), (dash, two), (longer, dash)):
        assert "tools: unsorted_records" in resources.refusal(inventory(*disordered))
        assert "bindings: unsorted_records" in resources.refusal(snapshot(*disordered))
    twice = (one, {**one, "schemaDigest": DIGEST, "sideEffectClass": "none"})
    for told in (resources.refusal(inventory(*twice)), resources.refusal(snapshot(*twice))):
        assert "duplicate_record" in told
        assert "tool:a.b/x" not in told


def test_unknown_members_are_refused_or_dropped_but_never_stored(resources: Resources) -> None:
    obj = inventory(record(description="a text"))
    with pytest.raises(Exception, match=r'unknown field "spec.tools\[0\].description"'):
        resources.create(obj)
    path = resources.path(obj).replace("Strict", "Ignore")
    assert "description" not in resources.bed.api("POST", path, obj)["spec"]["tools"][0]

"""Records beyond the vectors: drawn identifiers, exact types, errors and representations without values."""

import traceback
from collections import UserDict
from enum import StrEnum

import pytest

from core.build import LONGEST_NAMESPACE, binding, catalog, digest, snapshot
from toolvet.core.binding import Catalog, RunToolCatalogSnapshot, ToolBinding
from toolvet.core.canonical import canonical_json, domain_digest
from toolvet.core.eligibility import BINDING_CODES, CatalogEligibility
from toolvet.core.errors import ContractError, CorrelationIdError, GovernanceIdError, ToolInventoryError
from toolvet.core.identifiers import (
    ActionId,
    GovernanceKind,
    RunId,
    is_digest,
    is_semver,
    parse_governance_id,
)
from toolvet.core.inventory import RECORD_FIELDS, SCHEMA_VERSION, ToolInventory, ToolInventoryRecord
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.tool_contract import schema_digest

CANARY = "canary"


@pytest.mark.parametrize(("kind", "prefix"), [(RunId, "run_"), (ActionId, "act_")])
def test_identifiers_are_drawn_from_the_source_given(kind, prefix) -> None:
    assert str(kind.generate(token_source=lambda count: b"\xab" * count)) == prefix + "ab" * 16
    assert kind.generate() != kind.generate()


@pytest.mark.parametrize("drawn", [b"", b"a" * 15, b"a" * 17, "a" * 16, bytearray(16), None, 16])
def test_a_source_that_gives_something_else_is_refused(drawn) -> None:
    for kind in (RunId, ActionId):
        with pytest.raises(CorrelationIdError) as caught:
            kind.generate(token_source=lambda _: drawn)
        assert caught.value.code == "invalid_token_source"


class Text(str):
    __slots__ = ()


class Lookalike(StrEnum):
    NONE = "none"


def test_a_subclass_of_text_is_not_text() -> None:
    assert not is_semver(Text("1.0.0"))
    assert not is_digest(Text(digest("x")))
    with pytest.raises(GovernanceIdError):
        parse_governance_id(Text("tool:org.example/a"), GovernanceKind.TOOL)
    with pytest.raises(ToolInventoryError):
        ToolInventoryRecord("tool:org.example/a", "1.0.0", "capability:a.b/c", Lookalike.NONE, digest("x"))  # type: ignore[arg-type]


class Hostile(UserDict):
    def items(self):
        raise RuntimeError(CANARY)


@pytest.mark.parametrize(
    "read", [ToolInventory.from_dict, ToolInventoryRecord.from_dict, RunToolCatalogSnapshot.from_dict]
)
def test_a_mapping_that_raises_is_a_contract_error(read) -> None:
    with pytest.raises(ContractError) as caught:
        read(Hostile())
    assert CANARY not in str(caught.value)


def _record(**members: object) -> dict[str, object]:
    return {**binding().tool.to_dict(), **members}


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToolInventory.from_dict({"schema_version": CANARY, "tools": []}),
        lambda: ToolInventory.from_dict({CANARY: 1, "tools": []}),
        lambda: ToolInventory.from_dict({"schema_version": SCHEMA_VERSION, "tools": [CANARY]}),
        *(lambda f=f: ToolInventoryRecord.from_dict(_record(**{f: CANARY})) for f in RECORD_FIELDS),
        lambda: ToolInventoryRecord.from_dict(_record(**{CANARY: CANARY})),
        lambda: ToolBinding(binding().tool, CANARY),
        lambda: RunId(CANARY),
        lambda: RunToolCatalogSnapshot.from_dict({CANARY: CANARY}),
        lambda: schema_digest({CANARY: {CANARY}}, None),
        lambda: schema_digest({CANARY: float("nan")}, None),
        lambda: parse_governance_id(f"{CANARY}:a.b/c", GovernanceKind.TOOL),
        lambda: CatalogEligibility(digest("x"), (CANARY,)),
    ],
)  # fmt: skip
def test_no_error_repeats_a_value(make) -> None:
    with pytest.raises(ContractError) as caught:
        make()
    shown = [line for line in traceback.format_exception(caught.value) if not line.startswith("  File")]
    assert CANARY not in "".join(shown)


def test_no_representation_shows_a_value() -> None:
    one = binding(CANARY)
    shown = [
        one, one.tool, catalog(one), catalog(one).inventory, snapshot("assistant", catalog(one)).evidence,
        parse_governance_id(f"tool:org.example/{CANARY}", GovernanceKind.TOOL), RunId("run_" + "c" * 32),
    ]  # fmt: skip
    assert CANARY not in repr(shown)
    assert "c" * 32 not in repr(shown)


def test_records_and_catalogs_cannot_be_changed() -> None:
    for held, name in (
        (binding(), "implementation_id"),
        (catalog(), "bindings"),
        (binding().tool, "version"),
    ):
        with pytest.raises(AttributeError):
            setattr(held, name, None)


def test_two_bindings_of_one_tool_are_no_catalog() -> None:
    with pytest.raises(ContractError) as caught:
        catalog(binding(schema=1), binding(schema=2))
    assert str(caught.value) == "invalid_bindings"
    assert len(catalog(binding(version="1.0.0"), binding(version="1.0.1")).bindings) == 2


def test_catalogs_are_sorted_by_number() -> None:
    versions = ["10.0.0", "1.10.0", "2.0.0", "1.9.0"]
    found = catalog(*(binding(version=version) for version in versions))
    assert [item.tool.version for item in found.bindings] == ["1.9.0", "1.10.0", "2.0.0", "10.0.0"]


def test_the_catalog_digest_is_what_the_documentation_says() -> None:
    """``toolvet.dev/tool-catalog.v1``, NUL, canonical JSON of the sorted bindings: anybody can compute it."""
    held = catalog(binding("b"), binding("a"))
    listed = [
        {"implementation_id": item.implementation_id, "tool": item.tool.to_dict()} for item in held.bindings
    ]
    expected = domain_digest("toolvet.dev/tool-catalog.v1", canonical_json(listed).encode())
    assert held.digest == expected
    assert Catalog(()).digest != held.digest


def test_the_digests_of_one_content_differ_by_domain() -> None:
    held = catalog()
    assert len({held.digest, held.inventory_digest, snapshot("assistant", held).evidence.digest}) == 3


def test_an_absent_output_schema_is_not_an_empty_one() -> None:
    assert schema_digest({}, None) != schema_digest({}, {})
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    for hostile in (cycle, deep):
        with pytest.raises(ContractError) as caught:
            schema_digest(hostile, None)
        assert caught.value.code == "invalid_schema"


def test_the_longest_identifier_parses() -> None:
    text = f"tool:{LONGEST_NAMESPACE}/{'a' * 64}"
    assert parse_governance_id(text, GovernanceKind.TOOL).namespace == LONGEST_NAMESPACE


def test_a_report_is_eligible_exactly_without_reasons() -> None:
    assert CatalogEligibility(digest("x")).to_dict() == {
        "snapshot_digest": digest("x"),
        "status": "eligible",
        "preview_valid": True,
        "resume_eligible": True,
        "reasons": [],
    }
    for code in BINDING_CODES:
        report = CatalogEligibility(digest("x"), (code, code))
        assert report.reasons == (code,)
        assert report.status == "re-review-required"
        assert not report.preview_valid
        assert not report.resume_eligible


def test_classes_keep_their_order() -> None:
    assert list(SideEffectClass) == [
        "none", "read-only", "idempotent-write", "non-idempotent-write", "destructive"
    ]  # fmt: skip

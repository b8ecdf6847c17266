"""Specs and registrations (CONTRACTS 3, 4, 8)."""

from threading import Lock
from typing import Any

import pytest

from runtime.build import CANARY, GIVEN, TAKEN, count, spec
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_digest
from toolvet.core.tool_contract import schema_digest
from toolvet.runtime import (
    SideEffectClass,
    ToolCatalogBindingError,
    ToolNotRegisteredError,
    ToolRegistry,
    ToolSpec,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)


def refused(**fields: Any) -> ContractError:
    with pytest.raises(ContractError) as caught:
        spec(**fields)
    assert CANARY not in f"{caught.value!r} {caught.value.args} {caught.value.faults}"
    assert caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    "version",
    ["0.0.0", "1.0.0", "1.0.0-rc1", "1.0.0+build", "1.0.0-a.b-c+d.e", "1.0.0-a..", "10.20.30", "1.0.0-rc-1"],
)
def test_a_version_may_have_a_pre_release_and_a_build(version: str):
    assert spec(version=version).version == version


@pytest.mark.parametrize(
    "version",
    [
        *("", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0\n", " 1.0.0", "1.0.0-", "1.0.0+", "1.0.0-_", "v1.0.0"),
        *("1.0.0+a+b", "1.0.0+a-b+c", "-1.0.0", "1.1\u0663.0", "1.0.0-\u00e9", CANARY),
    ],
)
def test_any_other_version_is_refused_a_trailing_newline_and_unicode_digits_too(version: str):
    assert str(refused(version=version)) == "version: invalid_semver"


@pytest.mark.parametrize("field", ["name", "description", "version", "title", "plugin_id"])
@pytest.mark.parametrize("value", [None, 5, b"text", type("Text", (str,), {})("1.0.0")])
def test_a_text_is_a_text(field: str, value: Any):
    assert str(refused(**{field: value})) == f"{field}: invalid_type"


def test_what_else_a_spec_refuses():
    assert str(refused(stability=CANARY)) == "stability: invalid_stability"
    assert str(refused(stability=None)) == "stability: invalid_stability"
    assert str(refused(plugin_id=CANARY)) == "plugin_id: incomplete_provenance"
    assert str(refused(parameters=5)) == "parameters: invalid_type"
    assert spec(stability="deprecated", plugin_id="a", plugin_component_id="b").stability == "deprecated"


class Raising(dict[str, Any]):
    def keys(self) -> Any:
        raise RuntimeError(CANARY)

    def items(self) -> Any:
        raise RuntimeError(CANARY)

    def __iter__(self) -> Any:
        raise RuntimeError(CANARY)

    def __deepcopy__(self, memo: object) -> Any:
        raise RuntimeError(CANARY)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "schema", [5, True, CANARY, Raising(), {"a": Raising()}, {"a": Lock()}, nested(50_000)], ids=type
)
@pytest.mark.parametrize("field", ["input_schema", "output_schema"])
def test_what_is_no_schema_or_cannot_be_copied_is_an_invalid_schema(field: str, schema: Any):
    error = refused(**{field: schema})
    assert (type(error), str(error)) == (ToolCatalogBindingError, "invalid_schema")
    assert [str(fault) for fault in error.faults] == [f"{field}: invalid_schema"]


def test_there_is_always_an_input_schema():
    assert str(refused(input_schema=None)) == "invalid_schema"


def test_schemas_are_copied_in_depth_and_arrays_of_pairs_become_objects():
    given = {"properties": {"value": {"type": "integer"}}}
    of = spec(input_schema=given, output_schema=[["type", "object"]])
    given["properties"]["value"]["type"] = "string"
    assert of.input_schema == {"properties": {"value": {"type": "integer"}}}
    assert of.output_schema == {"type": "object"}
    assert spec(input_schema=[]).input_schema == {}


def test_the_schema_digest_covers_both_schemas_and_nothing_else():
    of = spec()
    assert tool_spec_schema_digest(of) == schema_digest(TAKEN, GIVEN)
    same = spec("other", description="other", title="other", version="2.0.0", read_only_hint=False)
    assert tool_spec_schema_digest(same) == tool_spec_schema_digest(of)
    digests = {tool_spec_schema_digest(spec(output_schema=schema)) for schema in (GIVEN, {}, None)}
    assert len(digests) == 3  # no output schema is not an empty one


@pytest.mark.parametrize("broken", [None, {}, CANARY, object()])
def test_what_is_no_spec_has_neither_digest_nor_class(broken: Any):
    with pytest.raises(ToolCatalogBindingError, match=r"^invalid_schema$"):
        tool_spec_schema_digest(broken)
    with pytest.raises(ContractError, match=r"^spec: invalid_type$"):
        tool_spec_side_effect_class(broken)


@pytest.mark.parametrize("broken", [{"a": object()}, {"a": {1, 2}}, {"a": float("inf")}, {1: 1, "a": 2}])
def test_a_schema_that_json_cannot_say_has_no_digest(broken: Any):
    with pytest.raises(ToolCatalogBindingError, match=r"^invalid_schema$"):
        tool_spec_schema_digest(spec(input_schema=broken))


@pytest.mark.parametrize(
    ("hints", "derived"),
    [
        ({}, SideEffectClass.DESTRUCTIVE),
        ({"read_only_hint": True}, SideEffectClass.READ_ONLY),
        ({"read_only_hint": True, "destructive_hint": True}, SideEffectClass.READ_ONLY),
        ({"idempotent_hint": True}, SideEffectClass.DESTRUCTIVE),
        ({"destructive_hint": False}, SideEffectClass.NON_IDEMPOTENT_WRITE),
        ({"destructive_hint": False, "idempotent_hint": True}, SideEffectClass.IDEMPOTENT_WRITE),
        ({"open_world_hint": False}, SideEffectClass.DESTRUCTIVE),
    ],
)
def test_the_class_follows_the_hints(hints: dict[str, bool], derived: SideEffectClass):
    assert tool_spec_side_effect_class(ToolSpec("a", "", {}, {}, **hints)) is derived


def test_each_registration_with_a_handler_has_an_identity_of_its_own():
    registries = [ToolRegistry() for _ in range(3)]
    of = spec()
    for registry in registries:
        registry.register(of, handler=count)
    identities = [registry.implementation_binding("rt-0", "1.0.0")[2] for registry in registries]
    assert all(is_digest(identity) for identity in identities)
    assert len(set(identities)) == 3


def test_a_lookup_returns_a_copy_of_the_spec_and_the_handler_itself():
    registry = ToolRegistry()
    of = spec()
    registry.register(of, handler=count)
    copied, handler, identity = registry.implementation_binding("rt-0", "1.0.0")
    assert copied == of
    assert copied is not of
    assert copied.input_schema is not of.input_schema
    assert handler is count is registry.handler("rt-0")
    assert registry.implementation_binding("rt-0", "1.0.0")[2] == identity
    assert registry.get("rt-0") is of


def test_a_name_and_version_is_registered_once_for_good():
    registry = ToolRegistry([spec()])
    with pytest.raises(ValueError, match=r"^spec: already_registered$"):
        registry.register(spec(), handler=count)
    with pytest.raises(ToolNotRegisteredError):
        registry.handler("rt-0")  # the first stands, and has none


def test_what_is_registered_is_a_spec_and_a_callable():
    registry = ToolRegistry()
    with pytest.raises(ContractError, match=r"^spec: invalid_type$"):
        registry.register({"name": CANARY})
    with pytest.raises(ContractError, match=r"^handler: invalid_type$"):
        registry.register(spec(), handler=CANARY)
    assert registry.all_specs() == ()


@pytest.mark.parametrize(
    "key", [("rt-9", "1.0.0"), ("rt-0", "1.0.1"), ("rt-1", "1.0.0"), ([], {}), (CANARY, None)]
)
def test_what_is_not_there_is_a_key_error_without_its_name(key: tuple[Any, Any]):
    registry = ToolRegistry([spec("rt-1")])
    registry.register(spec("rt-0"), handler=count)
    with pytest.raises(KeyError) as caught:
        registry.implementation_binding(*key)
    assert str(caught.value) == "tool: not_registered"
    assert (caught.value.code, caught.value.field) == ("not_registered", "tool")
    assert CANARY not in repr(caught.value)


def test_without_a_version_the_latest_by_number_is_meant_releases_before_their_candidates():
    versions = ["9.0.0", "10.0.0-rc1", "10.0.0", "2.10.0", "2.9.0"]
    registry = ToolRegistry([spec(version=version) for version in versions])
    assert registry.get("rt-0").version == "10.0.0"
    assert [of.version for of in registry.all_specs()] == ["2.9.0", "2.10.0", "9.0.0", "10.0.0-rc1", "10.0.0"]
    for missing in ("rt-9", None, CANARY):
        with pytest.raises(ToolNotRegisteredError):
            registry.get(missing)


def test_a_spec_that_can_no_longer_be_copied_is_refused_without_its_contents():
    registry = ToolRegistry()
    of = spec()
    registry.register(of, handler=count)
    of.input_schema["default"] = Raising()
    with pytest.raises(ToolCatalogBindingError) as caught:
        registry.implementation_binding("rt-0", "1.0.0")
    assert str(caught.value) == "invalid_schema"
    assert caught.value.__context__ is None

"""The contract inventory of a registry: what is named becomes a record, whatever is wrong has a place."""

import pytest

from toolvet.runtime import (
    ContractError,
    RunId,
    RunToolCatalog,
    ToolCatalogReviewRequired,
    ToolRegistry,
    ToolSpec,
    inventory_of,
    tool_spec_schema_digest,
)

CAPABILITY = "capability:org.example/text"
READ_ID = "tool:org.example/read"
READ = (READ_ID, CAPABILITY)


def spec(name="read", version="1.0.0", **more):
    return ToolSpec(name, "", {"type": "object", "x": version}, None, version, **more)


def registry(*specs):
    found = ToolRegistry()
    for item in specs:
        found.register(item, handler=lambda: "called")
    return found


def test_every_registered_version_of_a_name_is_a_record_and_unnamed_tools_stay_out():
    newer = spec(version="1.10.0", destructive_hint=False)
    tools = registry(newer, spec(version="1.9.0", read_only_hint=True), spec("write"))
    inventory, names = inventory_of(tools, {"read": READ})
    assert [(item.version, str(item.side_effect_class)) for item in inventory.tools] == [
        ("1.9.0", "read-only"),
        ("1.10.0", "non-idempotent-write"),
    ]
    assert inventory.tools[1].schema_digest == tool_spec_schema_digest(newer)
    assert names == {(READ[0], "1.9.0"): "read", (READ[0], "1.10.0"): "read"}

    catalog = RunToolCatalog.capture(RunId.generate(), inventory, tools, names)
    assert catalog.invoke(tools, READ[0], "1.9.0", {}) == "called"
    with pytest.raises(ToolCatalogReviewRequired, match=r"^unreviewed_tool$"):
        catalog.invoke(tools, "tool:org.example/write", "1.0.0", {})


def test_no_names_make_the_empty_inventory():
    inventory, names = inventory_of(ToolRegistry(), {})
    assert (inventory.tools, names) == ((), {})


@pytest.mark.parametrize(
    ("specs", "identities", "error"),
    [
        ([], {"read": READ}, "identities[0]: stale_entry"),
        ([spec()], {"read": READ, "gone": READ}, "identities[1]: stale_entry"),
        ([spec()], {"read": READ[0]}, "identities[0]: invalid_type"),
        ([spec()], {"read": ("read", CAPABILITY)}, "identities[0].tool_id: invalid_identifier"),
        (
            [spec()],
            {"read": (f"{READ_ID}@1.0.0", CAPABILITY)},
            "identities[0].tool_id: version_must_be_separate",
        ),
        ([spec()], {"read": (READ[0], "text")}, "identities[0].capability_class: invalid_identifier"),
        ([spec(version="1.0.0-rc.1")], {"read": READ}, "identities[0].version: invalid_semver"),
        ([spec(), spec("other")], {"read": READ, "other": READ}, "identities[1].tool_id: collision"),
        ([spec(read_only_hint="no")], {"read": READ}, "identities[0].hints: invalid_hint"),
        (
            [ToolSpec("read", "", {"x": float("nan")}, {})],
            {"read": READ},
            "identities[0]: invalid_schema",
        ),
        ([spec()], [("read", READ)], "identities: invalid_type"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_place(specs, identities, error):
    with pytest.raises(ContractError) as caught:
        inventory_of(registry(*specs), identities)
    assert str(caught.value) == error
    assert caught.value.__context__ is None


def test_only_a_registry_has_an_inventory():
    with pytest.raises(ContractError, match=r"^registry: invalid_type$"):
        inventory_of({"read": spec()}, {"read": READ})

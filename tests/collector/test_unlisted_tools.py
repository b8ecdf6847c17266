"""What the id of a tool is made of that the mapping of its source does not name."""

import re

from toolvet.core.source_identity import identify
from toolvet.core.tool_mapping import ToolMapping, Unlisted
from toolvet.kube.account_resources import source_from_object

DEFAULTS = {"idNamespace": "org.example", "version": "1.0.0", "capabilityClass": "capability:org.example/x"}
OPAQUE = re.compile("tool:org[.]example/t-[0-9a-f]{32}")


def mapping(**members) -> ToolMapping:
    spec = {
        "url": "https://a.example/",
        "inventoryName": "agent",
        "mapping": {"defaults": DEFAULTS, **members},
    }
    return source_from_object({"metadata": {"name": "files"}, "spec": spec}).mapping


def ids(names, of: ToolMapping) -> dict[str, str]:
    found = identify(names, of, None)
    assert not found.faults
    return {name: identity.tool_id for name, identity in found.tools.items()}


def test_by_default_an_id_says_nothing_of_a_name() -> None:
    names = ["read", "Read", "read_file", "read.file", "x" * 300, "\u212a", "\udc00", "a b\n"]
    found = ids(names, mapping())
    assert all(OPAQUE.fullmatch(text) for text in found.values())
    assert len(set(found.values())) == len(names), "what the rule of names takes for one is told apart"
    assert found == ids(reversed(names), mapping(unlisted="Digest"))


def test_an_id_of_a_name_is_the_owners_choice() -> None:
    assert ids(["read_file"], mapping(unlisted="Name")) == {"read_file": "tool:org.example/read-file"}
    entry = {"name": "read_file"}
    assert ids(["read_file"], mapping(tools=[entry])) == {"read_file": "tool:org.example/read-file"}
    named = ids(["read_file", "send"], mapping(tools=[{**entry, "toolId": "tool:org.example/reader"}]))
    assert named["read_file"] == "tool:org.example/reader"
    assert OPAQUE.fullmatch(named["send"])


def test_an_opaque_id_is_not_that_of_a_tool_that_has_none() -> None:
    given = ids(["read"], mapping())["read"]
    unmapped = identify(["read"], ToolMapping(unlisted=Unlisted.DIGEST), None).tools["read"].tool_id
    assert given.rpartition("/")[2] != unmapped.rpartition("/")[2]


def test_the_mapping_of_a_command_goes_by_names() -> None:
    assert ToolMapping("org.example", "1.0.0", "capability:org.example/x").unlisted is Unlisted.NAME

"""Concealed and confusable characters, and what stands out in a single definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tool_definitions import changed, verdict
from toolvet.core.change_reason import ToolFlag
from toolvet.core.text_flags import (
    conceals,
    confuses,
    confuses_name,
    is_prose,
    looks_alike,
    name_skeleton,
)

HIDDEN = [
    *("\u200b", "\u200d", "\u200e", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u2066", "\u2028", "\u0085"),
    *("\x1b", "\x00", "\x7f", "\ufe01", "\ufe0f", "\U000e0041", "\U000e0101", "\u3164", "\u115f"),
]


@pytest.mark.parametrize("char", HIDDEN)
def test_what_is_not_shown_is_concealed_wherever_it_stands(char: str) -> None:
    for text in (char, f"a{char}", f"{char}a", f"a{char}b"):
        assert conceals(text)
    for path in (
        *("name", "title", "description", "annotations/title", "annotations/category", "_meta", "x-more"),
        *("inputSchema/description", "inputSchema/properties/mode/enum", "outputSchema/title", "icons"),
    ):
        definition = changed(path, [f"a{char}b"] if path.endswith(("enum", "icons")) else f"a{char}b")
        assert ToolFlag.CONCEALED_TEXT in verdict(None, definition).flags, path
    named = changed("inputSchema/properties", {f"a{char}b": {}})
    assert ToolFlag.CONCEALED_TEXT in verdict(None, named).flags


@pytest.mark.parametrize(
    "text",
    [
        "Warning \u26a0\ufe0f: rows",
        "1\ufe0f\u20e3",
        "\U0001f469\u200d\U0001f4bb",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "Lines\r\n\tand tabs",
        "na\u00efve \u2014 caf\u00e9 \u4e2d\u6587",
    ],
)
def test_ordinary_text_conceals_and_confuses_nothing(text: str) -> None:
    assert not conceals(text)
    assert not confuses(text)
    assert verdict(None, changed("description", text)).flags == ()


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_ascii_has_nothing_to_hide(text: str) -> None:
    assert not conceals(text)
    assert not confuses(text)
    assert not confuses_name(text)


def test_letters_of_two_scripts_in_one_word_confuse_and_whole_words_do_not() -> None:
    assert confuses("p\u0430ssword")
    assert not confuses("\u043f\u0430\u0440\u043e\u043b\u044c and password")
    assert not confuses("\u03b1-helix")
    assert confuses("cafe\u0301")
    assert verdict(None, changed("x-more", ["p\u0430ssword"])).flags == (ToolFlag.CONFUSABLE,)


def test_texts_that_are_drawn_alike() -> None:
    assert looks_alike("path", "p\u0430th")
    assert looks_alike("path", "pa\u200bth")
    assert looks_alike("caf\u00e9", "cafe\u0301")
    assert looks_alike("\uff50ath", "path")
    assert not looks_alike("path", "path")
    assert not looks_alike("path", "Path")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            ("read_file", "READ_file"),
            ("item1", "iteml"),
            ("itemI", "item1"),
            ("f0o", "foo"),
            ("rnap", "map"),
        ),
        *(("user", "u\u0455er"), ("user", "us\u00e9r"), ("user", "us\u200ber")),
    ],
)
def test_names_that_can_be_mistaken_have_one_skeleton(one: str, other: str) -> None:
    assert name_skeleton(one) == name_skeleton(other)


def test_names_that_cannot() -> None:
    names = ["read_file", "read-file", "readfile", "write_file", "read_files"]
    assert len({name_skeleton(name) for name in names}) == len(names)


def test_what_may_be_read_as_language() -> None:
    assert is_prose("two words")
    assert is_prose("two\u3000words")
    assert is_prose("in\u200bvisible")
    assert not is_prose("one_identifier-2.0")
    assert not is_prose("")


@pytest.mark.parametrize(
    ("schema", "flagged"),
    [
        ({"properties": {"a": {"type": "string", "x-mcp-header": "Region"}}}, False),
        ({"properties": {"a": {"properties": {"b": {"type": "boolean", "x-mcp-header": "R"}}}}}, False),
        ({"properties": {"x-mcp-header": {"type": "object"}}}, False),
        ({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}, True),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "R: 1"}}}, True),
        ({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}, True),
        ({"properties": {"a": {"type": "object", "x-mcp-header": "R"}}}, True),
        ({"properties": {"a": {"x-mcp-header": "R"}}}, True),
        ({"items": {"type": "string", "x-mcp-header": "R"}}, True),
        ({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "R"}}}}, True),
        ({"$defs": {"a": {"properties": {"b": {"type": "string", "x-mcp-header": "R"}}}}}, True),
        ({"x-mcp-header": "R", "type": "string"}, True),
        (
            {
                "properties": {
                    name: {"type": "string", "x-mcp-header": name} for name in ("region", "Region", "other")
                }
            },
            True,
        ),
    ],
)
def test_headers_that_make_clients_drop_the_tool(schema: dict[str, object], flagged: bool) -> None:
    flags = verdict(None, changed("inputSchema", schema)).flags
    assert flags == ((ToolFlag.INVALID_HEADER_MIRRORING,) if flagged else ())


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("part", ["inputSchema", "outputSchema"])
def test_references_to_elsewhere_are_flagged_in_both_schemas(keyword: str, part: str) -> None:
    for target in ("https://schemas.example.com/a.json", "other.json#/a", ""):
        found = verdict(None, changed(f"{part}/properties", {"a": {"items": [{keyword: target}]}}))
        assert found.flags == (ToolFlag.REMOTE_REFERENCE,)
    for schema in ({keyword: "#/properties/b"}, {"properties": {keyword: {"type": "string"}}}):
        assert verdict(None, changed(f"{part}/properties", {"a": schema})).flags == ()

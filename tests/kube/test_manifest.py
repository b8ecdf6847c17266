"""The strict document reader: YAML and JSON that mean one thing, in bounded memory; nothing is echoed."""

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolvet.core.errors import ContractError
from toolvet.kube.manifest import MAX_DOCUMENT_BYTES, json_text, read_document, yaml_text

CANARY = "canary"
BOMB = "\n".join(
    ["a: &a [x, x]", *(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))]
)

REFUSED = [
    ("duplicate member", b"canary: 1\ncanary: 2\n", "duplicate_member"),
    ("duplicate at depth", b"a:\n  - canary: 1\n    canary: 2\n", "duplicate_member"),
    ("duplicate in another style", b'canary: 1\n"canary": 2\n', "duplicate_member"),
    ("duplicate in JSON", b'{"canary": 1, "canary": 2}', "duplicate_member"),
    ("alias", b"a: &canary x\nb: *canary\n", "alias_not_supported"),
    ("alias bomb", BOMB.encode(), "alias_not_supported"),
    ("merge key", b"a: {x: 1}\nb:\n  <<: {canary: 1}\n", "invalid_key"),
    ("number as key", b"1: canary\n", "invalid_key"),
    ("truth as key", b"yes: canary\n", "invalid_key"),
    ("list as key", b"? [canary]\n: 1\n", "invalid_key"),
    ("two documents", b"a: canary\n---\nb: canary\n", "multiple_documents"),
    ("tab", b"a:\n\tcanary: 1\n", "invalid_yaml"),
    ("unclosed", b"a: [canary\n", "invalid_yaml"),
    ("tag", b"!!python/object:canary.X {}\n", "invalid_yaml"),
    ("impossible date", b"a: 2030-13-45\n", "invalid_yaml"),
    ("control character", b"a: \x01canary\n", "invalid_yaml"),
    ("byte-order mark", b"\xef\xbb\xbfa: canary\n", "byte_order_mark"),
    ("UTF-16", "a: canary\n".encode("utf-16"), "byte_order_mark"),
    ("Latin-1", "a: canaryé\n".encode("latin-1"), "invalid_encoding"),
    ("JSON with a comment", b'{"canary": 1} # x', "invalid_json"),
    ("deep JSON", b"[" * 100_000, "too_deep"),
    ("too large", b"a" * (MAX_DOCUMENT_BYTES + 1), "too_large"),
]


@pytest.mark.parametrize(("data", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(data, code) -> None:
    with pytest.raises(ContractError) as caught:
        read_document(data, field="manifest")
    assert str(caught.value) == f"manifest: {code}"
    assert caught.value.__context__ is None
    shown = [line for line in traceback.format_exception(caught.value) if not line.startswith("  File")]
    assert CANARY not in "".join(shown)


def test_a_deep_yaml_document_is_refused() -> None:
    for data in (b"- " * 50_000 + b"x", b"a: " + b"[" * 50_000):
        with pytest.raises(ContractError):
            read_document(data, field="manifest")


def test_read() -> None:
    assert read_document(b"", field="manifest") is None
    assert read_document(b"a: 1\nb: [x, 'y']\n", field="manifest") == {"a": 1, "b": ["x", "y"]}
    assert read_document(b' \n{"a": 1.0}', field="manifest") == {"a": 1.0}
    assert read_document(b"---\na: 1\n", field="manifest") == {"a": 1}


# Text that YAML would take for something else if it were not quoted.
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "yes",
        "null",
        "~",
        "1.0",
        "1_000",
        "0x1f",
        "2030-01-01",
        "12:30:45",
        "<<",
        "=",
        "- a",
        "# a",
        "*a",
        "&a",
        "",
    ]
)
values = st.recursive(
    texts | st.booleans() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_is_read_as_it_was(document) -> None:
    for text in (yaml_text(document), json_text(document)):
        assert text.isascii()
        read = read_document(text.encode(), field="manifest")
        assert read == document
        assert list(read) == list(document)  # type: ignore[call-overload]


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_rubbish_is_a_value_or_a_contract_error(data) -> None:
    try:
        read_document(data, field="manifest")
    except ContractError as error:
        fault = error
    else:
        return
    assert fault.field_name == "manifest"
    assert fault.__context__ is None

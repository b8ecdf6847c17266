"""The strict reader: what a lenient one repairs or hides is refused, and no error holds any of the input."""

import json
import math
import traceback
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.build import seeded
from toolvet.core.errors import ContractError
from toolvet.core.json_reader import MAX_DEPTH, read_json

CANARY = "canary"
LIMIT = 1_000_000

REFUSED = [
    ("empty", b"", "invalid_json"),
    ("blank", b" \n", "invalid_json"),
    ("truncated object", b'{"canary": 1', "invalid_json"),
    ("truncated string", b'"canary', "invalid_json"),
    ("truncated escape", b'"canary\\u00', "invalid_json"),
    ("two documents", b'"canary" "canary"', "invalid_json"),
    ("trailing comma", b'["canary",]', "invalid_json"),
    ("single quotes", b"'canary'", "invalid_json"),
    ("comment", b'"canary" // x', "invalid_json"),
    ("raw control character", b'"canary\n"', "invalid_json"),
    ("leading zero", b"01", "invalid_json"),
    ("huge integer", b"1" * 5_000, "invalid_json"),
    ("duplicate member", b'{"canary": 1, "canary": 1}', "duplicate_member"),
    ("duplicate by escape", b'{"canary": 1, "\\u0063anary": 2}', "duplicate_member"),
    ("duplicate at depth", b'[{"x": {"canary": 1, "canary": 2}}]', "duplicate_member"),
    ("UTF-8 byte-order mark", b'\xef\xbb\xbf"canary"', "byte_order_mark"),
    ("UTF-16 with a mark", '"canary"'.encode("utf-16"), "byte_order_mark"),
    ("UTF-16", '"canary"'.encode("utf-16-le"), "invalid_json"),
    ("UTF-32", '"canary"'.encode("utf-32-be"), "invalid_json"),
    ("Latin-1", '"canaryé"'.encode("latin-1"), "invalid_encoding"),
    ("encoded surrogate", b'"canary\xed\xa0\x80"', "invalid_encoding"),
    ("overlong", b'"canary\xc0\xaf"', "invalid_encoding"),
    ("NaN", b'{"canary": NaN}', "non_finite_number"),
    ("Infinity", b"[Infinity]", "non_finite_number"),
    ("-Infinity", b"[-Infinity]", "non_finite_number"),
    ("1e400", b"[1e400]", "non_finite_number"),
    ("-1e400", b"[-1e400]", "non_finite_number"),
    ("deep arrays", b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "too_deep"),
    ("deep objects", b'{"x":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "too_deep"),
    ("a million levels", b"[" * 1_000_000, "too_deep"),
    ("too large", b'"' + b"a" * LIMIT + b'"', "too_large"),
]


def refusal(data: bytes, **limits) -> ContractError:
    with pytest.raises(ContractError) as caught:
        read_json(data, field="document", **{"max_bytes": LIMIT, **limits})
    return caught.value


def assert_holds_nothing(error: ContractError) -> None:
    assert error.__cause__ is None
    assert error.__context__ is None
    assert CANARY not in "".join(traceback.format_exception(error))
    assert CANARY not in repr(error.args)


@pytest.mark.parametrize(("data", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(data, code) -> None:
    error = refusal(data)
    assert str(error) == f"document: {code}"
    assert (error.field_name, error.code) == ("document", code)
    assert_holds_nothing(error)


def test_limits_are_exact() -> None:
    assert read_json(b'"aa"', field="document", max_bytes=4) == "aa"
    assert refusal(b'"aaa"', max_bytes=4).code == "too_large"
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert read_json(deepest, field="document", max_bytes=LIMIT) is not None
    assert refusal(b"[[]]", max_depth=1).code == "too_deep"
    assert read_json(b"[[],[],[]]", field="document", max_bytes=LIMIT, max_depth=2) == [[], [], []]


def test_brackets_in_strings_are_no_depth() -> None:
    text = json.dumps(["[{" * 500 + '"\\' * 500])
    assert read_json(text.encode(), field="document", max_bytes=LIMIT, max_depth=1) == json.loads(text)


def test_numbers_stay_what_they_are() -> None:
    integer, number, zero = read_json(b"[1, 1.0, -0.0]", field="document", max_bytes=LIMIT)  # type: ignore[misc]
    assert type(integer) is int
    assert type(number) is float
    assert math.copysign(1, zero) == -1
    wide = 10**60
    assert read_json(str(wide).encode(), field="document", max_bytes=LIMIT) == wide


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.booleans())
def test_what_is_plain_json_is_read_as_it_is(value, ascii_only) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate cannot be sent unescaped
    assert read_json(data, field="document", max_bytes=LIMIT) == value


SEEDS = [
    b'{"schema_version": "canary", "tools": [{"tool_id": "canary", "n": [1, 2.5e3, -0.0, null, true]}]}',
    b'["canary", "\\u00e9\\ud83d\\ude00", {"a": {"b": {"c": []}}}, 12345678901234567890]',
    '{"canarÿ": "\U0001f600"}'.encode(),
]


def mutated(random: Random) -> bytes:
    data = bytearray(random.choice(SEEDS))
    for _ in range(random.randint(1, 6)):
        place = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[place:place] = random.choice(
                    [
                        b"[",
                        b"{",
                        b'"',
                        b"\\",
                        b",",
                        b":",
                        b"NaN",
                        b"\xef\xbb\xbf",
                        b"\x00",
                        b"1e999",
                        b"\xff",
                        b"}",
                    ]
                )
            case 1:
                del data[place : place + random.randint(1, 20)]
            case 2:
                data[place:place] = data[max(0, place - 15) : place]
            case _ if place < len(data):
                data[place] = random.randrange(256)
    return bytes(data)


def test_ten_thousand_broken_texts_give_a_value_or_a_contract_error() -> None:
    random = seeded(7)
    codes = set()
    for _ in range(10_000):
        data = mutated(random)
        result = read_or_refuse(data)
        if isinstance(result, ContractError):
            codes.add(result.code)
            assert str(result) == f"document: {result.code}"
            assert result.__context__ is None
        else:
            assert json.loads(data) == result  # whatever is accepted, a lenient reader reads the same
    # Every code but too_large was met.
    assert codes == {code for _, _, code in REFUSED} - {"too_large"}


def read_or_refuse(data: bytes) -> object:
    try:
        return read_json(data, field="document", max_bytes=LIMIT, max_depth=8)
    except ContractError as error:
        return error

"""The digest of arguments, its canonical form, and what is refused; the names of held calls."""

import math
import random
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolvet.core.errors import ContractError
from toolvet.core.held_call import MAX_ARGUMENTS, SLOTS, arguments_digest, free_slot, slot_names
from toolvet.core.jcs import canonical_form

CANARY = "zqcanary3"
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_the_canonical_form_is_that_of_the_reference_package(value) -> None:
    assert canonical_form(value) == rfc8785.dumps(value)


def test_every_sort_of_number_is_written_as_there() -> None:
    chance = random.Random(8785)  # noqa: S311  # a seed of examples
    numbers = [struct.unpack(">d", chance.randbytes(8))[0] for _ in range(20_000)]
    numbers += [1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 1.5e-7, -0.0, 5e-324, 100.0, 12.5]
    for number in filter(math.isfinite, numbers):
        assert canonical_form(number) == rfc8785.dumps(number)


def test_order_and_spelling_play_no_part_and_everything_else_does() -> None:
    one = arguments_digest({"a": 1, "b": [1.5, None]})
    assert one == arguments_digest({"b": [1.50, None], "a": 1.0})
    others = [{}, {"a": 1}, {"a": "1", "b": [1.5, None]}, {"a": True, "b": [1.5, None]}]
    others += [{"a": 1, "b": [None, 1.5]}, {"a": 1, "b": [1.5]}, {"a": 1, "b": [1.5, False]}]
    assert len({one, *map(arguments_digest, others)}) == len(others) + 1


class Odd(str):
    """A text that equals nothing, so that a dictionary has two names of one text."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([CANARY], "invalid_type"),
        (None, "invalid_type"),
        (CANARY, "invalid_type"),
        ({CANARY: math.nan}, "non_finite_number"),
        ({CANARY: math.inf}, "non_finite_number"),
        ({CANARY: 2**53}, "not_canonical"),
        ({CANARY: "\ud800"}, "invalid_encoding"),
        ({CANARY + "\ud800": 1}, "invalid_encoding"),
        ({CANARY: {1: 2}}, "invalid_type"),
        ({CANARY: b"x"}, "invalid_type"),
        ({CANARY: (1,)}, "invalid_type"),
        ({Odd(CANARY): 1, Odd(CANARY): 2}, "duplicate_member"),
        ({CANARY: "x" * MAX_ARGUMENTS}, "too_large"),
    ],
)
def test_what_is_not_json_is_refused_and_not_repeated(arguments, code) -> None:
    with pytest.raises(ContractError) as caught:
        arguments_digest(arguments)
    assert str(caught.value) == f"arguments: {code}"
    assert caught.value.__context__ is None
    assert CANARY not in repr(caught.value)


def test_a_depth_beyond_bounds_is_refused() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ContractError, match=r"^arguments: too_deep$"):
        arguments_digest({"a": deep})
    while isinstance(deep, list):
        deep = deep.pop()


def test_slots_are_named_after_the_account() -> None:
    names = slot_names("system:serviceaccount:team-a:Assistant")
    assert names[0] == "system-serviceaccount-team-a-assistant.0"
    assert len(set(names)) == SLOTS
    assert free_slot("alice", ["alice.0", "alice.2"]) == "alice.1"
    assert free_slot("alice", slot_names("alice")) is None
    assert slot_names("\u00e9") == slot_names("a" * 251) == ()

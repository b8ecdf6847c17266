"""Our RFC 8785 writer, for where nothing may be imported, against the kept one."""

import math
import random
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolvet.core.jcs import MAX_SAFE_INTEGER, canonical_form

scalars = (
    st.none()
    | st.booleans()
    | st.text()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(values)
def test_it_writes_what_the_kept_library_writes(value: object) -> None:
    assert canonical_form(value) == rfc8785.dumps(value)


def test_numbers_of_every_size() -> None:
    chance = random.Random(8785)  # noqa: S311 - repeatable, not secret
    found = (struct.unpack(">d", chance.randbytes(8))[0] for _ in range(20_000))
    edges = [
        0.0,
        -0.0,
        1e21,
        1e20,
        9.999999999999999e22,
        1e-6,
        1e-7,
        5e-324,
        1.7976931348623157e308,
        333333333.33333329,
    ]
    for number in [*edges, *(item for item in found if math.isfinite(item))]:
        assert canonical_form(number) == rfc8785.dumps(number), number


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, "\ud800", {"\udc00": 1}]
)
def test_what_the_scheme_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any; rfc8785's are ValueErrors, too
        canonical_form([value])
    with pytest.raises(ValueError):  # noqa: PT011 - the same
        rfc8785.dumps([value])


@pytest.mark.parametrize("value", [b"", (1,), {1: 2}, object()])
def test_what_json_does_not_know_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_form(value)

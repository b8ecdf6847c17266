"""Events are the same whatever the pieces they come in."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from toolvet.mcp.sse import EventReader

STREAM = (
    b": note\r\nevent: message\r\nid: 7\r\ndata: {\rdata:1}\n\n"
    b"data\n\r\ndata:  x\r\n\r\nretry: 1\n\ndata: cut off\n"
)
EVENTS = [b"{\n1}", b" x"]


def test_fields_line_ends_and_empty_events():
    assert EventReader().feed(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_pieces_do_not_matter(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader()
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(places)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


def test_byte_by_byte():
    reader = EventReader()
    found = [event for byte in STREAM for event in reader.feed(bytes([byte]))]
    assert found == EVENTS

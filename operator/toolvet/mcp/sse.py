"""Server-sent events out of a stream of bytes (WHATWG HTML, 9.2.6), as far as MCP uses them."""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventReader:
    """Collects the data of each event; all other fields play no part.

    Work and memory are linear in what is fed: bounding that is the caller's part.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._after_cr = False
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the data of every event that is complete and has any."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of a line end
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        lines = _LINE_END.split(chunk)
        self._rest.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._rest)
        self._rest = [lines.pop()]
        return [event for line in lines if (event := self._take(line))]

    def _take(self, line: bytes) -> bytes:
        if not line:
            data = b"\n".join(self._data)
            self._data.clear()
            return data  # empty for a priming event, which has an id alone (revision 2025-11-25)
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return b""

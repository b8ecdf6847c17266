"""No parser takes more than 50 ms of processor time for 64 KiB made to take long."""

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest

from fuzz import seeds
from fuzz.leaks import complaint
from fuzz.parsers import PARSERS, Parser
from toolvet.core.errors import ContractError

SIZE = 64 * 1024
SECONDS = 0.050
ATTEMPTS = 3  # the best of them: the others may have been interrupted

# Beginnings after which a backtracking matcher would try many ways, each repeated up to the size.
REPEATED = [
    *("a", "a-", "-", "a.", ".", "0", "9", "1.", "_", "a_", "/", ":", "@", "tool:", "a/", "\n", " ", "\x00"),
    *("\u0661", "\U0001f600", "\ud800", '"', "\\", "\\u0061", "é", "A"),
]
BEGUN = [
    "",
    "tool:",
    "tool:a.",
    "tool:a.b/",
    "capability:a.b/c@1.",
    "1.0.",
    "sha256:",
    "run_",
    "a",
    "1.0.0-",
    "1.0.0+",
]
ENDED = ["", "!", "\n", "a", "@1.0.0"]
# What a JSON text can be filled with, and the brackets around it.
FILLED: list[tuple[str, str, str]] = [
    *[("", part, "") for part in ("[", "{", '{"a":', '[{"a":', " ", '"', "1", "-", "\\", "[]", "}{", "\n")],
    *[
        ("[", part, "0]")
        for part in ("[],", "0,", "1.5,", '"",', "{},", "1e9,", "null,", '"\\u0061",', '{"a":0},')
    ],
    *[("[", "[", "]")],
    *[('"', part, '"') for part in ("a", "\\u0061", "\\ud800", "\\n", "é", "[", "{", "\\\\", '\\"')],
    *[("[", part, "]") for part in ("1", "9", "0." + "9" * 50, "1e" + "9" * 50)],
    *[("", part, "") for part in ("9", "0.", "1e", "NaN,", "-Infinity")],
    *[('{"x":0', part, "}") for part in (',"a":0', ',"":[]', ',"\\u0061":0')],
]


def texts() -> Iterator[str]:
    for begun in BEGUN:
        for part in REPEATED:
            yield (begun + part * (SIZE // len(part)))[:SIZE]
            yield begun + part * 40 + "!"  # short enough for the bounds of length, long enough to blow up
    for end in ENDED:
        yield "tool:" + "a." * (SIZE // 2) + end
        yield "tool:a.b/" + "a" * SIZE + end
        yield "tool:" + ".".join(["a" * 63] * 3) + "/" + "a" * 64 + end


def json_texts() -> Iterator[bytes]:
    for opened, part, closed in FILLED:
        room = SIZE - len((opened + closed).encode())
        yield (opened + part * (room // len(part.encode())) + closed).encode()
    yield _numbered(lambda number: f'"{seeds.WORD}{number}":{number}', "{", "}")
    yield _numbered(lambda number: f'"k{number % 100}":{number}', "{", "}")
    for document in documents():
        yield json.dumps(document).encode()


def _numbered(part: Callable[[int], str], opened: str, closed: str) -> bytes:
    parts: list[str] = []
    size = 0
    while size < SIZE - 30:
        parts.append(part(len(parts)))
        size += len(parts[-1]) + 1
    return (opened + ",".join(parts) + closed).encode()


def _many(item: Any) -> list[Any]:
    return [item] * (SIZE // len(json.dumps(item, default=str)))


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = {"a": value}
    return value


def documents() -> Iterator[Any]:
    """Documents of about 64 KiB: right ones, and ones at fault at every place."""
    records = [seeds.record(f"{seeds.WORD}{number}") for number in range(SIZE // 320)]
    inventory = seeds.inventory()
    yield inventory | {"tools": records}
    for field in records[0]:
        yield inventory | {"tools": [record | {field: seeds.WORD} for record in records]}
    yield inventory | {"tools": [records[0]] * len(records)}
    yield inventory | {"tools": _many([])}
    yield inventory | {"tools": _many({})}
    yield inventory | {seeds.WORD * 10 + str(number): 0 for number in range(SIZE // 120)}
    bindings = [{"tool": record, "implementation_id": seeds.DIGEST} for record in records]
    yield seeds.snapshot() | {"bindings": bindings}
    yield seeds.snapshot() | {"bindings": [binding | {"implementation_id": 0} for binding in bindings]}
    yield seeds.summary() | {"workflow_ids": sorted(f"{seeds.WORD}{number}" for number in range(1_024))}
    yield seeds.summary() | {"workflow_ids": _many(seeds.WORKFLOW)}
    yield seeds.summary() | {"workflow_ids": ["a" + "_" * (SIZE - 1)]}
    yield seeds.summary() | {"artifact_digests": seeds.digests(SIZE // 75)}
    yield seeds.summary() | {"artifact_digests": seeds.digests(SIZE // 75)[::-1]}
    yield seeds.summary() | {"outcome_counts": {f"{seeds.WORD}{number}": 0 for number in range(3_000)}}
    yield seeds.summary() | {"duration_seconds": 10**4_000}
    yield _many(seeds.event())
    yield _many({})
    yield seeds.event() | {"artifact_digests": seeds.digests(128)}
    yield [
        {"name": f"{seeds.WORD}{number}", "inputSchema": {}, "annotations": seeds.HINTS}
        for number in range(400)
    ]
    yield {"tools": {f"{seeds.WORD}{number}": {"version": "x"} for number in range(1_500)}}
    yield {"type": "object", "properties": {f"{seeds.WORD}{number}": seeds.SCHEMA for number in range(400)}}
    yield _nested(60)


def processor_seconds(parser: Parser, value: Any) -> float:
    best = float("inf")
    for _ in range(ATTEMPTS):
        refused = None
        started = time.process_time()
        try:
            parser.run(value)
        except ContractError as error:
            refused = error
        best = min(best, time.process_time() - started)
        assert refused is None or complaint(refused) is None
        if best < SECONDS:
            break
    return best


@pytest.mark.parametrize("name", [name for name, parser in PARSERS.items() if parser.raw])
def test_json_texts(name: str) -> None:
    _all_in_time(PARSERS[name], json_texts())


@pytest.mark.parametrize("name", [name for name, parser in PARSERS.items() if isinstance(parser.seed, str)])
def test_texts(name: str) -> None:
    _all_in_time(PARSERS[name], texts())


@pytest.mark.parametrize("name", [name for name, parser in PARSERS.items() if not parser.raw])
def test_documents(name: str) -> None:
    # The last one is deeper than a JSON writer goes, but a caller may have it.
    _all_in_time(PARSERS[name], chain(documents(), [_nested(SIZE // 6)]))


@pytest.mark.parametrize("field", ["version", "name", "description", "stability", "title"])
def test_texts_of_a_tool_spec(field: str) -> None:
    _all_in_time(PARSERS["registry"], (seeds.spec() | {field: text} for text in texts()))


def test_a_matcher_that_tries_all_ways_is_found() -> None:
    slow = re.compile("(?:a|aa)+!")
    with pytest.raises(AssertionError):
        _all_in_time(Parser("", slow.fullmatch), iter(["a" * 34]))


def _all_in_time(parser: Parser, values: Iterator[Any]) -> None:
    slow = {}
    for number, value in enumerate(values):
        spent = processor_seconds(parser, value)
        if spent >= SECONDS:
            slow[number] = f"{spent:.3f} s"
    assert slow == {}

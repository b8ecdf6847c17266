"""Break valid inputs: objects along their structure, texts along their bytes."""

import json
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from fuzz.seeds import CAPABILITY, DIGEST, HEX, NUMBER, RUN, TOOL, VERSION, WORD


class CanaryError(Exception):
    """What a hostile object raises; its text must not come out."""


class HostileMapping(Mapping[str, Any]):
    """A mapping that fails where it is told to, with a value in the failure."""

    def __init__(self, fails_at: str) -> None:
        self._fails_at = fails_at

    def _step(self, name: str) -> None:
        if self._fails_at == name:
            raise CanaryError(WORD)

    def __getitem__(self, key: str) -> Any:
        self._step("get")
        return WORD

    def __iter__(self) -> Iterator[str]:
        self._step("iterate")
        return iter(["schema_version", "tools", WORD])

    def __len__(self) -> int:
        self._step("length")
        return 2


class HostileIterable:
    """An iterable that fails after its first item."""

    def __iter__(self) -> Iterator[Any]:
        yield WORD
        raise CanaryError(WORD)


class Text(str):
    """A string by kind, but not exactly."""

    __slots__ = ()


class Number(int):
    """An integer by kind, but not exactly."""


def _cycle() -> list[Any]:
    loop: list[Any] = [WORD]
    loop.append(loop)
    return loop


def _nested(depth: int) -> Any:
    value: Any = WORD
    for level in range(depth):
        value = [value] if level % 2 else {WORD: value}
    return value


def odd_value(random: Random, *, plain: bool) -> Any:
    """Something that the place where it is put was not made for; ``plain`` is what a JSON reader can give."""
    if random.random() < 0.4:  # a near miss is what a grammar is for
        return text(random, random.choice([TOOL, CAPABILITY, VERSION, DIGEST, RUN, WORD, HEX]))
    made = random.choice(_PLAIN if plain or random.random() < 0.5 else _FOREIGN)  # half of each
    return made(random)


_PLAIN: list[Callable[[Random], Any]] = [
    lambda random: random.choice([None, True, False, 0, -0.0, "", [], {}]),
    lambda random: random.choice([NUMBER, -NUMBER, NUMBER + 0.5, 10**400 + NUMBER, NUMBER * 10**30]),
    lambda random: random.choice([float("nan"), float("inf"), -float("inf")]),
    lambda random: random.choice([[WORD], {WORD: WORD}]),
    lambda random: random.choice(["none", "read-only", "success", "failed", "schema_changed"]),
    lambda random: _nested(random.choice([2, 70, 400, 3_000])),
    lambda random: [WORD] * random.choice([129, 1_025, 4_097]),
    lambda random: {f"{WORD}{number}": number for number in range(random.choice([6, 1_000]))},
]
_FOREIGN: list[Callable[[Random], Any]] = [
    lambda random: random.choice([(), b"", (WORD,), WORD.encode(), bytearray(WORD.encode())]),
    lambda random: random.choice([Text(WORD), Number(NUMBER), {WORD}, frozenset({WORD})]),
    lambda random: random.choice([object(), object, WORD.upper, (part for part in [WORD])]),
    lambda random: random.choice([{NUMBER: WORD}, {None: WORD}, {(WORD,): 1}, {WORD: 1, NUMBER: 2}]),
    lambda random: HostileMapping(random.choice(["get", "iterate", "length", "nowhere"])),
    lambda _: HostileIterable(),
    lambda _: _cycle(),
]


_CHARACTERS = [*"\n\r\0 .-_:/@AZ09", "\u0661", "\uff11", "\u212a", "\u0130", "\ufeff", "\ud800", "\U0001f600"]


def text(random: Random, value: str) -> str:
    at = random.randrange(len(value) + 1)
    match random.randrange(7):
        case 0:
            return value[:at] + random.choice(_CHARACTERS) + value[at:]
        case 1:
            return value[:at] + random.choice(_CHARACTERS) + value[at + 1 :]
        case 2:
            return value[:at] + value[at + 1 :]
        case 3:
            return value + random.choice(["\n", " ", "@1.0.0", "-" + WORD])
        case 4:
            return value[:at] + value[at : at + 3] * random.choice([2, 70, 300]) + value[at:]
        case 5:
            return value.upper()
    return value.replace(random.choice("0123456789"), "\u0663")


def document(random: Random, value: Any, changes: int, *, plain: bool) -> Any:
    """Change a copy of a value in some places, anywhere in its structure."""
    for _ in range(changes):
        value = _changed(random, value, plain=plain)
    return value


def _changed(random: Random, value: Any, *, plain: bool) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.85:  # else: the whole of it
        return _changed_mapping(random, value, plain=plain)
    if isinstance(value, list | tuple) and value and random.random() < 0.85:  # the same
        return _changed_sequence(random, value, plain=plain)
    if isinstance(value, str) and random.random() < 0.6:  # the same
        return text(random, value)
    return odd_value(random, plain=plain)


def _changed_mapping(random: Random, value: dict[Any, Any], *, plain: bool) -> Any:
    name = random.choice(list(value))
    rest = {other: item for other, item in value.items() if other is not name}
    match random.randrange(10):
        case 0:
            return rest
        case 1:
            name = random.choice([WORD, ""] if plain else [WORD, "", NUMBER, None, (WORD,)])
            return value | {name: odd_value(random, plain=plain)}
        case 2:
            return rest | {text(random, str(name)): value[name]}
    return value | {name: _changed(random, value[name], plain=plain)}


def _changed_sequence(random: Random, value: Any, *, plain: bool) -> Any:
    listed = list(value)
    place = random.randrange(len(listed))
    match random.randrange(8):
        case 0:
            listed.append(listed[place])
        case 1:
            listed.reverse()
        case 2:
            del listed[place]
        case 3:
            listed.append(odd_value(random, plain=plain))
            return listed if plain else tuple(listed)
        case 4:
            listed *= random.choice([2, 50])
        case _:
            listed[place] = _changed(random, listed[place], plain=plain)
    return listed if isinstance(value, list) else tuple(listed)


_TOKENS = [
    *(b"NaN", b"-Infinity", b"1e999", b"-0.0", b"01", b"1" * 5_000, b"0." + b"1" * 400, b"null", b"true"),
    *(b"\\ud800", b"\\u0000", b"\\x", b'"', b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x00", b"\n"),
    *(
        b"[" * 100,
        b'{"a":' * 100,
        b"[" * 100_000,
        b"]",
        b"}",
        b",",
        b":",
        WORD.encode(),
        str(NUMBER).encode(),
    ),
]


def data(random: Random, value: bytes, changes: int) -> bytes:
    """Change bytes of a JSON text, or tokens of it, or how it is encoded."""
    for _ in range(changes):
        at, end = sorted((random.randrange(len(value) + 1), random.randrange(len(value) + 1)))
        match random.randrange(9):
            case 0:
                value = value[:at] + bytes([random.randrange(256)]) + value[at + 1 :]
            case 1:
                value = value[:at] + random.choice(_TOKENS) + value[at:]
            case 2:
                value = value[:at] + value[at + 1 :]
            case 3:
                value = value[:at]
            case 4:
                value = value[:end] + value[at:end] + value[end:]
            case 5:
                value = b'{"schema_version": "' + WORD.encode() + b'", ' + value[1:]
            case 6:
                value = value.decode(errors="replace").encode(
                    random.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"])
                )
            case 7:
                value = random.randbytes(random.randrange(64))
            case _:
                value = _one_number_changed(random, value)
    return value


def _one_number_changed(random: Random, value: bytes) -> bytes:
    places = [place for place, byte in enumerate(value) if byte in b"0123456789"]
    if not places:
        return json.dumps(WORD).encode()
    place = random.choice(places)
    return value[:place] + random.choice(_TOKENS) + value[place + 1 :]

"""Members of a definition that a source's owner had taken out before anything is compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolvet.core.tool_definition import Definition
from toolvet.core.tool_source import IgnoredPath

_GONE: Final = object()


def without(definition: Definition, paths: Iterable[IgnoredPath]) -> Definition:
    """Return the definition without what the JSON Pointers (RFC 6901) name; itself where they name nothing.

    The name of a tool stays whatever a pointer says: without it nothing could be compared. Elements of an
    array are named by their place before anything is taken out.
    """
    name = definition.get("name")
    whole: object = definition
    for ignored in paths:
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in ignored.path.split("/")[1:]]
        if ignored.tool in {None, name} and tokens != ["name"]:
            whole = _marked(whole, tokens)
    if whole is definition:
        return definition
    stripped = _stripped(whole)
    return stripped if isinstance(stripped, dict) else definition


def _marked(value: object, tokens: list[str]) -> object:
    """Return a copy along the way with a mark at the end of it; the same value where the way ends early."""
    if not tokens:
        return _GONE
    token = tokens[0]
    if isinstance(value, Mapping):
        if token not in value:
            return value
        inner = _marked(value[token], tokens[1:])
        return value if inner is value[token] else {**value, token: inner}
    if isinstance(value, list) and _is_place(token, len(value)):
        place = int(token)
        inner = _marked(value[place], tokens[1:])
        return value if inner is value[place] else [*value[:place], inner, *value[place + 1 :]]
    return value


def _is_place(token: str, length: int) -> bool:
    # RFC 6901, section 4: no leading zeros. A longer number is beyond every array.
    digits = len(str(length))
    return (
        token.isascii()
        and token.isdecimal()
        and len(token) <= digits
        and str(int(token)) == token
        and int(token) < length
    )


def _stripped(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _stripped(item) for name, item in value.items() if item is not _GONE}
    if isinstance(value, list):
        return [_stripped(item) for item in value if item is not _GONE]
    return value

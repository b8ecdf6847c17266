"""Manifests and other small documents as text: a strict YAML and JSON reader, and the YAML writer."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from toolvet.core.errors import ContractError
from toolvet.core.json_reader import read_json

MAX_DOCUMENT_BYTES: Final = 10_485_760
"""The contract's limit of an inventory file (CONTRACTS 6), taken for every document."""
MAX_STREAM_BYTES: Final = 67_108_864
"""Of one file of manifests: thousands of objects rendered into one stream."""
_STRING_TAG: Final = "tag:yaml.org,2002:str"
_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _FaultError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


# The C parser bounds nesting and is ten times faster; a pure-Python PyYAML still works.
class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
    """YAML without what hides meaning or multiplies it: duplicate keys, aliases, keys that are no text."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401
        # A node comes twice only through an alias; a few of them can stand for gigabytes.
        if node in self.constructed_objects:
            raise _FaultError("alias_not_supported")
        return super().construct_object(node, deep=deep)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING_TAG:
                raise _FaultError("invalid_key")
            if key.value in seen:
                raise _FaultError("duplicate_member")
            seen.add(key.value)
        members: dict[str, Any] = super().construct_mapping(node, deep=deep)
        return members


class _ManifestLoader(_StrictLoader):
    """The strict loader of manifests: as kubectl has it, an unquoted time is its own text."""


_ManifestLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


def read_document(data: bytes, *, field: str) -> object:
    """Parse one JSON or YAML document; what starts with ``{`` or ``[`` is JSON and read strictly.

    Raises ContractError(field, code): the codes of core.json_reader, and for YAML invalid_yaml,
    duplicate_member, invalid_key, alias_not_supported, multiple_documents.
    """
    if data.lstrip()[:1] in (b"{", b"[") or len(data) > MAX_DOCUMENT_BYTES:
        return read_json(data, field=field, max_bytes=MAX_DOCUMENT_BYTES)
    if data.startswith(_BOMS):
        raise ContractError(field, "byte_order_mark")
    value, code = _read_yaml(data)
    if code is not None:
        raise ContractError(field, code)
    return value


def read_documents(data: bytes, *, field: str) -> list[object]:
    """Parse a stream of manifests: YAML documents, None where one is empty, or one JSON document.

    Raises ContractError(field, code) as ``read_document``, without multiple_documents; ``field`` then ends
    in the index of the document where that is known.
    """
    if data.lstrip()[:1] in (b"{", b"[") or len(data) > MAX_STREAM_BYTES:
        return [read_json(data, field=f"{field}[0]", max_bytes=MAX_STREAM_BYTES)]
    if data.startswith(_BOMS):
        raise ContractError(field, "byte_order_mark")
    found: list[object] = []
    _, code = _guarded(lambda: _load_stream(data.decode("utf-8"), found))
    if code is not None:
        raise ContractError(f"{field}[{len(found)}]", code)
    return found


def _read_yaml(data: bytes) -> tuple[object, str | None]:
    return _guarded(lambda: _load(data.decode("utf-8")))


def _guarded(parse: Callable[[], object]) -> tuple[object, str | None]:
    try:
        return parse(), None
    except UnicodeDecodeError:
        return None, "invalid_encoding"
    except _FaultError as fault:
        return None, fault.code
    except (yaml.YAMLError, ValueError, RecursionError):
        # ValueError: an impossible date or a number beyond the interpreter's digit limit.
        return None, "invalid_yaml"


def _load(text: str) -> object:
    loader = _StrictLoader(text)
    try:
        value = loader.get_data() if loader.check_data() else None
        if loader.check_data():
            raise _FaultError("multiple_documents")
        return value
    finally:
        loader.dispose()


def _load_stream(text: str, found: list[object]) -> None:
    loader = _ManifestLoader(text)
    try:
        while loader.check_data():
            found.append(loader.get_data())
    finally:
        loader.dispose()


def yaml_text(document: Mapping[str, object]) -> str:
    """Render as YAML in the members' own order, ASCII only, one line a scalar."""
    text: str = yaml.dump(
        dict(document), Dumper=_PlainDumper, sort_keys=False, default_flow_style=False, width=4096
    )
    return text


def json_text(document: Mapping[str, object]) -> str:
    """Render as indented JSON in the members' own order, ASCII only, with a final newline."""
    return json.dumps(document, indent=2) + "\n"


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # signature of the base
        """Write equal values out each time: our own reader refuses aliases."""
        return True

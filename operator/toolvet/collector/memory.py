"""The memory of one source in one Secret: whole definitions, compressed, within what an object may hold."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from toolvet.core.errors import ContractError
from toolvet.core.source_memory import SourceMemory, TextMemory, ToolMemory
from toolvet.core.tool_account import Components
from toolvet.core.tool_mapping import ToolIdentity
from toolvet.kube.client import Object
from toolvet.kube.names import DEFINITIONS_TYPE, SECRETS

KEY: Final = "memory.json.gz"
MAX_STORED_BYTES: Final = 700 * 1024
"""Of compressed data: base64 makes 933 KiB of it, and a Secret ends at 1 MiB."""
MAX_READ_BYTES: Final = 64 * 1024 * 1024
_VERSION: Final = 1
_LEVEL: Final = 6


def secret_name(source: str) -> str:
    """Return the name of the Secret of a source."""
    return f"{source}.mcp-definitions"


def to_secret(source: str, namespace: str, memory: SourceMemory) -> tuple[Object, SourceMemory]:
    """Return the Secret, and the memory as it holds it: without the definitions that did not fit.

    The largest go first. A change of one that went cannot be classified, and so is material.
    """
    data = _packed(memory)
    while len(data) > MAX_STORED_BYTES:
        smaller = _without_largest(memory, len(data) / MAX_STORED_BYTES)
        if smaller is memory:
            raise ContractError("memory", "too_large")
        memory = smaller
        data = _packed(memory)
    secret = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": secret_name(source), "namespace": namespace},
        "type": DEFINITIONS_TYPE,
        "data": {KEY: base64.b64encode(data).decode("ascii")},
    }
    return secret, memory


def from_secret(secret: Object) -> SourceMemory:
    """Read the Secret; raises ContractError("memory", code): wrong_type or unreadable."""
    if secret.get("type") != DEFINITIONS_TYPE:
        raise ContractError("memory", "wrong_type")
    found = None
    try:
        data = base64.b64decode(secret["data"][KEY], validate=True)
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            text = stream.read(MAX_READ_BYTES + 1)
        if len(text) <= MAX_READ_BYTES:
            found = _read(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError, OSError, EOFError, RecursionError):
        found = None
    if found is None:
        raise ContractError("memory", "unreadable")
    return found


def _packed(memory: SourceMemory) -> bytes:
    document = {
        "version": _VERSION,
        "sequence": memory.sequence,
        "approvedDigest": memory.approved_digest,
        "approvedNames": sorted(memory.approved_names),
        "flipsOf": memory.flips_of,
        "instructions": asdict(memory.instructions),
        "tools": {name: _written(tool) for name, tool in memory.tools.items()},
    }
    # No time stamp and no order of chance: the same memory has the same bytes.
    text = json.dumps(document, separators=(",", ":")).encode("ascii")
    return gzip.compress(text, compresslevel=_LEVEL, mtime=0)


def _written(tool: ToolMemory) -> dict[str, Any]:
    written = {
        "baseline": tool.baseline,
        "baselineExact": tool.baseline_exact,
        "baselineComponents": asdict(tool.baseline_components),
        "latestExact": tool.latest_exact,
        "latestComponents": asdict(tool.latest_components),
        "identity": asdict(tool.identity),
        "present": tool.present,
        "approved": tool.approved,
        "changeName": tool.change_name,
        "flags": list(tool.flags),
        "seen": None if tool.seen is None else asdict(tool.seen),
        "flips": dict(tool.flips),
    }
    if tool.latest is not tool.baseline:  # the same for nearly all
        written["latest"] = tool.latest
    return written


def _read(document: Mapping[str, Any]) -> SourceMemory:
    if document["version"] != _VERSION:
        raise ValueError
    return SourceMemory(
        tools={str(name): _tool(written) for name, written in document["tools"].items()},
        instructions=TextMemory(**document["instructions"]),
        sequence=int(document["sequence"]),
        approved_digest=document["approvedDigest"],
        approved_names=frozenset(document["approvedNames"]),
        flips_of=str(document["flipsOf"]),
    )


def _tool(written: Mapping[str, Any]) -> ToolMemory:
    baseline = written["baseline"]
    return ToolMemory(
        baseline=baseline,
        baseline_exact=str(written["baselineExact"]),
        baseline_components=Components(**written["baselineComponents"]),
        latest=written.get("latest", baseline),
        latest_exact=str(written["latestExact"]),
        latest_components=Components(**written["latestComponents"]),
        identity=ToolIdentity(**written["identity"]),
        present=bool(written["present"]),
        approved=bool(written["approved"]),
        change_name=written["changeName"],
        flags=tuple(written["flags"]),
        seen=None if written["seen"] is None else Components(**written["seen"]),
        flips={str(name): int(count) for name, count in written["flips"].items()},
    )


def _without_largest(memory: SourceMemory, excess: float) -> SourceMemory:
    sizes = {
        name: len(json.dumps([tool.baseline, tool.latest]))
        for name, tool in memory.tools.items()
        if tool.baseline is not None or tool.latest is not None
    }
    if not sizes:
        # What is left are digests and names: the names of removed tools go.
        present = {name: tool for name, tool in memory.tools.items() if tool.present}
        return replace(memory, tools=present) if len(present) < len(memory.tools) else memory
    goal = sum(sizes.values()) * (1 - 1 / excess)
    gone: set[str] = set()
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        gone.add(name)
        goal -= sizes[name]
        if goal <= 0:
            break
    tools = {
        name: replace(tool, baseline=None, latest=None) if name in gone else tool
        for name, tool in memory.tools.items()
    }
    return replace(memory, tools=tools)

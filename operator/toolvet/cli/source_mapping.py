"""The ``mapping`` of an MCPSource as a proposal: every tool of a listing with an id made of its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from toolvet.core.source_identity import identify
from toolvet.core.tool_mapping import ToolMapping, Unlisted
from toolvet.kube.account_shapes import MAX_RUNTIME_NAME
from toolvet.kube.manifest import yaml_text

_ANY_VERSION: Final = "0.0.0"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The block, as YAML; how many of its ids are digests, and how many tools no entry can name."""

    text: str
    opaque: int
    unnameable: int


def propose(definitions: Iterable[object], id_namespace: str) -> Proposal:
    """Name every tool by the documented rule, and by a digest where that gives no id or one id twice.

    Raises ContractError("id_namespace", "invalid_identifier").
    """
    by_name = ToolMapping(id_namespace, _ANY_VERSION, f"capability:{id_namespace}/any")
    by_name.resolve([])  # the namespace is at fault, not the first tool
    by_digest = ToolMapping(
        id_namespace, _ANY_VERSION, f"capability:{id_namespace}/any", unlisted=Unlisted.DIGEST
    )
    listed = [item.get("name") if isinstance(item, Mapping) else None for item in definitions]
    names = sorted(name for name in listed if isinstance(name, str) and _can_be_entered(name))
    found = identify(names, by_name, None)
    entries = [
        {
            "name": name,
            "toolId": by_digest.resolve([name])[0].tool_id
            if name in found.faults
            else found.tools[name].tool_id,
        }
        for name in names
    ]
    document = {"mapping": {"defaults": {"idNamespace": id_namespace}, "tools": entries}}
    return Proposal(yaml_text(document), len(found.faults), len(listed) - len(names))


def _can_be_entered(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return 0 < len(name) <= MAX_RUNTIME_NAME

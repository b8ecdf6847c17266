"""Which record each tool of a live server becomes: by the source's mapping, and visibly so where it has none.

A tool that could not be named must not go unseen, or a catalog would go on matching its approval while the
server serves more. It stands in the inventory under an id that no mapping gives, so that nothing matches
until its owner has named it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_semver
from toolvet.core.tool_mapping import ToolIdentity, ToolMapping, opaque_local_name

UNMAPPED_NAMESPACE: Final = "unmapped.toolvet.dev"
UNMAPPED_CAPABILITY: Final = f"capability:{UNMAPPED_NAMESPACE}/unmapped"
_UNMAPPED_VERSION: Final = "0.0.0"
_NAME_DOMAIN: Final = "toolvet.dev/unmapped-tool-name.v1"


@dataclass(frozen=True, slots=True, repr=False)
class Identities:
    """The identity of each tool by runtime name, and the code of what kept a name from having one."""

    tools: Mapping[str, ToolIdentity]
    faults: Mapping[str, str]
    stale_entries: int = 0
    """Entries of the mapping that name no tool served."""


def identify(names: Iterable[str], mapping: ToolMapping, server_version: str | None) -> Identities:
    """Map every name; tools that come to one id and version are all unmapped, for none is the right one.

    ``server_version`` counts where neither an entry nor a default states a version, and only where it is a
    strict triple (CONTRACTS 2.3).
    """
    served = list(names)
    stale = len(mapping.tools.keys() - set(served))
    if mapping.version is None and is_semver(server_version):
        mapping = replace(mapping, version=server_version)
    tools: dict[str, ToolIdentity] = {}
    faults: dict[str, str] = {}
    holders: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name in served:
        entry = mapping.tools.get(name)
        alone = replace(mapping, tools={} if entry is None else {name: entry})
        try:
            identity = alone.resolve([name])[0]
        except ContractError as error:
            faults[name] = f"{error.field_name.rpartition('.')[2]}: {error.code}"
            continue
        tools[name] = identity
        holders[identity.tool_id, identity.version].append(name)
    for name in (name for group in holders.values() if len(group) > 1 for name in group):
        del tools[name]
        faults[name] = "tool_id: collision"
    unmapped = {name: _unmapped(name) for name in faults}
    return Identities({**tools, **unmapped}, faults, stale)


def _unmapped(name: str) -> ToolIdentity:
    tool_id = f"tool:{UNMAPPED_NAMESPACE}/{opaque_local_name(_NAME_DOMAIN, name)}"
    return ToolIdentity(tool_id, _UNMAPPED_VERSION, UNMAPPED_CAPABILITY)

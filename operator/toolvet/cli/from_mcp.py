"""``toolvet inventory from-mcp``: list a server, map its tools, render."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolvet.cli.inventory_manifest import check_names, inventory_manifest
from toolvet.cli.mapping_file import Flags
from toolvet.core.tool_definition import Definition
from toolvet.kube.manifest import yaml_text
from toolvet.mcp.catalog import catalog_of_definitions
from toolvet.mcp.listing import list_stdio_tools

_SKELETON_HEADER = """\
# Mapping of an MCP server's tools. An entry under `tools` may set toolId, version and capabilityClass
# and wins over the defaults; flags of the command win over the defaults, too. Nothing is guessed.
"""


@dataclass(frozen=True, slots=True)
class Server:
    """How to start the server, and the seconds its answer may take."""

    command: tuple[str, ...]
    timeout: float
    show_stderr: bool

    def list(self) -> list[Definition]:
        """Return the raw definitions."""
        return list_stdio_tools(self.command, deadline=self.timeout, show_stderr=self.show_stderr)


def manifest(
    server: Server, flags: Flags, mapping: str | None, *, name: str | None, namespace: str | None, form: str
) -> str:
    """Return the manifest of the server's tools."""
    checked = check_names(name, namespace)
    tool_mapping = flags.over(mapping)
    catalog = catalog_of_definitions(server.list(), tool_mapping)
    return inventory_manifest(catalog, name=checked, namespace=namespace, form=form)


def mapping_skeleton(server: Server, flags: Flags, mapping: str | None) -> str:
    """Return a mapping document with every runtime name; what is not given yet is left empty."""
    tool_mapping = flags.over(mapping)
    entries: dict[str, Mapping[str, str]] = {
        str(tool["name"]): dict(tool_mapping.tools.get(str(tool["name"]), {})) for tool in server.list()
    }
    defaults = {
        "idNamespace": tool_mapping.id_namespace or "",
        "version": tool_mapping.version or "",
        "capabilityClass": tool_mapping.capability_class or "",
    }
    return _SKELETON_HEADER + yaml_text({"defaults": defaults, "tools": entries})

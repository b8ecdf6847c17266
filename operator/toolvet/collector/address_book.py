"""Where a server is that another system declares: kagent and ToolHive as address books, and nothing more.

What those systems say of a server's tools is not read: kagent keeps names and descriptions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolvet.core.errors import ContractError
from toolvet.core.tool_source import SourceReference
from toolvet.kube.client import HTTP_FORBIDDEN, HTTP_NOT_FOUND, ApiClient, ApiError
from toolvet.kube.names import Resource

_PLURALS: Final = {"MCPServer": "mcpservers", "RemoteMCPServer": "remotemcpservers"}
_MAX_URL: Final = 2048
_MAX_PORT: Final = 65535


async def url_of(api: ApiClient, namespace: str, reference: SourceReference) -> str:
    """Return the URL at which agents reach the referred server.

    kagent's RemoteMCPServer: ``spec.url``; its MCPServer (kmcp): the Service of that name, port
    ``spec.deployment.port``, path /mcp; ToolHive's MCPServer: ``status.url``. Raises
    ContractError("reference", code): not_served (no such kind in this cluster), not_permitted, missing,
    without_url; ApiError for what may pass.
    """
    group, _, version = reference.api_version.partition("/")
    resource = Resource(group, version, _PLURALS[reference.kind], reference.kind)
    code = ""
    found: Mapping[str, Any] | None = None
    try:
        found = await api.get(resource, namespace, reference.name)
    except ApiError as error:
        if error.status not in {HTTP_FORBIDDEN, HTTP_NOT_FOUND}:
            raise
        code = "not_permitted" if error.status == HTTP_FORBIDDEN else "not_served"
    if code:
        raise ContractError("reference", code)
    if found is None:
        raise ContractError("reference", "missing")
    url = _url(group, reference, namespace, found)
    if url is None:
        raise ContractError("reference", "without_url")
    return url


def _url(group: str, reference: SourceReference, namespace: str, found: Mapping[str, Any]) -> str | None:
    if group == "kagent.dev" and reference.kind == "MCPServer":
        port = _at(found, "spec", "deployment", "port")
        valid = type(port) is int and 0 < port <= _MAX_PORT
        return f"http://{reference.name}.{namespace}.svc:{port}/mcp" if valid else None
    url = _at(found, "spec", "url") if group == "kagent.dev" else _at(found, "status", "url")
    return url if isinstance(url, str) and 0 < len(url) <= _MAX_URL else None


def _at(value: object, *members: str) -> object:
    for member in members:
        value = value.get(member) if isinstance(value, Mapping) else None
    return value

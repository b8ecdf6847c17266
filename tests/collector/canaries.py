"""A live server that says a word of its own in every text there is, and where that word came to stand."""

import base64
import binascii
import contextlib
import json
import zlib
from collections.abc import Iterator
from typing import Any

from collector.mcp_server import RewritingServer
from story.team import Team

WORD = "zqcanary7"
"""Lower-case letters and a digit: it passes whatever grammar there is, an id's included."""
NAMED = f"{WORD}name_read"
KINDS = {
    "ToolInventory": "toolinventories",
    "RunToolCatalogSnapshot": "runtoolcatalogsnapshots",
    "CatalogApproval": "catalogapprovals",
    "ToolChange": "toolchanges",
    "ToolEnablement": "toolenablements",
    "HeldToolCall": "heldtoolcalls",
    "MCPSource": "mcpsources",
    "Event": "events.events.k8s.io",
    "ControllerRevision": "controllerrevisions",
    "Deployment": "deployments",
    "Lease": "leases",
    "ConfigMap": "configmaps",
}
SECRET_TYPES = {"toolvet.dev/mcp-definitions", "toolvet.dev/tool-change-evidence"}


def text(place: str) -> str:
    return f"{WORD}{place}"


def schema(place: str) -> dict[str, Any]:
    return {
        "$schema": f"https://{text('dialect')}.example/",
        "$comment": text("comment"),
        "type": "object",
        "title": text("schematitle"),
        "required": [text(f"{place}param")],
        "properties": {
            text(f"{place}param"): {
                "type": "string",
                "description": text("paramdescription"),
                "enum": [text("enum"), f"{WORD}enum2"],
                "default": text("enum"),
                "examples": [text("example")],
                "x-mcp-header": text("header"),
            },
            "shared": {"$ref": f"#/$defs/{text('def')}"},
            "elsewhere": {"$ref": f"https://{text('ref')}.example/schema.json"},
            "shape": {"type": "string", "pattern": f"^{text('pattern')}$", "format": text("format")},
        },
        "$defs": {text("def"): {"const": text("const")}},
    }


def definition(name: str, description: str = text("description")) -> dict[str, Any]:
    return {
        "name": name,
        "title": text("title"),
        "description": f"{description}\u200b",
        "inputSchema": schema("input"),
        "outputSchema": schema("output"),
        "annotations": {
            "title": text("annotationtitle"),
            "readOnlyHint": True,
            text("hint"): text("hintvalue"),
        },
        "icons": [{"src": f"https://{text('icon')}.example/icon.png"}],
        "_meta": {f"{text('metakey')}.example/key": text("metavalue")},
        text("member"): text("membervalue"),
    }


class SayingServer(RewritingServer):
    """Says the word in its own name, version, instructions, headers and errors as well."""

    def __init__(self) -> None:
        malformed = {"name": text("malformed"), "description": [text("malformedtext")]}
        nameless = {"description": text("nameless")}
        super().__init__(definition(NAMED), definition(f"{WORD}gone"), malformed, nameless)
        self.version = f"1.2.3-{text('version')}"
        self.instructions = text("instructions")
        self.headers = {f"X-{WORD}": text("headervalue"), "Server": text("server")}

    def result(self, method: str) -> dict[str, Any]:
        found = super().result(method)
        if "serverInfo" in found:
            found["serverInfo"] |= {"name": text("servername"), "title": text("servertitle")}
            found["capabilities"][text("capability")] = {text("capability"): True}
        return {**found, "_meta": {text("resultkey"): text("resultvalue")}, text("result"): text("result")}

    def failures(self) -> list[tuple[int, bytes, dict[str, str]]]:
        """Return answers that come to nothing, each in its own way and with the word in it."""
        said = {"code": -32000, "message": text("error"), "data": {text("errorkey"): text("errordata")}}
        versions = {"code": -32022, "message": text("error"), "data": {"supported": [text("revision")]}}
        rpc = [
            {"jsonrpc": "2.0", "id": number, "error": error}
            for number in (1, 2)
            for error in (said, versions)
        ]
        return [
            (503, text("body").encode(), {"Retry-After": text("retry")}),
            (401, text("body").encode(), {"WWW-Authenticate": f'Bearer realm="{text("realm")}"'}),
            (307, b"", {"Location": f"https://{text('location')}.example/mcp"}),
            (200, text("notjson").encode(), {}),
            *((200, json.dumps(answer).encode(), {}) for answer in rpc),
        ]


def _opened(found: object) -> Iterator[str]:
    """Yield every text in an object, and what is packed or encoded in it."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from _opened(key)
            yield from _opened(value)
    elif isinstance(found, list):
        for value in found:
            yield from _opened(value)
    elif isinstance(found, str):
        yield found
        try:
            data = base64.b64decode(found, validate=True)
        except (binascii.Error, ValueError):
            return
        with contextlib.suppress(zlib.error):  # not packed, then
            data = zlib.decompress(data, wbits=47)  # zlib's or gzip's header, whichever it is
        yield data.decode("utf-8", "replace")


def says(found: object) -> bool:
    return any(WORD in part.lower() for part in _opened(found))


def told(team: Team) -> set[str]:
    """Return the kinds, and the types of Secrets, in whose objects the word stands in any form."""
    kinds = ",".join(["secrets", *KINDS.values()])
    shown = team.kubectl("get", kinds, "--output", "json", as_user=team.bed.kubeconfig()).stdout
    found = [item for item in json.loads(shown)["items"] if says(item)]
    return {item["type"] if item["kind"] == "Secret" else item["kind"] for item in found}

"""Sources, changes, enablements, held calls: the API server and our models agree, and repeat nothing.

As test_same_verdict and test_refusals, for the kinds around live servers: values at the borders of every
member's grammar, then something wrong at every place of a whole object.
"""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crds.objects import (
    DIGEST,
    LONGEST_CAPABILITY,
    LONGEST_NAMESPACE,
    acknowledgement,
    change,
    enablement,
    held_call,
    source,
)
from parity import texts
from parity.canaries import VALUES, WORD, told
from parity.faults import places
from parity.objects import Object
from parity.texts import POOLS, Pool
from parity.verdicts import Server, as_stored
from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.errors import ContractError
from toolvet.kube.account_resources import (
    change_from_object,
    enablement_from_object,
    held_call_from_object,
    source_from_object,
)
from toolvet.kube.names import HELD_TOOL_CALLS, MCP_SOURCES, TOOL_CHANGES, TOOL_ENABLEMENTS
from toolvet.kube.resources import check_object

READERS: dict[str, Callable[[Object], object]] = {
    "MCPSource": source_from_object,
    "ToolChange": change_from_object,
    "ToolEnablement": enablement_from_object,
    "HeldToolCall": held_call_from_object,
}
RESOURCES = {item.kind: item for item in (HELD_TOOL_CALLS, MCP_SOURCES, TOOL_CHANGES, TOOL_ENABLEMENTS)}
UNKNOWN = re.compile(rf'unknown field "[^"]*{WORD}"')

CONFIGURED = {
    "credentialsSecretName": "secret",
    "intervalSeconds": 30,
    "listChanged": True,
    "maxObservationAge": "15m",
    "reading": "Literal",
    "mapping": {
        "defaults": {"idNamespace": "org.example", "version": "1.0.0", "capabilityClass": "capability:a.b/c"},
        "tools": [
            {"name": "A", "toolId": "tool:a.b/c", "version": "1.0.0", "capabilityClass": "capability:a.b/c"},
            {"name": "B"},
        ],
        "unlisted": "Name",
    },
    "ignorePaths": [{"tool": "a", "path": "/inputSchema"}, {"path": "/_meta"}],
}


def whole(kind: str) -> Object:
    """A valid object with every member."""
    if kind == "MCPSource":
        return source(**copy.deepcopy(CONFIGURED))
    if kind == "ToolChange":
        return change(flags=["concealed_text", "confusable"], evidenceSecretName="secret")
    if kind == "ToolEnablement":
        rules = [{"toolId": "tool:a.b/c", "rule": "Allowed"}, {"toolId": "tool:a.b/d", "rule": "Blocked"}]
        return enablement(
            "alice",
            defaultRule="AskFirst",
            rules=rules,
            acknowledged=[acknowledgement(), acknowledgement("b")],
        )
    return held_call("alice", expiresAt="2030-01-31T12:00:00Z")


TOOL_IDS = POOLS["toolId"]
NAMES = Pool(
    ["a", "a.b", "0", "a-b.c-d", "n" * 190],
    ["-a", "a-", "a.", "a..b", "a b", "A", "n" * 254, texts.EMOJI, *texts.ODD],
)
SOURCE_NAMES = Pool(NAMES.good, [*NAMES.bad, "n" * 191])
RUNTIME_NAMES = Pool(["a", "A_b.c", " ", "\n", "n" * 256, texts.EMOJI * 256], ["", "n" * 257])
RULE = Pool(["Allowed", "AskFirst", "Blocked"], ["allowed", "Ask", "Allowed ", "Allowed\n", "", "x" * 9])
DIGESTS = POOLS["schemaDigest"]
HTTP, HTTPS = "http:" + "//", "https:" + "//"
"""In two parts: what follows is no host that anything here speaks with."""
URLS = Pool(
    [
        *(f"{HTTP}a", f"{HTTPS}a.b-c.example:8443/mcp?x=1&y='(z)", f"{HTTPS}[::1]:80/", f"{HTTP}A?q"),
        *(f"{HTTPS}h/" + "p" * (2048 - 10), f'{HTTP}0/\\^`{{|}}~"'),
    ],
    [
        *(f"{HTTPS}h/" + "p" * (2048 - 9), "", "http://", "ftp://a", "HTTP://a", f"{HTTP}/a", f"{HTTP}a b"),
        *(f"{HTTP}user@a", f"{HTTP}user:pass@a/", f"{HTTP}a/#f", f"{HTTP}a#f", f"{HTTP}a/\n", f"{HTTP}a\n"),
        *(
            f"{HTTP}-a",
            f"{HTTP}a-",
            f"{HTTP}a:",
            f"{HTTP}a:123456",
            f"{HTTP}[::1",
            f"{HTTP}\u00e9",
            f"{HTTP}a/\u00e9",
        ),
        *(f" {HTTP}a", f"{HTTP}a/ ", f"{HTTP}a\\b", f"{HTTP}a_b", "javascript:x"),
    ],
)
POINTERS = Pool(
    ["/a", "/", "//", "/a~0b~1c", "/\u00e9 \n", "/" + "a" * 1023],
    ["", "a", "a/b", "/~", "/~2", "/a~", "#/a", "/" + "a" * 1024],
)
REFERENCES = Pool(
    [
        {"apiVersion": version, "kind": kind, "name": "a"}
        for version, kind in (
            ("kagent.dev/v1alpha2", "RemoteMCPServer"),
            ("kagent.dev/v1alpha1", "MCPServer"),
            ("toolhive.stacklok.dev/v1beta1", "MCPServer"),
            ("toolhive.stacklok.dev/v1", "MCPServer"),
        )
    ],
    [
        *(
            {"apiVersion": version, "kind": kind, "name": "a"}
            for version, kind in (
                ("toolhive.stacklok.dev/v1beta1", "RemoteMCPServer"),
                ("kagent.dev/v1alpha1", "Agent"),
                ("kagent.dev/v0", "MCPServer"),
                ("kagent.dev", "MCPServer"),
                ("kagentxdev/v1", "MCPServer"),
                ("v1", "MCPServer"),
                ("kagent.dev/v1\n", "MCPServer"),
                ("x.kagent.dev/v1", "MCPServer"),
                ("", ""),
            )
        ),
        {"apiVersion": "kagent.dev/v1", "kind": "MCPServer", "name": "A"},
        {"apiVersion": "kagent.dev/v1", "kind": "MCPServer"},
        {},
    ],
)
REASONS = Pool(
    [[str(item)] for item in sorted(ChangeReason)] + [sorted(map(str, ChangeReason))],
    [[], ["unknown"], ["wording_changed", "branch_added"], ["branch_added"] * 2, [""], ["x" * 33]],
)
FLAGS = Pool(
    [[str(item)] for item in sorted(ToolFlag)] + [[], None, sorted(map(str, ToolFlag))],
    [["unknown"], ["confusable", "concealed_text"], ["confusable"] * 2, [""]],
)


def listed(count: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(index) for index in range(count)]


def rules(count: int) -> list[Object]:
    return listed(count, lambda index: {"toolId": f"tool:a.b/t{index:04d}", "rule": "Allowed"})


def entries(count: int) -> list[Object]:
    return listed(count, lambda index: {"name": f"t{index:04d}"})


OPTIONAL_VERSION = Pool([*POOLS["version"].good, None], POOLS["version"].bad)
OPTIONAL_CAPABILITY = Pool([*POOLS["capabilityClass"].good, None], POOLS["capabilityClass"].bad)
NAMESPACE_IDS = Pool(
    ["a.b", "org.example", "0.9", f"{'l' * 63}.b", LONGEST_NAMESPACE],
    ["", "a", "a.", ".a", "a.b/c", "A.b", "a..b", f"{'l' * 64}.b", f"a.{LONGEST_NAMESPACE}", "a.b\n", "-a.b"],
)
BORDERS: dict[str, dict[tuple[str | int, ...], Pool]] = {
    "MCPSource": {
        ("metadata", "name"): Pool(["a", "n" * 190], ["n" * 191]),
        ("spec", "url"): URLS,
        ("spec", "inventoryName"): Pool(texts.NAMES.good, [*texts.NAMES.bad, "default"]),
        ("spec", "credentialsSecretName"): Pool([*NAMES.good, None], NAMES.bad),
        ("spec", "intervalSeconds"): Pool([10, 3600, None], [9, 3601, 0, -1, 2**31, 2**63, 60.5, "60", True]),
        ("spec", "maxObservationAge"): POOLS["maxApprovalAge"],
        ("spec", "listChanged"): Pool([True, False, None], [1, 0, "true", "", 1.5]),
        ("spec", "reading"): Pool(["Strict", "Literal", None], ["strict", "", "Strict\n", "literal"]),
        ("spec", "mapping"): Pool([None, {}, {"tools": []}, {"defaults": {}}], ["", [], {"x": 1}]),
        ("spec", "mapping", "tools"): Pool(
            [None, entries(1), entries(1000)],
            [entries(1001), [{"name": "b"}, {"name": "a"}], [{"name": "a"}] * 2, [{}], [None]],
        ),
        ("spec", "mapping", "unlisted"): Pool(["Digest", "Name", None], ["digest", "", "Name\n", 1, "Names"]),
        ("spec", "mapping", "defaults", "idNamespace"): NAMESPACE_IDS,
        ("spec", "mapping", "defaults", "version"): OPTIONAL_VERSION,
        ("spec", "mapping", "defaults", "capabilityClass"): OPTIONAL_CAPABILITY,
        ("spec", "mapping", "tools", 0, "toolId"): Pool([*TOOL_IDS.good, None], TOOL_IDS.bad),
        ("spec", "mapping", "tools", 0, "version"): OPTIONAL_VERSION,
        ("spec", "mapping", "tools", 0, "capabilityClass"): Pool(
            [LONGEST_CAPABILITY, None], ["capability:a/b", LONGEST_CAPABILITY + "9"]
        ),
        ("spec", "mapping", "tools", 1, "name"): Pool(["B", "a"], ["", "A", "0"]),
        ("spec", "ignorePaths"): Pool(
            [None, [], [{"path": "/a"}] * 64], [[{"path": "/a"}] * 65, [{"tool": "a"}], [{}]]
        ),
        ("spec", "ignorePaths", 0, "tool"): RUNTIME_NAMES,
        ("spec", "ignorePaths", 0, "path"): POINTERS,
    },
    "ToolChange": {
        ("spec", "sourceName"): SOURCE_NAMES,
        ("spec", "sourceUid"): Pool(
            ["01234567-89ab-cdef-0123-456789abcdef"],
            ["", "0" * 36, "01234567-89AB-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdef\n"],
        ),
        ("spec", "toolId"): Pool(TOOL_IDS.good, [*TOOL_IDS.bad, None]),
        ("spec", "version"): Pool(POOLS["version"].good, [*POOLS["version"].bad, None]),
        ("spec", "event"): Pool(["Changed", "Returned"], ["Removed", "changed", "", "Added"]),
        ("spec", "severity"): Pool(["Material", "Minor"], ["None", "material", ""]),
        ("spec", "literalSeverity"): Pool(["Material", "Minor", "None"], ["none", ""]),
        ("spec", "reasons"): REASONS,
        ("spec", "flags"): FLAGS,
        ("spec", "evidenceSecretName"): Pool([*NAMES.good, None], NAMES.bad),
        ("spec", "after"): Pool([{"fingerprint": DIGEST}], [None, {}, [], {"contract": DIGEST}]),
        **{("spec", "after", part): DIGESTS for part in ("fingerprint", "contract", "hints", "rest")},
        ("spec", "before", "fingerprint"): DIGESTS,
    },
    "ToolEnablement": {
        ("spec", "subject"): texts.USERS,
        ("spec", "sourceName"): SOURCE_NAMES,
        ("spec", "defaultRule"): Pool([*RULE.good, None], RULE.bad),
        ("spec", "rules"): Pool(
            [None, [], rules(1), rules(1000)], [rules(1001), rules(2)[::-1], rules(1) * 2, [{}], ["a"]]
        ),
        ("spec", "rules", 0, "toolId"): Pool(["tool:0.9/a"], [*TOOL_IDS.bad, "tool:a.b/d", "tool:a.b/e"]),
        ("spec", "rules", 0, "rule"): RULE,
        ("spec", "acknowledged"): Pool(
            [None, [], [acknowledgement()] * 1000], [[acknowledgement()] * 1001, [{}], {}]
        ),
        ("spec", "acknowledged", 0, "changeName"): Pool([*NAMES.good, "n" * 253], NAMES.bad),
        ("spec", "acknowledged", 0, "fingerprint"): DIGESTS,
    },
    "HeldToolCall": {
        ("spec", "enablementName"): Pool([*NAMES.good, "n" * 253], NAMES.bad),
        ("spec", "toolId"): TOOL_IDS,
        ("spec", "definitionFingerprint"): DIGESTS,
        ("spec", "argumentsDigest"): DIGESTS,
        ("spec", "requestedBy"): texts.USERS,
        ("spec", "expiresAt"): Pool(
            [item for item in POOLS["expiresAt"].good if item], POOLS["expiresAt"].bad
        ),
    },
}


def fault(obj: Object) -> ContractError | None:
    try:
        check_object(RESOURCES[obj["kind"]], obj)
        READERS[obj["kind"]](obj)
    except ContractError as error:
        return error
    return None


def with_value(kind: str, path: tuple[str | int, ...], value: object) -> Object:
    obj = whole(kind)
    holder: Any = obj
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = copy.deepcopy(value)
    return obj


def at_borders(kind: str) -> Iterator[tuple[Object, bool]]:
    for path, pool in BORDERS[kind].items():
        for good, values in ((True, pool.good), (False, pool.bad)):
            for value in values:
                yield with_value(kind, path, value), good
    if kind == "MCPSource":
        for reference in REFERENCES.good:
            yield source(ref=reference), True
        for reference in REFERENCES.bad:
            yield source(ref=reference), False
        yield with_value(kind, ("spec", "ref"), REFERENCES.good[0]), False
        yield with_value(kind, ("spec", "url"), None), False
    if kind == "ToolChange":
        instructions = change()
        del instructions["spec"]["toolId"], instructions["spec"]["version"]
        yield instructions, True
        removed = change(event="Removed")
        del removed["spec"]["after"]
        yield removed, True
        yield change(severity="Minor", literalSeverity="Material"), False


def spoiled(kind: str) -> Iterator[Object]:
    """Something else at every place; a member missing; one too many."""
    obj = whole(kind)
    yield from ({**obj, "spec": value} for value in VALUES)
    for number in range(len(list(places(obj["spec"])))):
        for value in (*VALUES, ...):
            changed = whole(kind)
            holder, key = list(places(changed["spec"]))[number]
            if value is ...:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(value)
            yield changed
    for number in range(1 + sum(isinstance(holder[key], dict) for holder, key in places(obj))):
        changed = whole(kind)
        mappings = [changed, *(node[key] for node, key in places(changed) if isinstance(node[key], dict))]
        if mappings[number] is not changed["metadata"]:
            mappings[number][WORD] = WORD
            yield changed


@pytest.mark.parametrize("kind", READERS)
def test_one_verdict(server: Server, kind: str) -> None:
    differing = []
    cases: list[tuple[Object, bool | None]] = [(whole(kind), True), *at_borders(kind)]
    cases += [(obj, None) for obj in spoiled(kind)]
    for obj, good in cases:
        answer = server.create(obj)
        ours = fault(as_stored(obj, answer.stored))
        accepted = answer.stored is not None
        if accepted is (ours is not None) or good not in (None, accepted):
            differing.append(
                f"{good}: API server: {answer.message or 'accepted'}; models: {ours}\n{str(obj)[:600]}"
            )
        if answer.stored is not None:
            read = READERS[kind]
            if read(answer.stored) != read(as_stored(obj, answer.stored)):
                differing.append(f"read otherwise than stored: {obj}")
        message = UNKNOWN.sub("", answer.message)
        if told(message) or (ours is not None and told(str(ours))):
            differing.append(f"repeated: {answer.message} {ours}")
    assert not differing, f"{len(differing)} differ:\n\n" + "\n\n".join(differing[:6])
    assert len(cases) > 100

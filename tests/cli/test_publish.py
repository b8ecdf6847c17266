"""``publish``: a registry named on the command line, in a real process."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import digest, run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTES_SERVER = ROOT / "tests" / "runtime" / "servers" / "notes.py"
CANARY = "zqx7-canary"
REQUIRED = ("--name", "assistant", "--implementation-id", digest("f"), "--dry-run")
IDS = ("--id-namespace", "org.example", "--capability", "capability:org.example/notes")
AGENT = """
import os, subprocess, sys
from toolvet.runtime import ToolRegistry, ToolSpec

print("zqx7-canary said by Python")
os.system("echo zqx7-canary said by a child")

def spec(name="read.note", version="1.0.0", **hints):
    schema = {"type": "object", "description": "zqx7-canary"}
    return ToolSpec(name, "zqx7-canary", schema, None, version, **hints)

class Deep:
    registry = ToolRegistry()

def registry():
    print("zqx7-canary said when called")
    found = ToolRegistry()
    found.register(spec(read_only_hint=True), handler=print)
    found.register(spec(version="1.10.0", destructive_hint=False, idempotent_hint=True), handler=print)
    found.register(spec("drop_note"), handler=print)
    return found

async def later():
    return registry()

def unhandled():
    return ToolRegistry([spec()])

def text_hint():
    found = ToolRegistry()
    found.register(spec(read_only_hint="no"), handler=print)
    return found

def raises():
    raise RuntimeError("zqx7-canary")

def exits():
    sys.exit("zqx7-canary")

def own_error():
    ToolRegistry().register("zqx7-canary")

number = 7
"""


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "agent_tools.py").write_text(AGENT)
    (tmp_path / "broken_tools.py").write_text(f"import nothing_of_that_name  # {CANARY}")
    return tmp_path


def published(folder, reference, *arguments, options=REQUIRED):
    return run("publish", reference, *options, *arguments, cwd=folder)


@pytest.mark.parametrize("attribute", ["registry", "later"])
def test_the_manifest_has_every_version_with_its_class_and_none_of_the_texts(agent, attribute):
    done = published(agent, f"agent_tools:{attribute}", *IDS, "-n", "team-a")
    assert done.returncode == 0, done.stderr
    manifest = yaml.safe_load(done.stdout)
    assert (manifest["kind"], manifest["metadata"]) == (
        "ToolInventory",
        {"name": "assistant", "namespace": "team-a"},
    )
    tools = manifest["spec"]["tools"]
    assert [(tool["toolId"], tool["version"], tool["sideEffectClass"]) for tool in tools] == [
        ("tool:org.example/drop-note", "1.0.0", "destructive"),
        ("tool:org.example/read-note", "1.0.0", "read-only"),
        ("tool:org.example/read-note", "1.10.0", "idempotent-write"),
    ]  # fmt: skip
    assert {tool["implementationId"] for tool in tools} == {digest("f")}
    assert CANARY not in done.stdout
    # The module's own output, a child's included, goes where people look.
    assert done.stderr.count(CANARY) == 3


def test_two_processes_publish_the_same(agent):
    first, second = (published(agent, "agent_tools:registry", *IDS, "-o", "json") for _ in range(2))
    assert first.stdout == second.stdout
    assert json.loads(first.stdout) == yaml.safe_load(published(agent, "agent_tools:registry", *IDS).stdout)


def test_a_deep_attribute_and_an_empty_registry(agent):
    done = published(agent, "agent_tools:Deep.registry")
    assert yaml.safe_load(done.stdout)["spec"] == {"tools": []}


def test_a_mapping_file_names_tools_and_leaves_versions_to_the_registry(agent, write):
    entry = {"toolId": "tool:org.example/remove", "capabilityClass": "capability:org.example/danger"}
    path = write("mapping.json", {"tools": {"drop_note": entry}})
    done = published(agent, "agent_tools:registry", *IDS, "--mapping", path)
    last = yaml.safe_load(done.stdout)["spec"]["tools"][-1]
    assert (last["toolId"], last["capabilityClass"]) == (entry["toolId"], entry["capabilityClass"])
    for document, place in (
        ({"defaults": {"version": "1.0.0"}}, "mapping.defaults.version"),
        ({"tools": {"drop_note": {"version": "1.0.0"}}}, "mapping.tools[0].version"),
    ):
        done = published(agent, "agent_tools:registry", *IDS, "--mapping", write("m.json", document))
        failed(done, f"{place}: stated_elsewhere")


def failed(done, error):
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (errors, done.returncode, done.stdout) == ([f"error: {error}"], 2, "")
    assert "Traceback" not in done.stderr
    said_by_the_module = sum(" said " in line for line in done.stderr.splitlines())
    assert done.stderr.count(CANARY) == said_by_the_module


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        ("agent_tools", "registry: invalid_reference"),
        ("agent_tools:", "registry: invalid_reference"),
        ("../agent_tools:registry", "registry: invalid_reference"),
        (f"{CANARY}:registry", "registry: invalid_reference"),
        ("no_such_tools:registry", "registry: unreadable_module"),
        ("broken_tools:registry", "registry: unreadable_module"),
        ("agent_tools:nothing", "registry: unreadable_module"),
        ("agent_tools:raises", "registry: unreadable_module"),
        ("agent_tools:exits", "registry: unreadable_module"),
        ("agent_tools:own_error", "registry.spec: invalid_type"),
        ("agent_tools:number", "registry: not_a_registry"),
        ("agent_tools:spec", "registry: not_a_registry"),
        ("agent_tools:unhandled", "tools[0].handler: missing"),
        ("agent_tools:text_hint", "tools[0].hints: invalid_hint"),
    ],
)
def test_what_is_no_registry_to_publish_is_one_code_and_exit_2(agent, reference, error):
    failed(published(agent, reference, *IDS), error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--id-namespace", "org.example"), "tools[0].capability_class: missing"),
        (("--capability", "capability:org.example/x"), "tools[0].tool_id: missing"),
        ((*IDS, "--implementation-id", CANARY), "implementation_id: invalid_digest"),
        ((*IDS, "--name", "default"), "name: reserved_name"),
        ((*IDS, "--namespace", "a.b"), "namespace: invalid_name"),
    ],
)
def test_nothing_is_guessed(agent, arguments, error):
    failed(published(agent, "agent_tools:registry", *arguments), error)


def test_what_runs_the_tools_has_to_be_said(agent):
    done = published(agent, "agent_tools:registry", *IDS, "--dry-run", options=("--name", "assistant"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--implementation-id" in done.stderr


def test_without_a_cluster_it_is_bad_input_and_with_an_absent_one_unknown(agent, tmp_path):
    options = REQUIRED[:-1]
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    arguments = ("publish", "agent_tools:registry", *options, *IDS)
    failed(run(*arguments, cwd=agent, env=environment | {"HOME": str(tmp_path)}), "kubeconfig: not_found")
    path = tmp_path / "config"
    cluster = {"server": "https://127.0.0.1:1"}
    entries = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    path.write_text(json.dumps({**entries, "contexts": [context], "current-context": "x"}))
    done = run(*arguments, "--kubeconfig", str(path), cwd=agent)
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot be reached" in done.stderr


MCP_AGENT = f"""
import sys
from mcp import Client, StdioServerParameters
from toolvet.runtime import from_mcp

async def registry():
    server = StdioServerParameters(command=sys.executable, args=[{str(NOTES_SERVER)!r}])
    async with Client(server) as session:
        return await from_mcp(session, version="1.0.0")

async def without_version():
    server = StdioServerParameters(command=sys.executable, args=[{str(NOTES_SERVER)!r}])
    async with Client(server) as session:
        return await from_mcp(session, version={{}})
"""


def test_a_live_session_is_published_as_the_raw_listing_says(tmp_path):
    (tmp_path / "mcp_agent.py").write_text(MCP_AGENT)
    done = published(tmp_path, "mcp_agent:registry", *IDS)
    assert done.returncode == 0, done.stderr
    flags = ("--name", "assistant", *IDS, "--tool-version", "1.0.0")
    listed = run("inventory", "from-mcp", *flags, "--", sys.executable, str(NOTES_SERVER))
    one, other = (yaml.safe_load(text)["spec"]["tools"] for text in (done.stdout, listed.stdout))
    assert len(one) == 4
    # Only what runs them is said differently: by the producer here, by the definition there.
    assert [tool | {"implementationId": ""} for tool in one] == [
        tool | {"implementationId": ""} for tool in other
    ]
    # The session's task group wraps our error; its place still comes out.
    failed(published(tmp_path, "mcp_agent:without_version", *IDS), "registry.tools[0].version: missing")


def test_the_example_is_published_and_runs():
    done = published(EXAMPLES, "publish_registry:registry", *IDS)
    tools = yaml.safe_load(done.stdout)["spec"]["tools"]
    assert [(tool["toolId"], tool["version"], tool["sideEffectClass"]) for tool in tools] == [
        ("tool:org.example/add-note", "1.0.0", "non-idempotent-write"),
        ("tool:org.example/read-note", "1.2.0", "read-only"),
    ]
    done = run(str(EXAMPLES / "publish_registry.py"), program=sys.executable)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'notes': 2}\n", "")

"""The command line repeats nothing of documents and of stored objects that it does not understand.

Models and rules are asked about every canary elsewhere. Here a sample goes all the way through the commands,
and on the real API server: what our CRDs refuse is stored while they ask for nothing.
"""

import json
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from controller.objects import approval, binding, catalog, inventory, policy, snapshot
from controlplane.bed import ControlPlane
from crds.api import Resources
from parity.canaries import NEAR, VALUES, WORD, canaries, told
from parity.lax import without_rules
from parity.objects import Object
from toolvet.__main__ import main
from toolvet.cli.app import app
from toolvet.core.errors import ContractError
from toolvet.kube.resources import catalog_from_snapshot

EVERY = 6
LIVE = catalog(binding("read"), binding("search"))
Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Run a command in this process; returns its exit code and all that it wrote."""
    commands = list(app.registered_commands)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: object) -> tuple[int, str]:
        code = main([str(argument) for argument in arguments])
        app.registered_commands[:] = commands  # each call adds the processes: it is one a process elsewhere
        return code, "".join(capfd.readouterr())

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def sample(kind: str) -> Iterator[Object]:
    found = (obj for obj in canaries(kind) if WORD not in obj and WORD not in obj["metadata"])
    return islice(found, 0, None, EVERY)


def refuses(command: Command, *arguments: object) -> None:
    code, text = command(*arguments)
    assert code == 2, text
    assert text.startswith("error: ")
    assert "internal" not in text
    assert not told(text), text


def catalog_fault(obj: Object) -> bool:
    """Tell whether a snapshot itself is at fault: a diff does not mind that its name does not fit."""
    try:
        catalog_from_snapshot(obj)
    except ContractError:
        return True
    return False


# -- documents ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ToolInventory", "RunToolCatalogSnapshot"])
def test_catalog_diff(command: Command, tmp_path: Path, kind: str) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(inventory(LIVE)))
    for obj in sample(kind):
        bad.write_text(json.dumps(obj))
        if kind == "ToolInventory" or catalog_fault(obj):
            refuses(command, "catalog", "diff", good, bad)
            refuses(command, "catalog", "diff", bad, good)


def test_check(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    for kind in ("ToolInventory", "RunToolCatalogSnapshot", "CatalogApproval", "CatalogPolicy"):
        for obj in sample(kind):
            path.write_text(json.dumps(obj))
            refuses(command, "check", path)


def test_inventory_manifest(command: Command, tmp_path: Path) -> None:
    path, mapping = tmp_path / "inventory.json", tmp_path / "mapping.json"
    records = [item.tool.to_dict() for item in LIVE.bindings]
    sound = {"schema_version": "openmed.agent.tool_inventory.v1", "tools": records}
    near = {name: values for name, values in NEAR.items() if name in ("version", "schemaDigest", "toolId")}
    snake = {"toolId": "tool_id", "schemaDigest": "schema_digest"}
    wrong = [{**records[1], name: value} for name in records[1] for value in VALUES]
    wrong += [{**records[1], snake.get(key, key): value} for key, values in near.items() for value in values]
    documents = [{**sound, "tools": [records[0], tool]} for tool in wrong]
    documents += [{**sound, name: value} for name in sound for value in VALUES]
    documents += [{**sound, WORD: WORD}, {**sound, "tools": [{**records[0], WORD: WORD}]}]
    given = ("inventory", "manifest", "--name", "assistant", path)
    for document in documents:
        path.write_text(json.dumps(document))
        refuses(command, *given, "--implementation-id", LIVE.bindings[0].implementation_id)
    path.write_text(json.dumps(sound))
    refuses(command, *given, "--implementation-id", WORD)
    refuses(command, "inventory", "manifest", "--name", f"{WORD}-", path)
    refuses(command, "inventory", "manifest", "--name", "a", "--namespace", f"{WORD}-", path)
    for value in VALUES[:-1]:
        for entries in (value, {WORD: WORD}, {"implementations": value}, {"implementations": {WORD: value}}):
            mapping.write_text(json.dumps(entries))
            refuses(command, *given, "--mapping", mapping)


@pytest.mark.parametrize(
    "text", [f"{WORD}: [", f"a: {WORD}\na: {WORD}", f'{{"{WORD}": ', f"&{WORD} a: *{WORD}"]
)
def test_text_that_is_no_document(command: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "document"
    path.write_text(text)
    refuses(command, "catalog", "diff", path, path)
    refuses(command, "check", path)
    refuses(command, "inventory", "manifest", "--name", "a", path)


# -- stored objects ----------------------------------------------------------------------------------------


@pytest.fixture
def lax(defined: ControlPlane) -> Iterator[Resources]:
    with without_rules(defined), defined.namespace() as namespace:
        yield Resources(defined, namespace)


def test_commands_over_stored_objects(lax: Resources, command: Command) -> None:
    where = ("-n", lax.namespace, "--kubeconfig", lax.bed.kubeconfig())
    for index, obj in enumerate(sample("ToolInventory")):
        obj["metadata"]["name"] = f"broken-{index}"
        lax.create(obj)
        refuses(command, "capture", f"broken-{index}", *where)
        refuses(command, "catalog", "diff", f"broken-{index}", "--from", "live", *where)
        assert not told(command("history", f"broken-{index}", *where)[1])
    for index, obj in enumerate(
        item for item in sample("RunToolCatalogSnapshot") if _has(item, "inventoryName")
    ):
        obj["metadata"]["name"] = f"broken-{index}"
        lax.create(obj)
        refuses(command, "approve", f"broken-{index}", *where)

    lax.create(inventory(LIVE))
    taken = lax.create(snapshot(LIVE))
    name = taken["metadata"]["name"]
    for obj in sample("CatalogApproval"):
        if not isinstance(obj["spec"], dict):
            continue
        obj["spec"]["snapshotName"] = name
        if _has(obj, "inventoryName") or "inventoryName" not in obj["spec"]:
            lax.create(obj)
            refuses(command, "approve", name, *where)
            lax.bed.api("DELETE", lax.path(obj, obj["metadata"]["name"]))
    for obj in sample("CatalogPolicy"):
        lax.create(obj)
        refuses(command, "approve", name, *where)
        lax.bed.api("DELETE", lax.path(obj, "default"))


def _has(obj: Object, member: str) -> bool:
    """A field that can be selected by is a text whatever the schema."""
    return isinstance(obj["spec"], dict) and isinstance(obj["spec"].get(member), str)


@pytest.mark.parametrize(
    "status",
    [WORD, [WORD], {"lastApproved": WORD}, {"lastApproved": {"snapshotName": f"../{WORD} ?watch=true"}}],
    ids=["text", "list", "no mapping", "no name"],
)
def test_capture_over_a_strange_status(lax: Resources, command: Command, status: object) -> None:
    lax.create(inventory(LIVE))
    lax.patch(inventory(LIVE), {"status": status}, "status")
    code, text = command("capture", "assistant", "-n", lax.namespace, "--kubeconfig", lax.bed.kubeconfig())
    assert code == 0, text
    assert not told(text)


def test_the_sound_objects_are_approved(lax: Resources, command: Command) -> None:
    where = ("-n", lax.namespace, "--kubeconfig", lax.bed.kubeconfig())
    taken = lax.create(snapshot(LIVE))
    lax.create(approval(taken, by="somebody"))
    lax.create(policy(1))
    assert command("approve", taken["metadata"]["name"], *where)[0] == 0
    lax.bed.api("DELETE", lax.path(policy(1), "default"))

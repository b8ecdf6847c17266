"""``check`` without a cluster: what is certain, what is not, and what cannot be understood."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import run
from tests.cli.situations import policy

from story.team import AGENT, digest, inventory, tool, workload
from toolvet.cli import app
from toolvet.core.errors import ContractError
from toolvet.kube.names import API_VERSION
from toolvet.kube.resources import catalog_from_inventory

CANARY = "canary text 4f1c"
Object = dict[str, Any]


def snapshot(source: Object, **spec: Any) -> Object:
    found = catalog_from_inventory(source).digest
    name = source["metadata"]["name"]
    return {
        "apiVersion": API_VERSION,
        "kind": "RunToolCatalogSnapshot",
        "metadata": {"name": f"{name}-{found.removeprefix('sha256:')[:16]}"},
        "spec": {"inventoryName": name, "catalogDigest": found, "bindings": source["spec"]["tools"], **spec},
    }


def namespace(mode: str | None) -> Object:
    labels = {} if mode is None else {"toolvet.dev/mode": mode}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}


def bound(to: str | None = None, pin: str | None = None, **rest: Any) -> Object:
    named = {"toolvet.dev/inventory": to, "toolvet.dev/snapshot": pin}
    return workload(annotations={key: value for key, value in named.items() if value is not None}, **rest)


READ = inventory(tool("read"))
CHANGED = inventory(tool("read", schema="c"))
OLD = snapshot(READ)
PIN = OLD["metadata"]["name"]
ALL = {"apiVersion": API_VERSION, "kind": "CatalogPolicy", "metadata": {"name": "default"}}
EVERY_AGENT = ALL | {"spec": {"agents": {"all": True}}}
NO_AGENT = ALL | {"spec": {}}
MATERIAL = ALL | {"spec": {"reviewOn": "MaterialChange"}}
OTHER = snapshot(inventory(tool("read", schema="d")))
OTHER_PIN = OTHER["metadata"]["name"]


def minor_change(source: Object, *digests: str) -> Object:
    return source | {"spec": source["spec"] | {"minorChangeOf": list(digests)}}


BY_COLLECTOR = minor_change(CHANGED, catalog_from_inventory(READ).digest)


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Check objects as one YAML stream; returns exit code, standard output and error."""

    def checked(*objects: Object, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        code = app.run(["check", str(path), *options], program="toolvet")
        out = capsys.readouterr()
        assert CANARY not in out.out + out.err
        return code, out.out, out.err

    return checked


@pytest.fixture
def finding(check: Any) -> Any:
    """Check objects of which one is a workload; returns exit code, verdict and code."""

    def found(*objects: Object) -> tuple[int, str, str | None]:
        code, out, _ = check(*objects, options=("-o", "json"))
        (only,) = json.loads(out)["workloads"]
        return code, only["verdict"], only["code"]

    return found


MISPLACED = workload() | {
    "metadata": {"name": AGENT, "annotations": {"toolvet.dev/inventory": AGENT}},
}
CERTAIN = {
    "a binding on the workload itself": ([MISPLACED], "binding_misplaced"),
    "an annotation against the inventory": ([READ, bound("another")], "binding_mismatch"),
    "a pin that the inventory has left": ([CHANGED, OLD, NO_AGENT, bound(pin=PIN)], "snapshot_outdated"),
    "the same, whatever governs": (
        [inventory(tool("read", schema="c")), OLD, NO_AGENT, bound(AGENT, PIN)],
        "snapshot_outdated",
    ),
    "a pin of another digest, unseen": ([CHANGED, NO_AGENT, bound(pin=PIN)], "snapshot_outdated"),
    "a pin that the collector's list does not name": (
        [minor_change(READ, digest("1")), OTHER, MATERIAL, bound(pin=OTHER_PIN)],
        "snapshot_outdated",
    ),
    "a pin of no snapshot of it": ([READ, bound(pin="latest")], "snapshot_missing"),
    "an agent that nothing can govern": ([EVERY_AGENT, bound(account="default")], "binding_missing"),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_denied_where_nothing_unknown_could_change_it(finding: Any, name: str) -> None:
    objects, code = CERTAIN[name]
    assert finding(*objects) == (1, "denied", code)


APPROVAL = {
    "apiVersion": API_VERSION,
    "kind": "CatalogApproval",
    "metadata": {"generateName": "approval-"},
    "spec": {
        "inventoryName": AGENT,
        "snapshotName": PIN,
        "snapshotDigest": digest("0"),
        "catalogDigest": catalog_from_inventory(READ).digest,
        "approvedBy": "reviewer",
    },
}
UNCERTAIN = {
    "nothing else": [workload()],
    "an inventory alone": [READ, workload()],
    "a snapshot without its uid": [READ, OLD, NO_AGENT, workload()],
    "an approval by nobody": [READ, OLD, APPROVAL, NO_AGENT, workload()],
    "a revocation by nobody": [
        READ, OLD, APPROVAL | {"spec": APPROVAL["spec"] | {"revoked": True}}, NO_AGENT, workload(),
    ],
    "an annotation alone": [bound("another")],
    "a pin alone": [bound(pin=PIN)],
    "an agent whose inventory may exist": [EVERY_AGENT, workload()],
    "an update that may take a binding away": [NO_AGENT, bound(account="default")],
    "the same with no policy": [workload(account="default")],
    "a pin the collector may call a minor change": [CHANGED, OLD, bound(pin=PIN)],
    "the same, unseen": [CHANGED, bound(pin=PIN)],
    "the same where that decides": [CHANGED, OLD, MATERIAL, bound(pin=PIN)],
    "a list among the files": [BY_COLLECTOR, OLD, MATERIAL, bound(pin=PIN)],
    "a list of what is not seen": [BY_COLLECTOR, MATERIAL, bound(pin=PIN)],
    "the same without a policy": [BY_COLLECTOR, bound(pin=PIN)],
    "a list without a pin": [BY_COLLECTOR, OLD, MATERIAL, workload()],
    "a mode that may not come to be": [namespace("warn"), READ, bound("another")],
}  # fmt: skip


@pytest.mark.parametrize("name", UNCERTAIN)
def test_unknown_where_it_depends_on_the_cluster(check: Any, finding: Any, name: str) -> None:
    code, verdict, _ = finding(*UNCERTAIN[name])
    assert (code, verdict) == (3, "unknown")
    _, _, errors = check(*UNCERTAIN[name])
    assert f"Deployment/{AGENT}: unknown: it depends on " in errors
    assert "--live" in errors


def test_allowed_where_nothing_can_govern_what_is_made_anew(finding: Any) -> None:
    made = bound(account="default", kind="ReplicaSet")
    made["metadata"] = {"generateName": "worker-"}
    assert finding(NO_AGENT, made) == (0, "allowed", None)


def test_no_workload_is_nothing_to_refuse(check: Any) -> None:
    code, out, errors = check(READ, OLD)
    assert (code, out) == (0, "")
    assert "no workload" in errors


def test_denied_beats_unknown_and_bad_input_beats_both(check: Any) -> None:
    code, out, errors = check(READ, bound("another"), workload("DaemonSet", "unsure"))
    assert code == 1
    lines = [line.split() for line in out.splitlines()]
    assert [line[1:] for line in lines] == [
        [f"Deployment/{AGENT}", "denied", "binding_mismatch"],
        ["DaemonSet/unsure", "unknown", "state_unavailable"],
    ]
    assert f"Deployment/{AGENT}: binding_mismatch: " in errors
    with pytest.raises(ContractError, match="not_an_object"):
        check(READ, bound("another"), {"kind": CANARY})


def test_modes(check: Any) -> None:
    refused = [READ, bound("another")]
    assert check(*refused)[0] == 1
    assert "judged as enforced: namespace default" in check(*refused)[2]
    assert check(namespace("enforce"), *refused)[0] == 1
    assert "judged as enforced" not in check(namespace("enforce"), *refused)[2]
    # Applying a manifest without the label leaves the label alone.
    assert check(namespace(None), *refused)[0] == 1
    assert check(namespace("audit"), *refused)[0] == 3
    assert check(namespace("audit"), *refused, options=("--mode-any",))[0] == 1


def test_rules_of_a_namespace_are_those_of_its_override(check: Any) -> None:
    rules = policy(["a", "b", "c", "d", "default"])
    objects = [rules, bound(account="default")]
    assert check(*objects)[0] == 1
    assert check(*objects, options=("-n", "a"))[0] == 3


BARE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
BAD = {
    "no object": (1, "not_an_object"),
    "no kind": ({"apiVersion": "v1"}, "not_an_object"),
    "no template": (BARE, "spec: invalid_workload"),
    "a name that is none": (workload(name=CANARY), "metadata.name: invalid_name"),
    "a namespace that is none": (
        workload() | {"metadata": {"name": "a", "namespace": CANARY}},
        "metadata.namespace: invalid_name",
    ),
    "a tool that is none": (
        inventory(tool("read") | {"version": CANARY}),
        "spec.tools[0].version: invalid_semver",
    ),
    "an unknown member": (inventory(tool("read") | {CANARY: "x"}), "spec.tools[0]: unknown_field"),
    "a reserved name": (inventory(name="default"), "metadata.name: reserved_name"),
    "another version": (READ | {"apiVersion": "toolvet.dev/v9"}, "apiVersion: unsupported_version"),
    "a mode that is none": (namespace(CANARY), "metadata.labels: invalid_mode"),
    "a wrong snapshot name": (
        OLD | {"metadata": {"name": f"{AGENT}-0123456789abcdef"}},
        "metadata.name: wrong_name",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_understood_is_bad_input(check: Any, name: str) -> None:
    obj, error = BAD[name]
    with pytest.raises(ContractError) as caught:
        check(obj)
    assert str(caught.value).endswith(error)
    assert CANARY not in str(caught.value)


def test_two_manifests_of_one_object_are_bad_input(check: Any) -> None:
    with pytest.raises(ContractError, match=r"\[1\]\.metadata\.name: duplicate_object$"):
        check(READ, CHANGED)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\na: 2\n", "[0]: duplicate_member"),
        ("a: &x 1\nb: *x\n", "[0]: alias_not_supported"),
        ("a: 1\n---\n{", "[1]: invalid_yaml"),
        ('{"a": 1, "a": 2}', "[0]: duplicate_member"),
        ("!!python/object:os.system {}", "[0]: invalid_yaml"),
    ],
)
def test_text_that_is_no_manifest(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ContractError) as caught:
        app.run(["check", str(path)], program="toolvet")
    assert str(caught.value) == f"{path}{error}"


def test_folders_lists_json_and_standard_input(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    whole = {"apiVersion": "v1", "kind": "List", "items": [READ, bound("another")]}
    (tmp_path / "deep" / "er" / "list.json").write_text(json.dumps(whole))
    typed = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [dict(bound("third"))]}
    del typed["items"][0]["kind"], typed["items"][0]["apiVersion"]
    (tmp_path / "typed.yml").write_text("# nothing\n---\n---\n" + yaml.safe_dump(typed))
    (tmp_path / "notes.txt").write_text(CANARY)
    (tmp_path / ".hidden.yaml").write_text(CANARY)
    given = yaml.safe_dump(workload("StatefulSet", "given"))
    done = run("check", str(tmp_path), "-", "-o", "json", input=given)
    found = json.loads(done.stdout)["workloads"]
    assert done.returncode == 1
    assert [(item["kind"], item["verdict"], Path(item["file"]).name) for item in found] == [
        ("Deployment", "denied", "typed.yml"),
        ("Deployment", "denied", "list.json"),
        ("StatefulSet", "unknown", "(standard input)"),
    ]
    assert [item["document"] for item in found] == [1, 0, 0]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: [str(path)], "no_manifests"),
        (lambda path: [str(path / "nothing")], "unreadable_file"),
        (lambda path: [f"{path}\0"], "unreadable_file"),
        (lambda path: [str(_file(path)), str(_file(path))], "repeated_file"),
    ],
    ids=["an empty folder", "no file", "no path", "twice"],
)
def test_files_that_cannot_be_read(tmp_path: Path, make: Any, error: str) -> None:
    with pytest.raises(ContractError) as caught:
        app.run(["check", *make(tmp_path)], program="toolvet")
    assert caught.value.code == error


def _file(folder: Path) -> Path:
    path = folder / "one.yaml"
    path.write_text(yaml.safe_dump(READ))
    return path


def test_an_unquoted_time_is_read_as_kubectl_reads_it(tmp_path: Path) -> None:
    text = yaml.safe_dump(APPROVAL) + "  expiresAt: 2030-01-31T12:00:00Z\n"
    path = tmp_path / "approval.yaml"
    path.write_text(text)
    assert app.run(["check", str(path)], program="toolvet") == 0


def test_a_thousand_inventories_and_deployments(tmp_path: Path) -> None:
    """Prints the processor time of the whole command; the machine decides how much that is."""
    tools = [tool(f"tool-{number:02}") for number in range(20)]
    path = tmp_path / "all.yaml"
    with path.open("w") as file:
        for number in range(1000):
            name = f"agent-{number}"
            pair = [inventory(*tools, name=name), workload(name=name, account=name)]
            yaml.dump_all(pair, file, Dumper=yaml.CSafeDumper, explicit_start=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "toolvet", "check", str(path), "-o", "json"],
        capture_output=True,
        check=False,
        env=os.environ,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\n{path.stat().st_size / 1e6:.1f} MB of YAML: {spent:.2f} CPU seconds")
    assert done.returncode == 3
    assert json.loads(done.stdout)["counts"] == {"allowed": 0, "denied": 0, "unknown": 1000}

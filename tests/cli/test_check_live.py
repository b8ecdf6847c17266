"""``check --live`` as people run it: what is stored, who may read it, and the mode of the namespace."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.commands import Completed
from controlplane.installation import Installation
from story.team import AGENT, Team, gathered, inventory, tool, workload

BOUND = {"toolvet.dev/inventory": "shared"}


def _check(
    team: Team, folder: Path, *objects: dict[str, Any], as_user: Path, options: tuple[str, ...] = ()
) -> Completed:
    path = folder / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    command = ("check", str(path), "--live", "-n", team.namespace, *options)
    return team.toolvet(*command, as_user=as_user, check=False)


def _verdicts(done: Completed) -> list[tuple[str, str]]:
    return [(line.split()[1], line.split()[2]) for line in done.stdout.splitlines()]


@pytest.fixture
def watcher(product: Installation) -> Path:
    """Reads everything in the cluster, and may exempt from nothing."""
    bed, name = product.bed, product.chart.fullname
    for role in ("view", f"{name}-viewer"):
        command = ("create", "clusterrolebinding", f"watcher-{role}", f"--clusterrole={role}")
        bed.kubectl(*command, "--user=watcher", check=False)  # it is there from the test before
    return bed.kubeconfig("watcher")


def test_files_lie_over_what_is_stored(product: Installation, tmp_path: Path) -> None:
    with gathered(product) as team:
        admin = team.bed.kubeconfig()
        team.publish(tool("read"))
        team.review()
        allowed = _check(team, tmp_path, workload(), as_user=admin)
        assert (allowed.returncode, _verdicts(allowed)) == (0, [(f"Deployment/{AGENT}", "allowed")])
        changed = inventory(tool("read", schema="c"))
        refused = _check(team, tmp_path, workload(), changed, as_user=admin)
        assert (refused.returncode, _verdicts(refused)) == (1, [(f"Deployment/{AGENT}", "denied")])
        assert f"kubectl toolvet capture {AGENT} -n {team.namespace}" in refused.stderr
        # The policy and the age of the guard are the cluster's; who may not read them cannot tell.
        unsure = _check(team, tmp_path, workload(), as_user=team.people.developer)
        assert (unsure.returncode, _verdicts(unsure)) == (3, [(f"Deployment/{AGENT}", "unknown")])
        assert "CatalogPolicy/default" in unsure.stderr
        # A refusal is certain all the same: no policy asks for less than one approval.
        certain = _check(team, tmp_path, workload(), changed, as_user=team.people.developer)
        assert certain.returncode == 1


def test_who_may_not_read_the_inventory_cannot_tell(product: Installation, tmp_path: Path) -> None:
    """Without it nobody knows how the snapshot of the live catalog is named, and whether there is one."""
    bed, name = product.bed, "all-but-inventories"
    resources = ["runtoolcatalogsnapshots", "catalogapprovals", "catalogpolicies"]
    guard = f"{product.chart.fullname}-viewer"
    bed.kubectl("create", "clusterrole", name, "--verb=get,list", f"--resource={','.join(resources)}")
    bed.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--user={name}")
    viewer = json.loads(bed.kubectl("get", "clusterrole", guard, "-o", "json").stdout)
    guards = {"rules": [rule for rule in viewer["rules"] if "resourceNames" in rule]}
    bed.kubectl("create", "clusterrole", f"{name}-guards", "--verb=get", "--resource=namespaces")
    bed.kubectl("patch", "clusterrole", f"{name}-guards", "--type=merge", "-p", json.dumps(guards))
    bed.kubectl(
        "create", "clusterrolebinding", f"{name}-guards", f"--clusterrole={name}-guards", f"--user={name}"
    )
    with gathered(product) as team:
        team.publish(tool("read"), name="shared")
        team.review("shared")
        bound = workload(account="worker", annotations=BOUND)
        assert _check(team, tmp_path, bound, as_user=bed.kubeconfig()).returncode == 0
        done = _check(team, tmp_path, bound, as_user=bed.kubeconfig(name))
        assert (done.returncode, _verdicts(done)) == (3, [(f"Deployment/{AGENT}", "unknown")])
        assert "ToolInventory/shared" in done.stderr


def test_only_enforce_refuses(product: Installation, tmp_path: Path) -> None:
    refused = workload(annotations={"toolvet.dev/inventory": "missing"})
    for mode, code in (("warn", 0), (None, 0), ("enforce", 1)):
        with gathered(product, mode=mode) as team:
            admin = team.bed.kubeconfig()
            done = _check(team, tmp_path, refused, as_user=admin)
            assert done.returncode == code, (mode, done.stderr)
            assert ("inventory_missing: " in done.stderr) is (mode is not None)
            assert _check(team, tmp_path, refused, as_user=admin, options=("--mode-any",)).returncode == 1
            if mode == "enforce":
                labels = {"toolvet.dev/mode": "audit"}
                lower = {"apiVersion": "v1", "kind": "Namespace"}
                lower["metadata"] = {"name": team.namespace, "labels": labels}
                # Whoever applies that needs the verb exempt; without it the namespace stays enforced.
                assert _check(team, tmp_path, refused, lower, as_user=admin).returncode == 3


def test_an_update_that_takes_the_binding_away(product: Installation, watcher: Path, tmp_path: Path) -> None:
    with gathered(product) as team:
        team.publish(tool("read"), name="shared")
        team.review("shared")
        team.apply(workload(account="worker", annotations=BOUND))
        loose = workload(account="worker")
        done = _check(team, tmp_path, loose, as_user=watcher, options=("-o", "json"))
        (found,) = json.loads(done.stdout)["workloads"]
        assert (done.returncode, found["code"]) == (1, "binding_removed")
        assert "binding_removed: " in team.refusal(loose)
        # An engineer holds exempt; another name is a creation and takes nothing away.
        assert _check(team, tmp_path, loose, as_user=team.people.engineer).returncode == 0
        other = workload(account="worker", name="other")
        assert _check(team, tmp_path, other, as_user=watcher).returncode == 0


def test_no_cluster_is_no_permission(gone: Path, product: Installation, tmp_path: Path) -> None:
    with gathered(product, mode=None) as team:
        done = _check(team, tmp_path, workload(), as_user=gone)
        assert (done.returncode, _verdicts(done)) == (3, [(f"Deployment/{AGENT}", "unknown")])


@pytest.fixture
def gone(product: Installation, tmp_path: Path) -> Path:
    """A kubeconfig of a server that is not there."""
    text = product.bed.kubeconfig().read_text()
    path = tmp_path / "nowhere.kubeconfig"
    path.write_text(text.replace(f":{product.bed.port}", ":1"))
    return path

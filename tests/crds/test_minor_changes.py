"""Who may say what is a minor change: the API server itself refuses everybody but the collector's account."""

import json
from pathlib import Path

import pytest

from controlplane.collector import collector
from controlplane.commands import Completed
from crds.api import Resources
from crds.objects import DIGEST, OTHER_DIGEST, inventory, longest_records, record, records
from crds.test_policies import await_right

LISTED = [DIGEST, OTHER_DIGEST]


def listing(*digests: str, tools: list[dict] | None = None) -> dict:
    obj = inventory(*(tools if tools is not None else [record()]))
    obj["spec"]["minorChangeOf"] = list(digests)
    return obj


@pytest.fixture
def observer(resources: Resources) -> Path:
    """The collector of the release, by the name that the chart's rule computes."""
    user = "system:serviceaccount:toolvet-system:toolvet-collector"
    found = collector(resources.bed, "toolvet-system", "toolvet")
    await_right(resources.bed, user, "patch", "toolinventories.toolvet.dev", resources.namespace)
    return found


def apply(
    resources: Resources, obj: dict, as_user: Path | None = None, manager: str = "pipeline"
) -> Completed:
    """Apply server-side, as admin where nobody is named: whoever may do everything is no collector."""
    return resources.bed.kubectl(
        *("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}"),
        *("-n", resources.namespace, "-f", "-"),
        input=json.dumps(obj),
        kubeconfig=as_user or resources.bed.kubeconfig(),
        check=False,
    )


def patch(resources: Resources, change: dict) -> Completed:
    return resources.bed.kubectl(
        *(
            "patch",
            "tvinv",
            "assistant",
            "-n",
            resources.namespace,
            "--type=merge",
            "--patch",
            json.dumps(change),
        ),
        check=False,
    )


def stored(resources: Resources) -> dict:
    shown = resources.bed.kubectl("get", "tvinv", "assistant", "-n", resources.namespace, "--output=json")
    return json.loads(shown.stdout)["spec"]


def test_nobody_else_creates_an_inventory_with_a_list(resources: Resources, observer: Path) -> None:
    told = apply(resources, listing(DIGEST))
    assert told.returncode == 1
    assert "minor_change_of: not_the_collector" in told.stderr
    assert DIGEST not in told.stderr
    assert apply(resources, listing()).returncode == 0  # an empty list says nothing
    assert apply(resources, listing(*LISTED), observer).returncode == 0
    assert stored(resources)["minorChangeOf"] == LISTED


def test_another_collector_is_nobody(resources: Resources) -> None:
    elsewhere = collector(resources.bed, resources.namespace, "toolvet")
    user = f"system:serviceaccount:{resources.namespace}:toolvet-collector"
    await_right(resources.bed, user, "patch", "toolinventories.toolvet.dev", resources.namespace)
    assert "minor_change_of: not_the_collector" in apply(resources, listing(DIGEST), elsewhere).stderr


def test_anybody_takes_it_back_and_nobody_else_adds_to_it(resources: Resources, observer: Path) -> None:
    assert apply(resources, listing(*LISTED), observer).returncode == 0
    for more in ([*LISTED, "sha256:" + "c" * 64], ["sha256:" + "c" * 64]):
        assert (
            "minor_change_of: not_the_collector" in patch(resources, {"spec": {"minorChangeOf": more}}).stderr
        )
    assert patch(resources, {"metadata": {"labels": {"team": "a"}}}).returncode == 0
    assert patch(resources, {"spec": {"minorChangeOf": [OTHER_DIGEST]}}).returncode == 0
    assert patch(resources, {"spec": {"minorChangeOf": LISTED}}).returncode == 1
    assert patch(resources, {"spec": {"minorChangeOf": None}}).returncode == 0
    assert "minorChangeOf" not in stored(resources)


def test_nobody_else_changes_the_tools_beside_it(resources: Resources, observer: Path) -> None:
    assert apply(resources, listing(*LISTED), observer, "collector").returncode == 0
    other = [record(version="2.0.0")]
    # A pipeline that does not know of the list would inherit it: what it leaves out stays another's.
    told = apply(resources, inventory(*other))
    assert told.returncode == 1
    assert "minor_change_of: other_tools" in told.stderr
    assert apply(resources, inventory(record())).returncode == 0
    assert stored(resources)["minorChangeOf"] == LISTED
    assert apply(resources, listing(tools=other)).returncode == 0
    assert stored(resources) == {"tools": other, "minorChangeOf": []}
    assert apply(resources, listing(DIGEST, tools=[record()]), observer, "collector").returncode == 0


@pytest.mark.parametrize("many", [records(1000), longest_records(600)], ids=["1000", "the longest"])
def test_the_rule_fits_the_cost_limit(resources: Resources, observer: Path, many: list[dict]) -> None:
    assert apply(resources, listing(*LISTED, *LISTED, tools=many), observer, "collector").returncode == 0
    assert patch(resources, {"metadata": {"labels": {"team": "a"}}}).returncode == 0
    last = [*many[:-1], {**many[-1], "sideEffectClass": "none"}]
    assert "minor_change_of: other_tools" in apply(resources, inventory(*last)).stderr

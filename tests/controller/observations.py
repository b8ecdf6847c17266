"""What a pass of the controller has seen, built without a cluster, and how a status it wants reads."""

from datetime import UTC, datetime, timedelta

from controller.objects import AGENT, approval, binding, catalog, inventory, snapshot
from toolvet.controller.desired import desired
from toolvet.controller.observed import Observed, stored
from toolvet.kube.kinds import KINDS, workload
from toolvet.kube.resources import approval_from_object as approval_guarded_since
from toolvet.kube.resources import catalog_from_inventory, snapshot_from_object

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
LIVE = catalog(binding("read"), binding("search"))
OTHER = catalog(binding("read", schema="c"), binding("search"))


def approval_from_object(obj):
    """Read an approval made under the policy that checks approvers."""
    return approval_guarded_since(obj, datetime(2020, 1, 1, tzinfo=UTC))


def put(obj, *, uid="uid-of-it", generation=1, status=None, created="2029-01-01T00:00:00Z"):
    """Give an object what the API server gives it."""
    fixed = {"uid": uid, "generation": generation, "resourceVersion": "1", "creationTimestamp": created}
    metadata = {"namespace": "team", **obj["metadata"], **fixed}
    return {**obj, "metadata": metadata, "status": status or {}}


def state(
    live=LIVE, *, snapshots=(LIVE,), approvals=None, workloads=(), status=None, generation=1, **settings
) -> Observed:
    taken = [put(snapshot(found)) for found in snapshots]
    given = (
        [approval(item, name=f"yes-{i}") for i, item in enumerate(taken)] if approvals is None else approvals
    )
    found = None
    if live is not None:
        found = stored(put(inventory(live), generation=generation, status=status), catalog_from_inventory)
    return Observed(
        namespace="team",
        name=AGENT,
        inventory=found,
        snapshots=[stored(item, snapshot_from_object) for item in taken],
        approvals=[stored(put(item, uid=f"uid-{i}"), approval_from_object) for i, item in enumerate(given)],
        workloads=[
            stored(put(item, uid=f"w-{i}"), lambda obj: workload(KINDS[0], obj))
            for i, item in enumerate(workloads)
        ],
        **settings,
    )


def conditions(status):
    return {item["type"]: (item["status"], item["reason"]) for item in status["conditions"]}


def only(statuses):
    (status,) = statuses.values()
    return status


def settled(found: Observed, **more) -> Observed:
    """Return the same state once a pass has written what it wanted."""
    status = desired(found, NOW - timedelta(hours=1)).inventory
    return state(status=status, **more)


def observed_before(generation=1, found=OTHER):
    return desired(state(found, generation=generation), NOW - timedelta(hours=1)).inventory

"""A workload that is allowed, and its decision with one fact changed."""

from core.build import NOW, approval, binding, catalog, snapshot, workload
from toolvet.core.decision import Decision, decide
from toolvet.core.policy import BUILT_IN

LIVE = catalog(binding("search"), binding("export"))
CHANGED = catalog(binding("search", schema="other"), binding("export"))
REVIEWED = snapshot("assistant", LIVE)
ALICE, BOB = approval(REVIEWED, "alice"), approval(REVIEWED, "bob")


def judged(new=None, **given) -> Decision:
    """Decide the creation of a workload that is allowed, with one thing changed."""
    facts = {
        "policies": BUILT_IN,
        "live": {"assistant": LIVE},
        "snapshots": {REVIEWED.name: REVIEWED},
        "approvals": (ALICE,),
        "old": None,
        "new": new or workload(),
        "now": NOW,
        "namespace": "team-a",
        **given,
    }
    return decide(**facts)


BOUND_BY_ANNOTATION = workload("web", inventory="assistant")
UNBOUND = workload("web", template={"image": "two"})

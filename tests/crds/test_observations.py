"""Until when an observation counts: the API server itself lets nobody but the collector's account say it."""

import json

from crds.objects import inventory, record
from crds.test_minor_changes import apply, observer, patch

__all__ = ["observer"]
END, LATER = "2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"
REFUSED = "metadata.annotations: not_the_collector"


def observed(until: str | None, *tools: dict) -> dict:
    obj = inventory(*(tools or (record(),)))
    ends = {} if until is None else {"toolvet.dev/observed-until": until}
    obj["metadata"]["annotations"] = {"toolvet.dev/source": "files", **ends}
    return obj


def annotate(resources, until: str | None):
    return patch(resources, {"metadata": {"annotations": {"toolvet.dev/observed-until": until}}})


def test_nobody_else_says_or_moves_it(resources, observer) -> None:
    told = apply(resources, observed(END))
    assert told.returncode == 1
    assert REFUSED in told.stderr
    assert END not in told.stderr
    assert apply(resources, observed(None)).returncode == 0, "handed over, and nothing observed yet"
    assert REFUSED in annotate(resources, END).stderr
    assert apply(resources, observed(END), observer, "collector").returncode == 0
    assert REFUSED in annotate(resources, LATER).stderr


def test_what_leaves_it_alone_or_takes_it_back_passes(resources, observer) -> None:
    assert apply(resources, observed(END), observer, "collector").returncode == 0
    assert patch(resources, {"metadata": {"labels": {"team": "a"}}}).returncode == 0
    assert apply(resources, inventory(record(version="2.0.0"))).returncode == 0
    shown = resources.bed.kubectl("get", "tvinv", "assistant", "-n", resources.namespace, "--output=json")
    assert json.loads(shown.stdout)["metadata"]["annotations"]["toolvet.dev/observed-until"] == END
    assert annotate(resources, None).returncode == 0
    assert REFUSED in annotate(resources, END).stderr

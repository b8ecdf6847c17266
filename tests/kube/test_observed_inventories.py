"""An inventory that a live server's source feeds, as the gate and a check before it take it."""

from datetime import timedelta

import pytest

from core.build import NOW, workload
from kube.scripted import INVENTORY, LIVE, NAMESPACE, inventory, judged, server
from toolvet.core.reasons import Reason
from toolvet.kube.certainty import Certainty, Judge
from toolvet.kube.client import ApiError
from toolvet.kube.declared import declare
from toolvet.kube.stored import Nowhere

SECOND = timedelta(seconds=1)
SOURCE, UNTIL = "toolvet.dev/source", "toolvet.dev/observed-until"
EXPIRED = Reason.OBSERVATION_EXPIRED


def annotated(**annotations):
    names = {"source": SOURCE, "until": UNTIL}
    obj = inventory(of=LIVE)
    given = {names[key]: value for key, value in annotations.items()}
    obj["metadata"]["annotations"] = {"example.org/other": "x", **given}
    return obj


def until(seconds):
    return (NOW + seconds * SECOND).isoformat()


STORED = [
    (annotated(), None),
    (annotated(until=until(-1)), None),
    (annotated(source="files", until=until(1)), None),
    (annotated(source="files", until=until(0)), EXPIRED),
    (annotated(source="files", until="2029-01-01T00:00:00Z"), EXPIRED),
    (annotated(source="files", until="2099-01-01T00:00:00"), EXPIRED),
    (annotated(source="files", until="tomorrow"), EXPIRED),
    (annotated(source="files"), EXPIRED),
    (annotated(source="", until=""), EXPIRED),
]
"""Stored inventories, and what the gate refuses with."""


@pytest.mark.parametrize(("obj", "reason"), STORED)
async def test_the_gate_refuses_what_was_not_observed_in_time(obj, reason) -> None:
    api = server(objects={(INVENTORY, "assistant"): obj})
    decision = await judged(api, workload())
    assert decision.reason is reason
    assert api.asked.total() == 6, "the read plan is the same"


async def checked(stored, *declared):
    documents = [("file", index, obj) for index, obj in enumerate(declared)]
    return await Judge(declare(documents, NAMESPACE), stored, NOW).rollout(NAMESPACE, workload())


@pytest.mark.parametrize(("obj", "reason"), STORED)
@pytest.mark.parametrize("manifest", [(), (annotated(until=until(99)),)], ids=["stored", "declared too"])
async def test_a_check_says_what_the_gate_would(obj, reason, manifest) -> None:
    """A manifest that names no source leaves the stored annotations alone, and cannot say that it looked."""
    found = await checked(server(objects={(INVENTORY, "assistant"): obj}), *manifest)
    expected = Certainty.ALLOWED if reason is None else Certainty.DENIED
    assert (found.certainty, found.decision.reason) == (expected, reason)


async def test_a_manifest_that_names_a_source_waits_for_its_look() -> None:
    manifest = annotated(source="files", until=until(99))
    never = server(objects={(INVENTORY, "assistant"): None})
    found = await checked(never, manifest)
    assert (found.certainty, found.decision.reason) == (Certainty.DENIED, EXPIRED)


@pytest.mark.parametrize("refused", [ApiError(403, "Forbidden"), ApiError(0, "Timeout")])
async def test_what_cannot_be_read_may_be_of_a_source(refused) -> None:
    objects = {(INVENTORY, "assistant"): refused}
    found = await checked(server(objects=objects), inventory())
    assert (found.certainty, found.decision.reason) == (Certainty.UNKNOWN, Reason.STATE_UNAVAILABLE)
    assert found.missing == ("the stored ToolInventory/assistant",)
    # Refused in any case, and not for that.
    found = await checked(server(objects=objects, approvals={"items": []}), inventory())
    assert (found.certainty, found.decision.reason) == (Certainty.DENIED, Reason.NOT_APPROVED)


async def test_without_a_cluster_a_source_may_have_looked() -> None:
    found = await checked(Nowhere(), annotated(source="files"))
    assert found.certainty is Certainty.UNKNOWN
    assert "the stored ToolInventory/assistant" in found.missing
    assert "the stored ToolInventory/assistant" not in (await checked(Nowhere(), inventory())).missing

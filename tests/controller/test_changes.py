"""What changed since the generation seen before, and the history that remembers it."""

from datetime import timedelta

import pytest

from controller.objects import AGENT, binding, catalog, inventory
from controller.observations import LIVE, NOW, OTHER, observed_before, put, state
from toolvet.controller.desired import desired
from toolvet.controller.history import (
    MAX_BYTES,
    MAX_REVISIONS,
    newest_before,
    revision,
    revision_name,
    superfluous,
)
from toolvet.controller.observed import Previous, stored
from toolvet.core.errors import ContractError
from toolvet.kube.resources import catalog_from_inventory
from toolvet.kube.revisions import pack, unpack


def test_a_new_generation_is_compared_with_the_one_seen_before():
    found = state(LIVE, generation=4, status=observed_before(), previous=Previous(1, OTHER))
    change = desired(found, NOW).inventory["lastChange"]
    assert (change["observedGeneration"], change["previousGeneration"]) == (4, 1)
    assert (change["changed"], change["unchanged"], change["time"]) == (1, 1, "2030-01-01T12:00:00Z")
    assert change["entries"][0]["fields"] == ["schema_digest"]


def test_without_history_the_gap_is_shown_and_no_count_is_invented():
    change = desired(state(LIVE, generation=4, status=observed_before()), NOW).inventory["lastChange"]
    assert (change["previousGeneration"], change["previousCatalogDigest"]) == (1, OTHER.digest)
    assert not {"added", "removed", "changed", "unchanged", "entries"} & change.keys()


def test_an_equal_catalog_is_no_change_and_the_last_one_stays():
    changed = desired(
        state(LIVE, generation=2, status=observed_before(), previous=Previous(1, OTHER)), NOW
    ).inventory
    later = state(LIVE, generation=3, status=changed, previous=Previous(2, LIVE))
    wanted = desired(later, NOW + timedelta(hours=1))
    assert wanted.change is None
    assert wanted.inventory["lastChange"] == changed["lastChange"]


def test_the_first_sight_is_a_baseline():
    assert desired(state(), NOW).change is None


def test_history_packs_and_bounds():
    big = catalog(*(binding(f"tool-{n}", schema=n + 1, implementation=n + 9) for n in range(1000)))
    packed = pack(big)
    assert unpack(packed).digest == big.digest
    assert len(packed["tools"]) < MAX_BYTES / 2
    for damaged in (
        None,
        {},
        {"encoding": "x"},
        {**packed, "tools": "?"},
        {**packed, "tools": packed["tools"][:400]},
    ):
        with pytest.raises(ContractError, match=r"^data: unreadable$"):
            unpack(damaged)
    found = stored(put(inventory(LIVE), generation=7), catalog_from_inventory)
    whole = revision(found, LIVE)
    assert whole["metadata"]["ownerReferences"][0]["uid"] == "uid-of-it"
    assert whole["metadata"]["name"] == f"{AGENT}-uid-of-i-7"
    assert len(revision_name("a" * 236, "12345678-x", 2**62)) <= 253

    def kept(generation, data):
        return {"metadata": {"name": f"r-{generation}"}, "revision": generation, "data": data}

    small = pack(LIVE)
    assert superfluous([kept(n, small) for n in range(1, 13)]) == ["r-2", "r-1"]
    assert MAX_REVISIONS == 10
    huge = {"tools": "x" * (MAX_BYTES // 2 + 1)}
    assert superfluous([kept(1, huge), kept(2, huge)]) == ["r-1"]
    assert superfluous([kept(1, {"tools": "x" * (MAX_BYTES + 1)})]) == []  # the newest is always kept
    revisions = [kept(1, small), kept(3, pack(OTHER)), kept(2, {"broken": 1}), kept(5, small)]
    assert newest_before(revisions, 5) == Previous(3, OTHER)
    assert newest_before(revisions, 3) == Previous(1, LIVE)  # 2 cannot be read
    assert newest_before(revisions, 1) is None

"""Equal digests, no difference and no reason are one thing, over random catalogs; no result has an order."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

from core.build import (
    KEYS,
    OTHER_RUN,
    RUN,
    binding,
    catalog,
    digest,
    random_binding,
    random_catalog,
    seeded,
    snapshot,
)
from toolvet.core.binding import Catalog, RunToolCatalogSnapshot, ToolBinding
from toolvet.core.differences import count, differences, reasons
from toolvet.core.reasons import Reason
from toolvet.core.side_effect import SideEffectClass

PAIRS = 10_000


def _mutations(random: Random, one: ToolBinding) -> tuple[ToolBinding, Reason]:
    """Change one field of one binding, to a value it does not have."""
    tool = one.tool
    classes = [member for member in SideEffectClass if member is not tool.side_effect_class]
    return random.choice(
        [
            (
                replace(one, tool=replace(tool, capability_class="capability:a.b/new")),
                Reason.CAPABILITY_CHANGED,
            ),
            (
                replace(one, tool=replace(tool, side_effect_class=random.choice(classes))),
                Reason.SIDE_EFFECT_CHANGED,
            ),
            (replace(one, tool=replace(tool, schema_digest=digest("new"))), Reason.SCHEMA_CHANGED),
            (replace(one, implementation_id=digest("new")), Reason.IMPLEMENTATION_CHANGED),
        ]
    )  # fmt: skip


def _mutated(random: Random, one: Catalog) -> Catalog:
    if not one.bindings:
        return one
    place = random.randrange(len(one.bindings))
    changed, _ = _mutations(random, one.bindings[place])
    return Catalog(tuple(changed if i == place else b for i, b in enumerate(one.bindings)))


def _agree(one: Catalog, two: Catalog) -> bool:
    """Whether two catalogs are equal, after every way of telling has told the same."""
    found = differences(one, two)
    equal = one.digest == two.digest
    assert equal is (not found)
    assert equal is (not reasons(found))
    assert equal is (set(one.bindings) == set(two.bindings))
    assert equal is (snapshot("assistant", one).evidence.digest == snapshot("assistant", two).evidence.digest)
    assert found == tuple(sorted(found, key=lambda item: (item.tool_id, _numbers(item.version))))
    return equal


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_equal_digests_no_difference_and_no_reason_are_the_same_thing() -> None:
    random = seeded(1)
    equal = 0
    for _ in range(PAIRS):
        one = random_catalog(random, KEYS)
        # Of two independent catalogs hardly any are equal; both sides of the law are to be met.
        two = random.choice([one, random_catalog(random, KEYS), _mutated(random, one)])
        same = _agree(one, two)
        equal += same
        assert same is _agree(two, one)
        shuffled = list(one.bindings)
        random.shuffle(shuffled)
        assert _agree(one, Catalog(tuple(shuffled)))
    assert PAIRS // 4 < equal < PAIRS // 2


def test_one_changed_field_is_one_code_of_one_tool() -> None:
    random = seeded(2)
    met = set()
    for _ in range(PAIRS):
        before = Catalog(tuple(random_binding(random, *key) for key in KEYS[: random.randint(1, len(KEYS))]))
        place = random.randrange(len(before.bindings))
        changed, code = _mutations(random, before.bindings[place])
        after = Catalog(tuple(changed if i == place else b for i, b in enumerate(before.bindings)))
        assert not _agree(before, after)
        (found,) = differences(before, after)
        assert (found.tool_id, found.version, found.codes) == (*changed.key, (code,))
        assert reasons([found]) == (code,)
        met.add(code)
    assert len(met) == 4


def test_adding_and_removing_a_tool_are_each_others_mirror() -> None:
    random = seeded(3)
    for _ in range(1_000):
        full = Catalog(tuple(random_binding(random, *key) for key in KEYS))
        place = random.randrange(len(KEYS))
        less = Catalog(tuple(b for i, b in enumerate(full.bindings) if i != place))
        key = full.bindings[place].key
        (added,) = differences(less, full)
        (removed,) = differences(full, less)
        assert (added.tool_id, added.version, added.codes) == (*key, (Reason.TOOL_ADDED,))
        assert (removed.tool_id, removed.version, removed.codes) == (*key, (Reason.TOOL_UNAVAILABLE,))
        assert (count([added]).added, count([removed]).removed) == (1, 1)


def test_a_schema_change_masks_the_class_in_the_reasons_and_not_in_the_findings() -> None:
    before = catalog(binding("a"), binding("b"))
    both = binding("a", schema="new", side_effect=SideEffectClass.DESTRUCTIVE)
    found = differences(before, catalog(both, binding("b")))
    assert [item.codes for item in found] == [(Reason.SCHEMA_CHANGED, Reason.SIDE_EFFECT_CHANGED)]
    assert reasons(found) == (Reason.SCHEMA_CHANGED,)
    also = differences(before, catalog(both, binding("b", side_effect=SideEffectClass.DESTRUCTIVE)))
    assert reasons(also) == (Reason.SCHEMA_CHANGED, Reason.SIDE_EFFECT_CHANGED)  # of two tools


def test_the_snapshot_digest_holds_the_run_and_the_catalog_digest_does_not() -> None:
    one, two = (snapshot("assistant", catalog(), run=run) for run in (RUN, OTHER_RUN))
    assert one.evidence.digest != two.evidence.digest
    assert one.catalog.digest == two.catalog.digest
    assert RunToolCatalogSnapshot.from_dict(one.evidence.to_dict()).digest == one.evidence.digest


_PRINTED = """
from core.build import KEYS, NOW, approval, random_catalog, seeded, snapshot, workload
from toolvet.core.decision import decide
from toolvet.core.denial import denial_text
from toolvet.core.differences import differences, reasons
from toolvet.core.policy import BUILT_IN
random = seeded(4)
one, two = random_catalog(random, KEYS), random_catalog(random, KEYS)
held = snapshot("assistant", one)
given = [approval(held, by, revoked=by == "bob") for by in ("bob", "carol", "alice", "dave")]
print(one.digest, one.inventory_digest, held.evidence.digest, held.evidence.to_json())
print(differences(one, two), reasons(differences(one, two)))
facts = BUILT_IN, {"assistant": two}, {held.name: held}, given, None, workload(snapshot=held.name), NOW
refused = decide(*facts, namespace="team-a")
print(refused, denial_text(refused, "team-a"))
print(decide(BUILT_IN, {"assistant": one}, *facts[2:], namespace="team-a"))
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    root = Path(__file__).parents[2]
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINTED],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root / 'operator'}:{root / 'tests'}"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "2", "4242")
    }
    assert len(printed) == 1
    assert printed.pop().count("sha256:") > 10

"""The text of a refusal: short, free of content, and of use to the one who reads it."""

import re
from dataclasses import replace
from random import Random

import pytest

from core.build import (
    LONGEST_NAMESPACE,
    LONGEST_VERSION,
    NOW,
    approval,
    binding,
    catalog,
    random_catalog,
    seeded,
    snapshot,
    workload,
)
from toolvet.core.approval import Tally, snapshot_name
from toolvet.core.binding import Catalog
from toolvet.core.decision import Decision, Verdict, decide
from toolvet.core.denial import MAX_TEXT_BYTES, denial_text, refusal_text, short_digest
from toolvet.core.differences import DIFFERENCE_CODES, ToolDifference, differences
from toolvet.core.policy import BUILT_IN
from toolvet.core.reasons import EXPLANATIONS, Reason

LONGEST_NAME = "n" * 253
LONGEST_TEAM = "t" * 63
CANARY = "canary"
MANY = [(f"t{index:04d}", "1.0.0") for index in range(2_000)]


def test_every_reason_is_explained() -> None:
    assert set(EXPLANATIONS) == set(Reason)
    for explanation in EXPLANATIONS.values():
        assert explanation.meaning
        assert explanation.remedy
    for reason in Reason:
        # Also a legal reason of a Kubernetes condition.
        assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", reason)
        assert refusal_text(reason).startswith(f"{reason}: ")
        assert len(refusal_text(reason).encode()) <= MAX_TEXT_BYTES


def longest(reason: Reason, found: int) -> Decision:
    return Decision(
        Verdict.DENIED,
        reason,
        inventory=LONGEST_NAME,
        live_digest="sha256:" + "a" * 64,
        snapshot=LONGEST_NAME,
        snapshot_exists=bool(found % 2),
        approvals=Tally(10, 9, ("a" * 253,) * 64, 64, 64),
        baseline=LONGEST_NAME,
        differences=tuple(
            ToolDifference(
                f"tool:{LONGEST_NAMESPACE}/t{index:063d}", LONGEST_VERSION, tuple(DIFFERENCE_CODES[2:])
            )
            for index in range(found)
        ),
        misplaced=("toolvet.dev/inventory", "toolvet.dev/snapshot"),
    )


@pytest.mark.parametrize("found", [0, 1, 8, 9, 1_000])
@pytest.mark.parametrize("reason", list(Reason))
def test_the_longest_names_fit(reason, found) -> None:
    text = denial_text(longest(reason, found), LONGEST_TEAM)
    assert len(text.encode()) <= MAX_TEXT_BYTES
    lines = text.splitlines()
    assert lines[0].startswith(f"{reason}: ")
    assert lines[-1].startswith(("review: kubectl toolvet ", "to do: "))
    if found:
        assert f"since {LONGEST_NAME}: " in text


def vocabulary(decision: Decision, names: set[str]) -> set[str]:
    """Every word a text may have: our own, and the names, ids and digests it was given."""
    known = set(names) | {f"{decision.reason}:", "inventory", "live", "catalog", "since", "and", "more"}
    known |= {"review:", "to", "do:", "kubectl", "toolvet", "capture", "approve", "-n", "&&", "of"}
    known |= {"added", "added,", "removed", "removed,", "changed"}
    for reason, explanation in EXPLANATIONS.items():
        known |= {str(reason), f"{reason},", *f"{explanation.meaning} {explanation.remedy}".split()}
    return {word.strip(",:()") for word in known}


def random_refusal(random: Random) -> tuple[Decision, set[str]]:
    keys = random.sample(MANY, random.choice([0, 1, 3, 10, 10, 20, 20, 1_000]))
    live, reviewed = random_catalog(random, keys), random_catalog(random, keys)
    name = random.choice(["assistant", LONGEST_NAME[:236]])
    held = snapshot(name, reviewed)
    pin = random.choice([None, held.name])
    wanted = pin or snapshot_name(name, live.digest)
    approvals = [
        replace(approval(held, f"{CANARY}-{index}", f"{CANARY}-{index}"), revoked=random.random() < 0.2)
        for index in range(random.randrange(3))
    ]
    new = workload(
        name,
        name=f"{CANARY}-workload",
        snapshot=pin,
        inventory=random.choice([None, None, "other"]),
        misplaced=random.choice([(), (), ("toolvet.dev/inventory",)]),
        template={"env": CANARY, "image": CANARY},
    )
    decision = decide(
        BUILT_IN,
        {name: random.choice([live, live, live, reviewed])},
        random.choice([{wanted: None, held.name: held}, {held.name: held}, {}]),
        approvals,
        None,
        new,
        NOW,
        namespace="team-a",
        baseline=random.choice([None, held.name]),
    )
    tools = {word for item in decision.differences for word in (item.tool_id, item.version)}
    digest = decision.live_digest
    return decision, tools | {name, held.name, wanted, "team-a", short_digest(digest) if digest else name}


def test_random_refusals_say_nothing_but_names_and_codes() -> None:
    random = seeded(5)
    reasons = set()
    for _ in range(500):
        decision, names = random_refusal(random)
        if decision.allowed:
            continue
        reasons.add(decision.reason)
        text = denial_text(decision, "team-a")
        assert len(text.encode()) <= MAX_TEXT_BYTES
        assert CANARY not in text
        known = vocabulary(decision, names)
        words = [word for word in (word.strip(",:()") for word in text.split()) if word]
        assert [word for word in words if word not in known and not word.isdecimal()] == []
    assert len(reasons) > 5


def test_a_thousand_differences_are_counted_and_the_first_are_shown() -> None:
    reviewed = catalog(*(binding(f"t{index:04d}") for index in range(1_000)))
    live = Catalog(tuple(binding(f"t{index:04d}", schema="new") for index in range(1_000)))
    held, wanted = snapshot("assistant", reviewed), snapshot_name("assistant", live.digest)
    snapshots = {wanted: None, held.name: held}
    facts = BUILT_IN, {"assistant": live}, snapshots, (), None, workload(), NOW
    decision = decide(*facts, namespace="team-a", baseline=held.name)
    assert len(decision.differences) == 1_000
    lines = denial_text(decision, "team-a").splitlines()
    assert lines[0] == (
        f"not_approved: inventory assistant, live catalog {short_digest(live.digest)}: "
        "no snapshot of the live catalog has enough valid approvals"
    )
    assert lines[1] == f"since {held.name}: 0 added, 0 removed, 1000 changed"
    assert lines[2:10] == [f"  tool:org.example/t{i:04d} 1.0.0: schema_changed" for i in range(8)]
    assert lines[10] == "  and 992 more"
    command = f"kubectl toolvet capture assistant -n team-a && kubectl toolvet approve {wanted} -n team-a"
    assert lines[11:] == [f"review: {command}"]


def command(reviewed: Catalog, live: Catalog, pin: str | None = None, *, captured: bool = True) -> str:
    held = snapshot("assistant", reviewed)
    found = {held.name: held if captured else None}
    wanted = pin or snapshot_name("assistant", live.digest)
    snapshots = {wanted: None, **found}
    new = workload(snapshot=pin)
    decision = decide(BUILT_IN, {"assistant": live}, snapshots, (), None, new, NOW, namespace="team-a")
    return denial_text(decision, "team-a").splitlines()[-1]


def test_the_command_is_the_one_that_is_left_to_do() -> None:
    live, other = catalog(), catalog(binding("other"))
    current, pinned = snapshot_name("assistant", live.digest), snapshot_name("assistant", other.digest)
    capture, approve = (
        "kubectl toolvet capture assistant -n team-a",
        f"kubectl toolvet approve {current} -n team-a",
    )
    assert command(live, live) == f"review: {approve}"
    assert command(live, live, captured=False) == f"review: {capture} && {approve}"
    assert command(other, live) == f"review: {capture} && {approve}"
    assert command(other, live, pinned) == f"review: {capture}"
    assert command(other, live, pinned, captured=False) == f"review: {capture}"


def test_differences_of_a_refusal_are_those_of_the_catalogs() -> None:
    random = seeded(6)
    for _ in range(100):
        decision, _ = random_refusal(random)
        if decision.differences:
            assert {code for item in decision.differences for code in item.codes} <= set(DIFFERENCE_CODES)
            assert decision.baseline is not None
    assert differences(catalog(), catalog()) == ()

"""Run events, summaries and diffs: their laws, and errors that name every place and no value."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import count, repeat
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolvet.core.errors import ContractError, OutcomeError, RunDiffError, RunSummaryError
from toolvet.core.outcome import OUTCOME_NAMES, OutcomeClass, WorkflowOutcome, allowed_reason_codes
from toolvet.core.run_diff import RunSummaryDiff, diff_run_summaries
from toolvet.core.run_event import RunEvent, parse_events
from toolvet.core.run_summary import RunSummary

CANARY = "canary-7f3a"
DIGESTS = ["sha256:" + character * 64 for character in "0123456789abcdef"]
DONE = WorkflowOutcome(OutcomeClass.SUCCESS, "completed")
ZERO = dict.fromkeys(OUTCOME_NAMES, 0)
EMPTY = {"workflow_ids": [], "outcome_counts": ZERO, "tool_call_count": 0, "duration_seconds": 0.0}
EMPTY |= {"artifact_digests": [], "schema_version": "openmed.agent.run_summary.v1"}
NO_CHANGE = {
    "workflow_ids_added": (),
    "workflow_ids_removed": (),
    "outcome_count_deltas": ZERO,
    "tool_call_count_delta": 0,
    "duration_seconds_delta": 0.0,
    "artifact_digests_added": (),
    "artifact_digests_removed": (),
}

outcomes = st.sampled_from(OutcomeClass).flatmap(
    lambda kind: st.sampled_from(sorted(allowed_reason_codes(kind))).map(
        lambda reason: WorkflowOutcome(kind, reason)
    )
)
seconds = st.floats(0, 3_000_000, width=64) | st.sampled_from([-0.0, 0.1, 0.2, 5e-324]) | st.integers(0, 9)
events = st.builds(
    RunEvent,
    workflow_id=st.from_regex(r"\A[A-Za-z0-9]([a-z0-9_.-]{0,5}[A-Za-z0-9])?\Z"),
    outcome=outcomes,
    tool_call_count=st.integers(0, 500_000),
    duration_seconds=seconds,
    artifact_digests=st.lists(st.sampled_from(DIGESTS), unique=True, max_size=4),
)
runs = st.lists(events, max_size=8)
summaries = runs.map(RunSummary.from_events)


def sign(number: float) -> float:
    return math.copysign(1, number)


# Laws


@given(summaries, summaries)
@example(RunSummary.from_dict(EMPTY | {"duration_seconds": -0.0}), RunSummary.from_dict(EMPTY))
def test_swapping_the_inputs_of_a_diff_negates_it(before, after):
    forward, back = (diff_run_summaries(*pair) for pair in ((before, after), (after, before)))
    assert forward.changed is back.changed
    assert forward.duration_seconds_delta == -back.duration_seconds_delta
    assert forward.tool_call_count_delta == -back.tool_call_count_delta
    assert dict(forward.outcome_count_deltas) == {n: -d for n, d in back.outcome_count_deltas.items()}
    for name in ("workflow_ids", "artifact_digests"):
        assert getattr(forward, f"{name}_added") == getattr(back, f"{name}_removed")
        assert getattr(forward, f"{name}_removed") == getattr(back, f"{name}_added")
    for diff in (forward, back):
        assert diff.duration_seconds_delta != 0 or sign(diff.duration_seconds_delta) == 1


@given(summaries, summaries)
def test_a_diff_says_what_makes_the_second_of_the_first(before, after):
    diff = diff_run_summaries(before, after)
    for name in ("workflow_ids", "artifact_digests"):
        kept = set(getattr(before, name)) - set(getattr(diff, f"{name}_removed"))
        assert sorted(kept | set(getattr(diff, f"{name}_added"))) == list(getattr(after, name))
        assert kept.isdisjoint(getattr(diff, f"{name}_added"))
    assert before.tool_call_count + diff.tool_call_count_delta == after.tool_call_count
    assert {n: c + diff.outcome_count_deltas[n] for n, c in before.outcome_counts.items()} == (
        after.outcome_counts
    )
    assert diff.changed is (before != after)
    assert f"Changed: {'yes' if before != after else 'no'}" in diff.to_markdown().splitlines()


@given(summaries)
def test_a_summary_does_not_differ_from_itself(summary):
    diff = diff_run_summaries(summary, summary)
    assert not diff.changed
    assert diff == RunSummaryDiff(**NO_CHANGE)


@given(runs.flatmap(lambda listed: st.tuples(st.just(listed), st.permutations(listed))))
def test_the_order_of_events_does_not_matter(both):
    one, other = (RunSummary.from_events(listed) for listed in both)
    assert one.to_json() == other.to_json()
    assert one.commitment == other.commitment


@given(runs)
def test_a_summary_adds_up_exactly(listed):
    summary = RunSummary.from_events(iter(listed))
    total = sum((Fraction(event.duration_seconds) for event in listed), Fraction(0))
    assert summary.duration_seconds == float(total)
    assert sign(summary.duration_seconds) == 1  # on every interpreter, of nothing but negative zeros, too
    assert summary.tool_call_count == sum(event.tool_call_count for event in listed)
    assert sum(summary.outcome_counts.values()) == len(listed)
    for name, number in summary.outcome_counts.items():
        assert number == sum(event.outcome.outcome_class == name for event in listed)
    assert set(summary.workflow_ids) == {event.workflow_id for event in listed}
    assert set(summary.artifact_digests) == {d for event in listed for d in event.artifact_digests}


def _plain(value):
    if isinstance(value, MappingProxyType):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def test_a_summary_keeps_the_sign_of_a_zero_that_it_is_given():
    summary = RunSummary.from_dict(EMPTY | {"duration_seconds": -0.0})
    assert '"duration_seconds":-0.0,' in summary.to_json()
    assert "| Duration (seconds) | -0 |" in summary.to_markdown()
    assert sign(RunEvent("a", DONE, duration_seconds=-0.0).duration_seconds) == -1


@given(summaries)
@example(RunSummary.from_dict(EMPTY | {"duration_seconds": -0.0}))
def test_a_written_summary_is_read_as_the_same(summary):
    text = summary.to_json()
    assert summary.to_dict() == {name: _plain(getattr(summary, name)) for name in RunSummary.__slots__}
    assert f'"duration_seconds":{summary.duration_seconds!r},' in text
    for form in (text, text.encode(), b"\xef\xbb\xbf" + text.encode(), bytearray(text, "utf-16")):
        assert RunSummary.from_json(form).to_json() == text
    assert RunSummary.from_dict(summary.to_dict()).to_json() == text
    assert json.loads(text) == summary.to_dict()
    assert text == json.dumps(summary.to_dict(), sort_keys=True, separators=(",", ":"))


@given(outcomes)
def test_a_written_outcome_is_read_as_the_same(outcome):
    for form in (outcome.to_json(), outcome.to_json().encode()):
        assert WorkflowOutcome.from_json(form) == outcome
    unversioned = {name: value for name, value in outcome.to_dict().items() if name != "schema_version"}
    assert WorkflowOutcome.from_dict(MappingProxyType(unversioned)) == outcome


@given(events)
def test_an_event_is_parsed_from_the_mapping_of_its_fields(event):
    fields = {name: getattr(event, name) for name in RunEvent.__slots__}
    assert RunEvent.from_dict(fields | {"outcome": event.outcome.to_dict()}) == event
    assert parse_events([fields | {"outcome": event.outcome.to_dict()}]) == [event]


def test_what_is_checked_cannot_be_changed_afterwards():
    counts = dict(ZERO)
    summary = RunSummary.from_dict(EMPTY | {"outcome_counts": counts})
    diff = RunSummaryDiff(**NO_CHANGE | {"outcome_count_deltas": counts})
    counts["success"] = 5
    assert summary.outcome_counts["success"] == diff.outcome_count_deltas["success"] == 0
    for mapping in (summary.outcome_counts, diff.outcome_count_deltas):
        with pytest.raises(TypeError):
            mapping["success"] = 5
    document = summary.to_dict()
    document["outcome_counts"]["success"] = 5
    assert summary.outcome_counts["success"] == 0


def test_the_seed_example_holds():
    before = RunSummary.from_events([RunEvent(workflow_id="intake", outcome=DONE, tool_call_count=3)])
    timeout = WorkflowOutcome(OutcomeClass.FAILED, "timeout")
    after = RunSummary.from_events(
        [RunEvent(workflow_id="intake", outcome=timeout, tool_call_count=5, duration_seconds=4.0)]
    )
    diff = diff_run_summaries(before, after)
    assert diff.changed
    assert diff.outcome_count_deltas["failed"] == diff.outcome_count_deltas[OutcomeClass.FAILED] == 1
    assert diff.tool_call_count_delta == 2


# Errors


def faults(error):
    return [str(fault) for fault in error.faults]


def caught(make):
    """The error of a call, free of every value; None where there is none."""
    error = None
    try:
        make()
    except ContractError as found:
        error = found
    if error is None:
        return None
    assert error.__cause__ is None
    assert error.__context__ is None
    for each in (error, *error.faults):
        assert type(each.code) is type(each.field) is str
        assert CANARY not in f"{each} {each!r} {each.args} {each.__dict__}"
    for fault in error.faults:
        assert fault.__traceback__ is None
        assert fault.__context__ is None
    assert len(error.faults) <= 16
    return error


def refused(make):
    error = caught(make)
    assert error is not None
    return error


def test_every_fault_of_a_summary_is_named_and_the_first_one_is_the_text():
    document = {
        "schema_version": CANARY,
        "workflow_ids": ["a", "-" + CANARY, "b", 5],
        "outcome_counts": ZERO | {"failed": -1, "success": CANARY},
        "tool_call_count": True,
        "duration_seconds": math.nan,
        "artifact_digests": [DIGESTS[1], DIGESTS[0], DIGESTS[0]],
    }
    error = refused(lambda: RunSummary.from_dict(document))
    assert (str(error), type(error)) == ("schema_version: unsupported_version", RunSummaryError)
    assert faults(error) == [
        "schema_version: unsupported_version",
        "workflow_ids[1]: invalid_identifier",
        "workflow_ids[3]: invalid_identifier",
        "outcome_counts.failed: invalid_count",
        "outcome_counts.success: invalid_count",
        "tool_call_count: invalid_count",
        "duration_seconds: out_of_range",
        "artifact_digests[1]: not_sorted_unique",
        "artifact_digests[2]: not_sorted_unique",
    ]


def test_one_fault_has_the_contract_text_and_its_place_beside_it():
    error = refused(lambda: RunSummary.from_dict(EMPTY | {"artifact_digests": [DIGESTS[0], CANARY]}))
    assert (str(error), faults(error)) == (
        "artifact_digests: invalid_digest",
        ["artifact_digests[1]: invalid_digest"],
    )
    assert (error.code, error.field_name) == ("invalid_digest", "artifact_digests")
    missing = {
        name: value for name, value in EMPTY.items() if name not in {"workflow_ids", "duration_seconds"}
    }
    error = refused(lambda: RunSummary.from_dict(missing))
    assert str(error) == "summary: missing_field"
    assert faults(error) == ["workflow_ids: missing_field", "duration_seconds: missing_field"]
    assert faults(refused(lambda: RunSummary.from_dict(EMPTY | {CANARY: CANARY}))) == []


def test_no_error_lists_more_than_sixteen_faults():
    many = ["-" + CANARY] * 1_000
    assert len(refused(lambda: RunSummary.from_dict(EMPTY | {"workflow_ids": many})).faults) == 16
    assert len(refused(lambda: parse_events(many)).faults) == 16
    both = {"workflow_ids": many, "artifact_digests": many}
    assert len(refused(lambda: RunSummary.from_dict(EMPTY | both)).faults) == 16


def test_events_are_parsed_with_every_fault_at_its_place():
    good = {"workflow_id": "a", "outcome": DONE.to_dict()}
    bad = {"workflow_id": CANARY + " ", "outcome": {"outcome_class": "failed", "reason_code": CANARY}}
    listed = [
        good,
        bad | {"tool_call_count": CANARY, "artifact_digests": [DIGESTS[0], CANARY, DIGESTS[0]]},
        CANARY,
        {"workflow_id": "a"},
        good | {CANARY: CANARY},
        good | {"outcome": {"outcome_class": "success"}},
        good | {"outcome": CANARY},
        good | {"outcome": DONE},
        good | {"artifact_digests": [DIGESTS[0], DIGESTS[1], DIGESTS[0]]},
    ]
    error = refused(lambda: parse_events(listed))
    assert (str(error), type(error)) == ("events: invalid_item", RunSummaryError)
    assert faults(error) == [
        "events[1].workflow_id: invalid_identifier",
        "events[1].outcome.reason_code: unknown_reason",
        "events[1].tool_call_count: invalid_count",
        "events[1].artifact_digests[1]: invalid_digest",
        "events[2]: invalid_mapping",
        "events[3].outcome: missing_field",
        "events[4]: unknown_field",
        "events[5].outcome.reason_code: missing_field",
        "events[6].outcome: not_a_mapping",
        "events[7].outcome: not_a_mapping",
        "events[8].artifact_digests[2]: duplicate_item",
    ]


def test_every_fault_of_a_diff_is_named_and_the_first_one_is_the_text():
    error = refused(
        lambda: RunSummaryDiff(
            workflow_ids_added=["b", "a"],
            workflow_ids_removed=CANARY,
            outcome_count_deltas={CANARY: 1},
            tool_call_count_delta=1.0,
            duration_seconds_delta=CANARY,
            artifact_digests_added=DIGESTS[:1],
            artifact_digests_removed=DIGESTS[:2],
        )
    )
    assert (str(error), type(error)) == ("workflow_ids_added: not_sorted_unique", RunDiffError)
    assert faults(error) == [
        "workflow_ids_added[1]: not_sorted_unique",
        "workflow_ids_removed: invalid_sequence",
        "outcome_count_deltas: invalid_keys",
        "tool_call_count_delta: invalid_delta",
        "duration_seconds_delta: invalid_number",
        "artifact_digests: added_and_removed",
    ]


class Hostile(dict):
    """Says what it holds only in the texts of its exceptions."""

    def __init__(self, *methods):
        super().__init__(EMPTY | DONE.to_dict())
        self.methods = methods

    def _raise(self, method, *arguments):
        if method in self.methods:
            raise RuntimeError(CANARY)
        return getattr(dict, method)(self, *arguments)

    def __iter__(self):
        return self._raise("__iter__")

    def __getitem__(self, name):
        return self._raise("__getitem__", name)

    def items(self):
        return self._raise("items")


def broken():
    yield RunEvent("a", DONE)
    raise RuntimeError(CANARY)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RunSummary.from_dict(Hostile("__iter__")), "summary: invalid_mapping"),
        (lambda: RunSummary.from_dict(Hostile("__iter__", "items")), "summary: invalid_mapping"),
        (lambda: RunSummary.from_dict(EMPTY | {"outcome_counts": Hostile("items")}), None),
        (lambda: WorkflowOutcome.from_dict(Hostile("__iter__")), "not_a_mapping"),
        (lambda: RunSummary.from_events(broken()), "events: invalid_iterable"),
        (lambda: RunSummary.from_events(repeat(RunEvent("a", DONE))), "events: too_many_items"),
        (lambda: RunEvent("a", DONE, artifact_digests=broken()), "artifact_digests: invalid_sequence"),
        (lambda: RunEvent("a", DONE, artifact_digests=count()), "artifact_digests: too_many_items"),
        (lambda: RunEvent(CANARY + ":", DONE), "workflow_id: invalid_identifier"),
        (lambda: RunEvent.from_dict({"workflow_id": "a", "outcome": CANARY}), "outcome: not_a_mapping"),
        (lambda: RunSummary.from_json(f'{{"{CANARY}": 1, "{CANARY}": 2}}'), "summary: duplicate_field"),
        (lambda: RunSummary.from_json(f'{{"{CANARY}": NaN}}'), "summary: non_finite_number"),
        (lambda: RunSummary.from_json(f"{CANARY}"), "summary: invalid_json"),
        (lambda: RunSummary.from_json(f'"{CANARY}\udc80"'), "summary: invalid_json"),
        (lambda: RunSummary.from_json(CANARY.encode() + b"\xff"), "summary: invalid_json"),
        (lambda: RunSummary.from_json("[" * 1_000_000), "summary: invalid_json"),
        (lambda: RunSummary.from_json("1" * 1_000_000), "summary: invalid_json"),
        (lambda: WorkflowOutcome.from_json(f'{{"{CANARY}": 1, "{CANARY}": 2}}'), "malformed_json"),
        (lambda: WorkflowOutcome.from_json("[" * 1_000_000), "malformed_json"),
        (lambda: WorkflowOutcome.from_json('{"outcome_class": 1e999}'), "malformed_json"),
        (lambda: WorkflowOutcome.from_json(f'{{"{CANARY}": "\udc80"}}'), "malformed_json"),
        (lambda: WorkflowOutcome.from_json(f'{{"{CANARY}": "\\udc80"}}'), "unknown_field"),
        (lambda: WorkflowOutcome.from_json(CANARY), "malformed_json"),
        (lambda: WorkflowOutcome(CANARY, "completed"), "outcome_class: unknown_class"),
        (lambda: WorkflowOutcome("success", "completed"), "outcome_class: unknown_class"),
        (lambda: WorkflowOutcome(OutcomeClass.SUCCESS, CANARY), "reason_code: unknown_reason"),
        (lambda: allowed_reason_codes(CANARY), "outcome_class: unknown_class"),
        (lambda: diff_run_summaries(EMPTY, EMPTY), "before: invalid_summary"),
        (lambda: diff_run_summaries(RunSummary.from_dict(EMPTY), CANARY), "after: invalid_summary"),
    ],
)
def test_hostile_input_is_a_contract_error(make, text):
    error = refused(make)
    if text is not None:
        assert str(error) == text


def test_an_error_of_an_event_made_on_the_way_comes_through():
    error = refused(lambda: RunSummary.from_events(RunEvent(name, DONE) for name in ("a", "-")))
    assert str(error) == "workflow_id: invalid_identifier"


def test_a_mapping_that_cannot_be_read_has_its_own_code():
    class Unreadable(dict):
        def __getitem__(self, name):
            raise RuntimeError(CANARY)

    assert str(refused(lambda: RunSummary.from_dict(Unreadable(EMPTY)))) == "summary: unreadable_mapping"
    assert str(refused(lambda: WorkflowOutcome.from_dict(Unreadable(DONE.to_dict())))) == "not_a_mapping"
    event = Unreadable({"workflow_id": "a", "outcome": DONE.to_dict()})
    assert str(refused(lambda: RunEvent.from_dict(event))) == "event: invalid_mapping"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(CANARY) | st.sampled_from(DIGESTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([CANARY, "success"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*EMPTY, CANARY]), json_values), st.booleans())
def test_any_document_is_a_summary_or_a_contract_error_without_its_values(document, whole):
    document = EMPTY | document if whole else document
    for make in (
        lambda: RunSummary.from_dict(document),
        lambda: RunSummary.from_json(json.dumps(document)),
    ):
        caught(make)


@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys((*RunEvent.__slots__, CANARY), json_values)))
)
def test_any_events_are_events_or_a_contract_error_without_their_values(documents):
    error = caught(lambda: parse_events(documents))
    assert error is None or all(fault.field.startswith("events[") for fault in error.faults)


# Representations


@given(runs)
def test_representations_hold_no_value(listed):
    named = [replace(event, workflow_id=CANARY) for event in listed]
    summary = RunSummary.from_events([*named, RunEvent(CANARY, DONE, artifact_digests=DIGESTS[:1])])
    empty = RunSummary.from_dict(EMPTY)
    diff = diff_run_summaries(empty, summary)
    for value in (*named, DONE, summary, diff, empty):
        for text in (repr(value), str(value)):
            assert CANARY not in text
            assert "sha256" not in text
            assert "completed" not in text
    assert repr(summary) == (
        f"RunSummary(workflows={len(summary.workflow_ids)}, artifacts={len(summary.artifact_digests)})"
    )
    assert repr(diff) == "RunSummaryDiff(changed=True)"
    assert repr(DONE) == "WorkflowOutcome(<content-free>)"
    assert {repr(event) for event in named} <= {"RunEvent(<content-free>)"}


def test_an_outcome_error_is_told_from_a_summary_error():
    assert type(refused(lambda: WorkflowOutcome.from_dict({}))) is OutcomeError
    assert not issubclass(OutcomeError, RunSummaryError)

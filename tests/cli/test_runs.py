"""``toolvet runs``: events of both shapes, both formats, the exit codes, and every fault at its place."""

import json

import pytest
from tests.cli.conftest import digest, refused, run

from toolvet.core.outcome import OutcomeClass, allowed_reason_codes
from toolvet.core.run_diff import diff_run_summaries
from toolvet.core.run_event import RunEvent
from toolvet.core.run_summary import RunSummary


def event(workflow_id="intake", outcome_class="success", reason_code="completed", **more):
    outcome = {"outcome_class": outcome_class, "reason_code": reason_code}
    return {"workflow_id": workflow_id, "outcome": outcome} | more


EVENTS = [
    event(tool_call_count=3, duration_seconds=0.1, artifact_digests=[digest("b"), digest("a")]),
    event(duration_seconds=0.2),
    event("Export.v2", "failed", "timeout", tool_call_count=2, duration_seconds=0.3),
]
SUMMARY = RunSummary.from_events([RunEvent.from_dict(item) for item in EVENTS])
OTHER = RunSummary.from_events([RunEvent.from_dict(item) for item in EVENTS[:2]])
LINES = "".join(json.dumps(item) + "\n" for item in EVENTS)

SHAPES = {
    "array": json.dumps(EVENTS),
    "indented array": json.dumps(EVENTS, indent=2),
    "lines": LINES,
    "lines of another system": LINES.replace("\n", "\r\n"),
    "lines with blank ones between": "\n" + LINES.replace("\n", "\n \n"),
    "lines without the last end": LINES.rstrip(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_events_in_any_shape_give_the_contract_renderings(write, shape):
    done = run("runs", "summarize", write("events", SHAPES[shape]), "--format", "json")
    assert (done.returncode, done.stdout, done.stderr) == (0, SUMMARY.to_json() + "\n", "")


def test_text_is_markdown_and_events_may_come_from_standard_input():
    done = run("runs", "summarize", "-", input=LINES)
    assert (done.returncode, done.stdout, done.stderr) == (0, SUMMARY.to_markdown(), "")
    assert "| Duration (seconds) | 0.6 |" in done.stdout


def test_no_events_are_an_empty_summary_and_no_document_is_none(write):
    done = run("runs", "summarize", write("events", "[]"), "--format", "json")
    assert (done.returncode, done.stdout) == (0, RunSummary.from_events([]).to_json() + "\n")
    refused(run("runs", "summarize", write("events", "")), "events: invalid_json")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"canary", "events: invalid_json"),
        (b"5", "events: invalid_iterable"),
        (b'"canary"', "events: invalid_iterable"),
        (b"\xef\xbb\xbf[]", "events: byte_order_mark"),
        (b"\xef\xbb\xbf{}", "events: byte_order_mark"),
        (b"[" * 65, "events: too_deep"),
        (b'[{"canary": 1, "canary": 2}]', "events: duplicate_member"),
        (b'[{"canary": 1e999}]', "events: non_finite_number"),
        (b'["\xff"]', "events: invalid_encoding"),
        (b"[" + b" " * 10 * 1024 * 1024 + b"]", "events: too_large"),
        (b"{" + b" " * 10 * 1024 * 1024 + b"}", "events: too_large"),
        (b'[{}, "canary"]', "events[0].workflow_id: missing_field"),
        (b'["canary"]', "events[0]: invalid_mapping"),
        (LINES.encode() + b'{"canary": 1, "canary": 2}', "events[3]: duplicate_member"),
        (LINES.encode() + b"canary", "events[3]: invalid_json"),
        (b'{\n"canary": 1}', "events[0]: invalid_json"),
        (b'{"a": ' + b"[" * 65, "events[0]: too_deep"),
        (LINES.encode() * 3_334, "events: too_many_items"),
        (json.dumps(EVENTS * 3_334), "events: too_many_items"),
        ([event(tool_call_count=6_000_000)] * 2, "tool_call_count: total_out_of_range"),
        ([event(duration_seconds=2e7)] * 2, "duration_seconds: total_out_of_range"),
        ([event(f"w{index}") for index in range(1_025)], "workflow_ids: too_many_items"),
    ],
)
def test_bad_events_are_refused(write, content, error):
    done = run("runs", "summarize", write("events", content))
    refused(done, error)
    assert "canary" not in done.stderr


def test_every_fault_is_told_at_its_place_and_no_value(write):
    bad = event("canary x", "failed", "canary", tool_call_count=-1, artifact_digests=[digest("a"), "canary"])
    content = [EVENTS[0], EVENTS[1], bad, event(canary="canary"), event() | {"outcome": "canary"}]
    for shape in (json.dumps(content), "\n".join(json.dumps(item) for item in content)):
        done = run("runs", "summarize", write("events", shape))
        assert (done.returncode, done.stdout) == (2, "")
        assert "canary" not in done.stderr
        assert [line for line in done.stderr.splitlines() if line.startswith("error: ")] == [
            "error: events[2].workflow_id: invalid_identifier",
            "error: events[2].outcome.reason_code: unknown_reason",
            "error: events[2].tool_call_count: invalid_count",
            "error: events[2].artifact_digests[1]: invalid_digest",
            "error: events[3]: unknown_field",
            "error: events[4].outcome: not_a_mapping",
        ]
        assert "tool:" not in done.stderr  # that remedy is for governance identifiers


def test_at_most_sixteen_faults_are_told(write):
    done = run("runs", "summarize", write("events", "{}\n" * 10_000))
    assert (done.returncode, done.stderr.count("error: ")) == (2, 16)


def test_a_diff_is_the_contract_renderings_and_says_by_exit_1_that_there_is_one(write):
    paths = write("before", OTHER.to_json()), write("after", SUMMARY.to_json() + "\n")
    expected = diff_run_summaries(OTHER, SUMMARY)
    text = run("runs", "diff", *paths)
    assert (text.returncode, text.stdout, text.stderr) == (1, expected.to_markdown(), "")
    as_json = run("runs", "diff", *paths, "--format", "json")
    assert (as_json.returncode, as_json.stdout, as_json.stderr) == (1, expected.to_json() + "\n", "")


def test_equal_summaries_are_exit_0_and_one_may_be_standard_input(write):
    path = write("summary", SUMMARY.to_json())
    for arguments in ((path, "-"), ("-", path)):
        done = run("runs", "diff", *arguments, input=SUMMARY.to_json())
        assert (done.returncode, done.stderr) == (0, "")
        assert "Changed: no" in done.stdout
    refused(run("runs", "diff", "-", "-", input="{}"), "after: standard_input_twice")


def test_what_summarize_writes_is_what_diff_reads(write):
    written = run("runs", "summarize", write("events", LINES), "--format", "json").stdout
    done = run("runs", "diff", write("before", written), "-", input=written)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        ("", [": invalid_json"]),
        ("[]", [": invalid_mapping"]),
        ("{}", [f".{name}: missing_field" for name in SUMMARY.to_dict()]),
        (SUMMARY.to_dict() | {"canary": 1}, [": unknown_field"]),
        (SUMMARY.to_dict() | {"schema_version": "canary"}, [".schema_version: unsupported_version"]),
        (
            SUMMARY.to_dict()
            | {"workflow_ids": ["a", "canary x"], "artifact_digests": 5, "duration_seconds": -1},
            [
                ".artifact_digests: invalid_sequence",
                ".workflow_ids[1]: invalid_identifier",
                ".duration_seconds: out_of_range",
            ],
        ),
        ('{"canary": 1, "canary": 2}', [": duplicate_member"]),
        (b"\xef\xbb\xbf" + SUMMARY.to_json().encode(), [": byte_order_mark"]),
        (SUMMARY.to_json().replace("0.6", "1e999"), [": non_finite_number"]),
        (SUMMARY.to_json() + " " * 1_048_576, [": too_large"]),
    ],
)
def test_a_bad_summary_names_its_side(write, content, errors):
    good, bad = write("good", SUMMARY.to_json()), write("bad", content)
    for arguments, side in (((bad, good), "before"), ((good, bad), "after")):
        done = run("runs", "diff", *arguments)
        refused(done, side + errors[0])
        told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert told == [f"error: {side}{error}" for error in errors]
        assert "canary" not in done.stderr


def test_files_that_cannot_be_read_are_named_by_their_argument(write):
    refused(run("runs", "summarize", "/nowhere/events"), "events: unreadable_file")
    refused(run("runs", "diff", "/nowhere/a", "/nowhere/b"), "before: unreadable_file")
    refused(run("runs", "diff", write("a", SUMMARY.to_json()), "/nowhere/b"), "after: unreadable_file")


def test_help_lists_every_reason_and_judges_no_change():
    texts = [run("runs", *command, "--help").stdout for command in ([], ["summarize"], ["diff"])]
    listed = [line.replace(",", "").split() for line in texts[1].splitlines()]
    for kind in OutcomeClass:
        (reasons,) = [words[1:] for words in listed if words[:1] == [kind]]
        assert sorted(reasons) == sorted(allowed_reason_codes(kind))
    for text in texts:
        assert not {"regression", "safe", "compatible"} & set(text.lower().replace(".", " ").split())
    assert "does not judge" in " ".join(texts[2].split())

"""``toolvet runs``: read events and summaries strictly, then summarize or compare them."""

from __future__ import annotations

from toolvet.cli.documents import load_bytes
from toolvet.core.errors import ContractError, RunSummaryError
from toolvet.core.faults import placed
from toolvet.core.json_reader import read_json
from toolvet.core.run_diff import RunSummaryDiff, diff_run_summaries
from toolvet.core.run_event import RunEvent, parse_events
from toolvet.core.run_summary import MAX_RUN_SUMMARY_JSON_BYTES, RunSummary
from toolvet.kube.manifest import MAX_DOCUMENT_BYTES

_BLANK = b" \t\r\n"


def summarize(path: str) -> RunSummary:
    """Summarize a file of events; raises ContractError at ``events``, or at the total that is too large."""
    return RunSummary.from_events(_events(load_bytes(path, field="events")))


def _events(data: bytes) -> list[RunEvent]:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ContractError("events", "too_large")
    if data.lstrip(_BLANK).startswith(b"{"):
        lines = (line for line in data.split(b"\n") if line.strip(_BLANK))
        return parse_events(lines, read=_read_line)
    # What is neither an event nor an array is for the reader to name: nothing, a byte-order mark, a number.
    document = read_json(data, field="events", max_bytes=MAX_DOCUMENT_BYTES)
    if not isinstance(document, list):
        raise ContractError("events", "invalid_iterable")
    return parse_events(document)


def _read_line(line: bytes, place: str) -> object:
    return read_json(line, field=place, max_bytes=MAX_DOCUMENT_BYTES)


def compare(before: str, after: str) -> RunSummaryDiff:
    """Compare two summaries by path; raises ContractError at ``before`` or ``after``."""
    if before == after == "-":
        raise ContractError("after", "standard_input_twice")
    first = _summary(before, "before")
    return diff_run_summaries(first, _summary(after, "after"))


def _summary(path: str, side: str) -> RunSummary:
    limit = MAX_RUN_SUMMARY_JSON_BYTES
    document = read_json(load_bytes(path, field=side, max_bytes=limit), field=side, max_bytes=limit)
    fault: ContractError
    try:
        return RunSummary.from_dict(document)
    except RunSummaryError as error:
        fault = placed(error, side, whole="summary")
    raise fault

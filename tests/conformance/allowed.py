"""Every difference from the reference that is wanted, and why; docs/contracts.md says the same.

A difference that no entry names fails the conformance run. An entry that no case
needs any more fails a test: then the reason is gone.
"""

import json
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Case = dict[str, Any]
Outcome = dict[str, Any]


def _outcome_text(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if theirs.get("error_code") != "malformed_json" or ours.get("error_type") != "OutcomeError":
        return False
    given = case["text"]
    raw = bytes.fromhex(given["$bytes"]) if isinstance(given, dict) else given.encode()
    text = raw.decode(json.detect_encoding(raw), "surrogatepass")
    return text.count("[") > _OUTCOME_DEPTH or any("\ud800" <= char <= "\udfff" for char in text)


_OUTCOME_DEPTH = 64
_VERSION_CHARACTERS = string.ascii_letters + string.digits + ".-+"


@dataclass(frozen=True)
class AllowedDifference:
    """``applies`` gets (case, theirs, ours) where the two differ."""

    name: str
    reason: str
    applies: Callable[[Case, Outcome, Outcome], bool]


def _escape(_: Case, theirs: Outcome, ours: Outcome) -> bool:
    return "escaped" in theirs and ours["ok"] is False and "escaped" not in ours


def _empty_capture(case: Case, _: Outcome, ours: Outcome) -> bool:
    without = case.get("registry", ()) is None and not case["inventory"]["tools"]
    return without and ours.get("error_code") == "catalog_unavailable"


def _spec_version(case: Case, _: Outcome, ours: Outcome) -> bool:
    listed = [case.get("registry"), case.get("observed")]
    entries = [entry for entries in listed if isinstance(entries, list) for entry in entries]
    odd = any(set(entry.get("spec_version", "")) - set(_VERSION_CHARACTERS) for entry in entries)
    return odd and "catalog_unavailable" in str(ours)


ALLOWED = (
    AllowedDifference(
        "escape",
        "Where the reference lets an ordinary exception out (a schema that is no mapping, nesting or numbers"
        " beyond what Python's own reader and writer take), ours refuses with a contract error.",
        _escape,
    ),
    AllowedDifference(
        "empty-capture",
        "An empty inventory is captured by the reference without any registry; ours wants a registry even"
        " then (catalog_unavailable), so that what is checked later was there once (CONTRACTS 15.7).",
        _empty_capture,
    ),
    AllowedDifference(
        "spec-version",
        "The reference takes a tool spec whose version ends with a newline or has Unicode digits"
        " (CONTRACTS 4); ours refuses it (version: invalid_semver), so that no registry has such a tool.",
        _spec_version,
    ),
    AllowedDifference(
        "outcome-text",
        "A text that is no outcome, and beside that nests deeper than 64 levels or has lone surrogates in its"
        " bytes, is malformed_json to the reference; ours names what is wrong with the document in it.",
        _outcome_text,
    ),
)


def allowed(case: Case, theirs: Outcome, ours: Outcome) -> str | None:
    """Return the name of the entry that allows this difference; None when there is none."""
    names = (entry.name for entry in ALLOWED if entry.applies(case, theirs, ours))
    return next(names, None)

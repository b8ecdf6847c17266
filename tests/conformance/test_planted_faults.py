"""Each family's cases can fail: with one rule of ours altered, the run finds the difference."""

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.client import Oracle
from conformance.differential import Answer, compare, ours
from contracts import families
from toolvet.core import (
    binding,
    catalog_diff,
    identifiers,
    inventory,
    lenient_json,
    run_diff,
    run_summary,
    tool_contract,
)
from toolvet.core.canonical import canonical_json
from toolvet.core.inventory import ToolInventory
from toolvet.core.side_effect import SideEffectClass
from toolvet.runtime import catalog, lookup
from toolvet.runtime.findings import Reason

Patch = pytest.MonkeyPatch


def newline_after_an_identifier(patch: Patch) -> None:
    patch.setattr(identifiers, "_IDENTIFIER", re.compile(identifiers._IDENTIFIER.pattern + r"\n?"))


def digits_of_any_script(patch: Patch) -> None:
    patch.setattr(identifiers, "_SEMVER", re.compile(identifiers._SEMVER.pattern.replace("[0-9]", r"\d")))


def digest_in_upper_case(patch: Patch) -> None:
    patch.setattr(identifiers, "_DIGEST", re.compile(identifiers._DIGEST.pattern, re.IGNORECASE))


def one_character_more(patch: Patch) -> None:
    patch.setattr(identifiers, "MAX_NAMESPACE_LENGTH", identifiers.MAX_NAMESPACE_LENGTH + 1)


def versions_in_the_order_of_texts(patch: Patch) -> None:
    patch.setattr(inventory, "version_key", lambda version: tuple(version.split(".")))


def one_record_more(patch: Patch) -> None:
    patch.setattr(inventory, "RECORD_FIELDS", (*inventory.RECORD_FIELDS, "description"))
    patch.setattr(inventory, "_RECORD_KEYS", frozenset(inventory.RECORD_FIELDS))


def candidate_before_baseline(patch: Patch) -> None:
    def diff(baseline: object, candidate: object) -> catalog_diff.ToolCatalogDiff:
        catalog_diff._inventory(candidate, "candidate")
        return catalog_diff.diff_tool_catalogs(baseline, candidate)

    patch.setattr(families, "diff_tool_catalogs", diff)


def class_changes_left_out(patch: Patch) -> None:
    def diff(baseline: object, candidate: object) -> catalog_diff.ToolCatalogDiff:
        before, after = (catalog_diff._inventory(side, "side") for side in (baseline, candidate))
        return catalog_diff.diff_tool_catalogs(_class_none(before), _class_none(after))

    patch.setattr(families, "diff_tool_catalogs", diff)


def _class_none(of: ToolInventory) -> ToolInventory:
    documents = [tool.to_dict() | {"side_effect_class": "none"} for tool in of.tools]
    return ToolInventory.from_dict(of.to_dict() | {"tools": documents})


def negative_zero_dropped(patch: Patch) -> None:
    patch.setattr(tool_contract, "canonical_json", lambda value: canonical_json(value).replace("-0.0", "0.0"))


def repeated_keys_keep_the_first(patch: Patch) -> None:
    def loads(text: str) -> Any:
        return json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))

    patch.setattr(families, "json", SimpleNamespace(loads=loads))


def destructive_before_read_only(patch: Patch) -> None:
    def derive(hints: dict[str, Any]) -> SideEffectClass:
        if hints.get("destructiveHint"):
            return SideEffectClass.DESTRUCTIVE
        return original(hints)

    original = families.side_effect_class_from_hints
    patch.setattr(families, "side_effect_class_from_hints", derive)


def null_as_absent(patch: Patch) -> None:
    original = families.side_effect_class_from_hints
    patch.setattr(
        families,
        "side_effect_class_from_hints",
        lambda hints: original({name: value for name, value in hints.items() if value is not None}),
    )


def identity_in_upper_case(patch: Patch) -> None:
    original = binding.is_digest
    patch.setattr(
        binding, "is_digest", lambda value: original(value.lower() if isinstance(value, str) else value)
    )


def bindings_in_the_order_given(patch: Patch) -> None:
    patch.setattr(binding, "_sorted_bindings", lambda bindings: bindings)


def any_identity(patch: Patch) -> None:
    patch.setattr(lookup, "is_digest", lambda value: isinstance(value, str))


def schema_hides_the_implementation(patch: Patch) -> None:
    original = catalog.difference

    def difference(tool: Any, registry: object) -> tuple[Reason, ...]:
        found = original(tool, registry)
        return found[:1] if Reason.SCHEMA_CHANGED in found else found

    patch.setattr(catalog, "difference", difference)


def sums_rounded_at_every_step(patch: Patch) -> None:
    patch.setattr(run_summary, "math", SimpleNamespace(fsum=sum))


def negative_zero_seconds_dropped(patch: Patch) -> None:
    original = run_summary._check_duration
    patch.setitem(run_summary._CHECKS, "duration_seconds", lambda value: original(value) + 0.0)


def run_diff_keeps_negative_zero(patch: Patch) -> None:
    original = run_diff.RunSummaryDiff.to_json
    patch.setattr(
        run_diff.RunSummaryDiff, "to_json", lambda self: original(self).replace('_delta":0.0', '_delta":-0.0')
    )


def repeated_members_pass(patch: Patch) -> None:
    patch.setattr(lenient_json, "_unique", dict)


def nothing(_: Patch) -> None:
    """What runs in a process of its own is altered in its answer."""


def without_the_last_newline(family: str, case: dict[str, Any]) -> dict[str, Any]:
    found = ours(family, case)
    return found | {"stdout": found.get("stdout", "").rstrip("\n")}


FAULTS: list[tuple[str, Callable[[Patch], None], Answer, int]] = [
    ("identifiers", newline_after_an_identifier, ours, 500),
    ("identifiers", digits_of_any_script, ours, 3_000),
    ("identifiers", digest_in_upper_case, ours, 1_500),
    ("identifiers", one_character_more, ours, 1_000),
    ("inventory", versions_in_the_order_of_texts, ours, 300),
    ("inventory", one_record_more, ours, 100),
    ("catalog_diff", candidate_before_baseline, ours, 500),
    ("catalog_diff", class_changes_left_out, ours, 200),
    ("schema_digest", negative_zero_dropped, ours, 100),
    ("schema_digest", repeated_keys_keep_the_first, ours, 200),
    ("side_effect", destructive_before_read_only, ours, 50),
    ("side_effect", null_as_absent, ours, 500),
    ("snapshot", identity_in_upper_case, ours, 2_000),
    ("snapshot", bindings_in_the_order_given, ours, 100),
    ("eligibility", any_identity, ours, 400),
    ("eligibility", schema_hides_the_implementation, ours, 1_000),
    ("run_summary", sums_rounded_at_every_step, ours, 300),
    ("run_summary", negative_zero_seconds_dropped, ours, 300),
    ("run_diff", run_diff_keeps_negative_zero, ours, 100),
    ("outcome_text", repeated_members_pass, ours, 200),
    ("cli", nothing, without_the_last_newline, 8),
]


@pytest.mark.parametrize(("family", "plant", "answer", "cases"), FAULTS)
def test_a_planted_fault_is_found(
    oracle: Oracle,
    monkeypatch: pytest.MonkeyPatch,
    family: str,
    plant: Callable[[Patch], None],
    answer: Answer,
    cases: int,
) -> None:
    plant(monkeypatch)
    report = compare(oracle, family, 1, cases, answer)
    assert report.differences

"""Contract documents of the reference go through ours and back, byte for byte."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance import generators
from conformance.client import Oracle
from toolvet.core.binding import RunToolCatalogSnapshot
from toolvet.core.inventory import ToolInventory
from toolvet.core.run_summary import RunSummary

CASES = 400
# The operation that parses a document, the result that is its text, and one that only whole documents have.
DOCUMENTS: dict[str, tuple[str, str, str, Callable[[object], Any]]] = {
    "inventory": ("inventory_from_mapping", "json", "tool_count", ToolInventory.from_dict),
    "snapshot": ("from_mapping", "snapshot_json", "snapshot_digest", RunToolCatalogSnapshot.from_dict),
    "run_summary": ("from_mapping", "json", "commitment", RunSummary.from_dict),
}


@pytest.mark.parametrize("family", DOCUMENTS)
def test_documents_of_the_reference(oracle: Oracle, family: str) -> None:
    operation, name, mark, parse = DOCUMENTS[family]
    cases = generators.cases(family, 4, CASES)
    answers = oracle.outcomes([(family, case) for case in cases])
    written = [answer[name] for answer in answers if mark in answer]
    assert len(written) > CASES / 10
    ours = [parse(json.loads(text)).to_json() for text in written]
    assert ours == written
    back = oracle.outcomes([(family, {"op": operation, "document": json.loads(text)}) for text in ours])
    assert [answer[name] for answer in back] == written


def test_texts_of_summaries(oracle: Oracle) -> None:
    cases = generators.cases("run_summary", 5, CASES)
    answers = oracle.outcomes([("run_summary", case) for case in cases])
    written = [answer["json"] for answer in answers if "commitment" in answer]
    assert [RunSummary.from_json(text).to_json() for text in written] == written
    back = oracle.outcomes([("run_summary", {"op": "from_text", "text": text}) for text in written])
    assert [answer["json"] for answer in back] == written

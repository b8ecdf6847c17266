"""The oracle itself: every vector that the reference made, it makes again."""

import json

from conformance.client import Oracle
from contracts.test_vectors import measured
from contracts.vector_files import DEFAULT_FOLDER, read_folder

BATCH = 50
BY_HAND = {"tool_change"}  # no program made it (the vectors' README)


def test_every_vector_is_made_again(oracle: Oracle) -> None:
    cases = [case for case in read_folder(DEFAULT_FOLDER) if case.family not in BY_HAND]
    differing = []
    for start in range(0, len(cases), BATCH):
        batch = cases[start : start + BATCH]
        answers = oracle.outcomes([(case.family, case.input) for case in batch])
        differing += [
            case.name for case, answer in zip(batch, answers, strict=True) if not _same(case.expected, answer)
        ]
    assert differing == []


def _same(expected: dict, answer: dict) -> bool:
    if "note" in expected:
        return answer.get("escaped") == expected["error_type"]
    expected = {name: value for name, value in expected.items() if name not in ("ok", "stderr_nonempty")}
    if expected.get("exit_code") == 2:
        expected = {"exit_code": 2}
    found = {name: measured(answer, name) for name in expected}
    return json.dumps(found) == json.dumps(expected)

"""Answer for the reference: one JSON array of [family, input] a line in, one of outcomes a line out.

Runs in the reference's environment, where nothing of Toolvet is installed.
"""

import json
import os
import sys
from typing import Any

import answer_binding
import answer_command
import answer_records
import answer_runs

FAMILIES = {
    **answer_records.FAMILIES,
    **answer_binding.FAMILIES,
    **answer_runs.FAMILIES,
    **answer_command.FAMILIES,
}


def outcome(family: str, case: dict[str, Any]) -> dict[str, Any]:
    """Return the case's results, its stable error, or the name of an ordinary exception that escaped."""
    try:
        return {"ok": True, **FAMILIES[family](case)}
    except Exception as error:  # noqa: BLE001  # what escapes from the reference is a result as well
        kind = type(error)
        if not (isinstance(error, ValueError) and kind.__module__.startswith("openmed.")):
            return {"ok": False, "escaped": kind.__name__}
        field, _, code = str(error).rpartition(": ")
        return {
            "ok": False,
            "error_type": kind.__name__,
            "error_code": getattr(error, "code", code),
            # Two of its errors have no attributes; the text says the same (CONTRACTS 1.4).
            "error_field": getattr(error, "field_name", field) or None,
            "error_message": str(error),
        }


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever the reference prints is no answer
    for line in sys.stdin:
        answers.write(json.dumps([outcome(family, case) for family, case in json.loads(line)]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

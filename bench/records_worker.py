"""Times the records of one library, ``ours`` or ``reference``, and prints milliseconds of CPU as JSON.

Runs in an environment of its own for the reference, hence the standard library and that library alone.
"""

import json
import sys
import time
from collections.abc import Callable

RECORDS = 10_000
REPEATS = 3
_DIGEST = "sha256:{:064x}"
_MILLI = 1000.0


def document(shift: int) -> dict:
    """Return an inventory document; another shift changes one digest in three."""
    tools = [
        {
            "tool_id": f"tool:org.example/tool-{index % 5000}",
            "version": f"1.{index // 5000}.{index % 7}",
            "capability_class": f"capability:org.example/area-{index % 40}@1.0.0",
            "side_effect_class": "read-only",
            "schema_digest": _DIGEST.format(index + (shift if index % 3 == 0 else 0)),
        }
        for index in range(RECORDS)
    ]
    return {"schema_version": "openmed.agent.tool_inventory.v1", "tools": tools}


def best(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of the fastest of a few repeats."""
    taken = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken) * _MILLI


def main(library: str) -> None:
    """Import the one library and time it."""
    started = time.process_time()
    if library == "ours":
        from toolvet.runtime import ToolInventory, diff_tool_catalogs  # noqa: PLC0415  # timed
    else:
        from openmed.agent.tool_catalog_diff import diff_tool_catalogs  # noqa: PLC0415  # the same
        from openmed.agent.tool_inventory import ToolInventory  # noqa: PLC0415  # the same
    imported = (time.process_time() - started) * _MILLI
    baseline, candidate = document(0), document(1_000_000)
    before, after = ToolInventory.from_dict(baseline), ToolInventory.from_dict(candidate)
    text = before.to_json()
    figures = {
        "import": imported,
        "parse": best(lambda: ToolInventory.from_dict(json.loads(text))),
        "render JSON": best(before.to_json),
        "render Markdown": best(before.to_markdown),
        "diff": best(lambda: diff_tool_catalogs(before, after)),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

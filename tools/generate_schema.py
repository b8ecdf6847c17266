# ruff: noqa: INP001  # a script of the repository, part of no package
"""Write the JSON Schema that ships with the package: ``generate_schema.py [--check]``.

Exit 0 when it is up to date or was written, 1 when ``--check`` finds a difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "operator"))

from toolvet.core.inventory_schema import tool_inventory_schema  # noqa: E402  # needs the path above

FILE = ROOT / "operator" / "toolvet" / "core" / "tool_inventory.schema.json"


def main(arguments: list[str]) -> int:
    """Write the file, or with ``--check`` only say whether it is up to date."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: generate_schema.py [--check]\n")
        return 2
    text = json.dumps(tool_inventory_schema(), indent=2) + "\n"
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
        return 0
    shown = FILE.relative_to(ROOT)
    if arguments:
        sys.stderr.write(f"{shown} is not what its source says: run make generate and commit\n")
        return 1
    FILE.write_text(text, encoding="utf-8")
    sys.stderr.write(f"wrote {shown}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""docs/tool-changes.md says what the code does: reasons, flags, kinds, bounds, domains."""

import re
from pathlib import Path

from core.tool_change_kinds import KINDS
from toolvet.core.change_reason import FLAG_MEANINGS
from toolvet.core.change_rules import RULES
from toolvet.core.definition_flags import MAX_SHOWN_BYTES
from toolvet.core.json_identity import MAX_BYTES, MAX_DEPTH
from toolvet.core.schema_keywords import MACHINE_TEXT
from toolvet.core.tool_parts import FINGERPRINT_DOMAIN, HINTS_DOMAIN, REST_DOMAIN

PAGE = (Path(__file__).parents[2] / "docs" / "tool-changes.md").read_text(encoding="utf-8")


def rows(title: str) -> list[list[str]]:
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_reasons() -> None:
    table = [[f"`{code}`", rule.literal, rule.strict, rule.meaning] for code, rule in sorted(RULES.items())]
    assert rows("Reasons") == table


def test_flags() -> None:
    assert rows("Flags") == [[f"`{flag}`", meaning] for flag, meaning in sorted(FLAG_MEANINGS.items())]


def test_kinds() -> None:
    table = rows("Kinds of change")
    assert [int(row[0]) for row in table] == list(range(1, 55))
    for number, _, codes in table:
        kinds = [kind for kind in KINDS if kind.number == int(number)]
        raised = {code for kind in kinds for code in (*kind.reasons, *kind.flags)}
        if kinds:
            assert set(re.findall(r"`([a-z_0-9]+)`", codes)) == raised, number


def test_figures_and_names() -> None:
    assert f"{MAX_BYTES // 1024} KiB and {MAX_DEPTH} levels" in PAGE
    assert f"{MAX_SHOWN_BYTES:,} bytes" in PAGE
    for name in (FINGERPRINT_DOMAIN, HINTS_DOMAIN, REST_DOMAIN, *MACHINE_TEXT):
        assert f"`{name}`" in PAGE, name

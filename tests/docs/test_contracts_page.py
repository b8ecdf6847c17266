"""docs/contracts.md and docs/identifiers.md against the code: names, differences, codes, domains."""

import re

import pytest

from conformance.allowed import ALLOWED
from docs.reader import ROOT
from toolvet import runtime
from toolvet.core import binding, run_summary, tool_contract
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import GovernanceKind, parse_governance_id
from toolvet.mcp import definition

CONTRACTS = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
IDENTIFIERS = (ROOT / "docs" / "identifiers.md").read_text(encoding="utf-8")
SPAN = re.compile(r"`([^`]+)`")


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_name_that_is_said_to_be_here_is_here():
    names = [
        name
        for there, here in rows(section(CONTRACTS, "Coming from the reference"))
        if here == "`toolvet.runtime`"
        for name in SPAN.findall(there.partition(":")[2])
    ]
    assert len(names) > 15
    for name in names:
        assert name in runtime.__all__
        assert hasattr(runtime, name)


def test_every_allowed_difference_is_on_the_page_and_no_other():
    listed = [SPAN.findall(row[0])[0] for row in rows(section(CONTRACTS, "What differs from the reference"))]
    assert listed == [entry.name for entry in ALLOWED]


@pytest.mark.parametrize("text", [CONTRACTS, IDENTIFIERS], ids=["contracts", "identifiers"])
def test_nothing_is_judged(text):
    assert not re.search(r"\b(safe|unsafe|compatible|incompatible|regression)\b", text)


def test_the_example_identifiers_are_valid():
    prose = re.sub(r"```.*?```", "", IDENTIFIERS, flags=re.DOTALL)
    found = [text for text in SPAN.findall(prose) if text.startswith(("tool:", "capability:"))]
    assert found
    for text in found:
        parse_governance_id(text, GovernanceKind(text.partition(":")[0]))
    with pytest.raises(ContractError):
        parse_governance_id("read_note", GovernanceKind.TOOL)


def test_the_domains_are_those_of_the_code():
    table = section(IDENTIFIERS, "Digests")
    listed = {SPAN.findall(row[-1])[0] for row in rows(table)}
    in_code = {
        tool_contract._DOMAIN,
        binding._SNAPSHOT_DOMAIN,
        binding._CATALOG_DOMAIN,
        binding._INVENTORY_DOMAIN,
        run_summary._COMMITMENT_DOMAIN,
        definition.IMPLEMENTATION_DOMAIN,
    }
    assert listed == in_code

"""10,000 inputs here, 1,000,000 with TOOLVET_FULL=1: only contract errors come out, and nothing in them."""

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from fuzz import mutation, seeds
from fuzz.leaks import complaint
from fuzz.parsers import PARSERS, Parser
from toolvet.core.errors import ContractError, ToolInventoryError

INPUTS = 1_000_000 if os.environ.get("TOOLVET_FULL") else 10_000
SEED = 5
EVERY = 40  # formatting a traceback costs more than the parsing


def made(random: Random, parser: Parser) -> object:
    changes = random.choice([0, 1, 1, 1, 2, 3, 6])
    if parser.raw:
        return mutation.data(random, parser.seed, changes)
    return mutation.document(random, parser.seed, changes, plain=parser.plain)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", PARSERS)
def test_only_contract_errors_come_out(name: str) -> None:
    parser = PARSERS[name]
    random = Random(f"{SEED}/{name}")  # noqa: S311  # reproducible on purpose
    parsed = refused = 0
    for number in range(-(-INPUTS // len(PARSERS))):
        value = made(random, parser)
        try:
            parser.run(value)
            parsed += 1
        except Exception as error:  # noqa: BLE001  # what comes out is what is looked at
            refused += 1
            wrong = complaint(error, traceback_too=number % EVERY == 0)
            # The input itself is not printed: some of them are endless.
            assert wrong is None, f"input {number} of {name!r}: {wrong}"
    assert parsed
    assert refused


@pytest.mark.parametrize("name", PARSERS)
def test_a_seed_is_taken_by_its_parser(name: str) -> None:
    PARSERS[name].run(PARSERS[name].seed)


def _repeats_the_key(value: object) -> None:
    if isinstance(value, dict):
        raise ContractError(f"document.{next(iter(value), None)}", "unknown_field")


def _keeps_the_cause(value: object) -> None:
    try:
        int(str(value))
    except ValueError as error:
        raise ContractError("document", "invalid_number") from error


def _lets_an_exception_out(value: str) -> None:
    value.partition(".")


@pytest.mark.parametrize("run", [_repeats_the_key, _keeps_the_cause, _lets_an_exception_out])
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], object]) -> None:
    monkeypatch.setitem(PARSERS, "planted", Parser(seeds.summary(), run))
    with pytest.raises(AssertionError, match=r"input \d+ of 'planted'"):
        test_only_contract_errors_come_out("planted")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        ToolInventoryError("tools", mutation.WORD),
        ToolInventoryError("tools", "x", [ContractError(f"tools[{mutation.NUMBER}]", "x")]),
    ],
)
def test_the_search_finds_what_is_there(error: Exception) -> None:
    assert complaint(error)


def test_the_search_finds_what_is_hidden_behind_an_error() -> None:
    def refuse() -> None:
        try:
            int(mutation.WORD)
        except ValueError:
            raise ContractError("field", "code") from None

    with pytest.raises(ContractError) as caught:
        refuse()
    assert complaint(caught.value) == "chained to ['ValueError']"

"""``pytest tests/contracts --vectors DIR``: one test a case of every family in a folder."""

from pathlib import Path

import pytest

from contracts.vector_files import DEFAULT_FOLDER, Case, read_folder

_CASES = pytest.StashKey[list[Case]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="folder of contract vectors"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Read now: a usage error during collection would only be a failed collection.
    config.stash[_CASES] = read_folder(config.getoption("--vectors", DEFAULT_FOLDER))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = metafunc.config.stash[_CASES]
        metafunc.parametrize("case", cases, ids=[case.name for case in cases])

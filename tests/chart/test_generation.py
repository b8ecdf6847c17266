"""The generator notices drift and says what to do."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "generate_chart.py"


@pytest.fixture
def generator():
    specification = importlib.util.spec_from_file_location("generate_chart", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_chart_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_drift_and_leftovers_are_named_and_mended(generator, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "CHART", tmp_path / "chart")
    monkeypatch.setattr(generator, "CRD_TEMPLATES", tmp_path / "chart" / "templates" / "crds")
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    drifted = generator.CRD_TEMPLATES / "catalogpolicies.toolvet.dev.yaml"
    drifted.write_text("by hand\n")
    leftover = generator.CRD_TEMPLATES / "gone.toolvet.dev.yaml"
    leftover.write_text("old\n")
    capsys.readouterr()
    assert generator.main(["--check"]) == 1
    told = capsys.readouterr().err
    assert drifted.name in told
    assert leftover.name in told
    assert "run make generate and commit" in told
    assert generator.main([]) == 0
    assert not leftover.exists()
    assert generator.main(["--check"]) == 0


def test_another_argument_is_bad_use(generator) -> None:
    assert generator.main(["--force"]) == 2

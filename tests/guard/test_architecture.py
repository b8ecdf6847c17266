"""The shape of the package: layers, what each process loads, what an installation without extras needs."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml

import toolvet

ROOT = Path(__file__).parents[2]
OPERATOR = ROOT / "operator"
PACKAGE = OPERATOR / "toolvet"
MAX_LINES = 400


def modules(*folders: str) -> list[str]:
    """Names of the modules in these folders of the package."""
    found = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    names = [".".join(path.relative_to(OPERATOR).with_suffix("").parts) for path in found]
    assert found, folders
    return sorted(name.removesuffix(".__init__") for name in names)


def loaded_after(code: str, *, blocked: bool = False) -> set[str]:
    """Run a program of its own and return the names of all modules that it has loaded.

    ``blocked`` leaves it the standard library and our own package, as if nothing else were installed.
    """
    block = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "toolvet":
            raise ModuleNotFoundError(f"blocked: {{name}}", name=name)
if {blocked}:
    sys.meta_path.insert(0, Block())
    for name in [name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]:
        del sys.modules[name]  # what an editable installation had loaded before us
"""
    done = subprocess.run(
        [sys.executable, "-c", f"{block}\n{code}\nprint('\\n'.join(sys.modules), file=sys.__stdout__)"],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


def importing(names: list[str]) -> str:
    return "\n".join(f"import {name}" for name in names)


def packages(loaded: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in loaded}


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=ROOT,
        env={"PYTHONPATH": str(OPERATOR)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"Contracts: [1-9][0-9]* kept, 0 broken", done.stdout), done.stdout


def test_core_needs_the_standard_library_and_nothing_else() -> None:
    loaded = loaded_after(importing(modules("core")), blocked=True)
    assert set(modules("core")) <= loaded
    assert {name for name in loaded if name.startswith("toolvet.")} == {*modules("core")}


def test_core_loads_nothing_that_does_io() -> None:
    plain = loaded_after("")
    loaded = loaded_after(importing(modules("core"))) - plain
    # What toolvet/__init__.py itself loads, to know its own version, is not core's.
    loaded -= loaded_after("import toolvet") - plain
    assert not packages(loaded) & {"asyncio", "logging", "random", "secrets", "socket", "ssl", "subprocess"}


def test_an_installation_without_extras_pulls_in_nothing() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"] == []
    assert [text for text in requires("toolvet") or [] if "extra ==" not in text] == []


@pytest.mark.parametrize("extra", ["cli", "operator"])
def test_without_extras_a_command_says_what_to_install(extra: str) -> None:
    arguments = ["webhook"] if extra == "operator" else ["check"]
    code = f"""
import io
from toolvet.__main__ import main
sys.stderr = io.StringIO()
assert main({arguments!r}) == 2
assert "install 'toolvet[{extra}]'" in sys.stderr.getvalue(), sys.stderr.getvalue()
"""
    loaded_after(code, blocked=True)


WEBHOOK_ONLY = """
from toolvet.__main__ import main
try:
    main(["webhook", "--help"])
except SystemExit:
    pass
"""


def test_the_gate_loads_neither_kopf_nor_the_kubernetes_package() -> None:
    for code in (WEBHOOK_ONLY, importing(modules("webhook"))):
        loaded = loaded_after(code)
        assert "toolvet.webhook.main" in loaded
        assert not packages(loaded) & {"kopf", "kubernetes", "typer", "yaml", "click"}
        assert not {name for name in loaded if name.startswith(("toolvet.cli", "toolvet.controller"))}


def test_the_processes_load_nothing_of_each_other() -> None:
    loaded = loaded_after(importing(modules("controller")))
    assert not {name for name in loaded if name.startswith(("toolvet.cli", "toolvet.webhook"))}
    loaded = loaded_after("from toolvet.cli import app")
    assert not {name for name in loaded if name.startswith(("toolvet.webhook", "toolvet.controller"))}
    assert not packages(loaded) & {"kopf", "kubernetes"}


def test_one_package_stands_in_the_source_folder() -> None:
    found = {path.name for path in OPERATOR.iterdir() if path.name != "__pycache__"}
    assert found == {"toolvet"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["operator/toolvet"]


def test_the_chart_and_the_package_have_one_version() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "toolvet" / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {chart["version"], chart["appVersion"], project["version"], toolvet.__version__} == {
        project["version"]
    }
    assert chart["name"] == project["name"] == "toolvet"


def test_no_module_outgrows_one_idea() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path.name: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if path.read_text().strip() and not path.read_text().startswith('"""')
    ]
    assert silent == []

"""Core and runtime need Python's standard library alone, and touch no socket, process or file."""

import subprocess
import sys
from pathlib import Path

OPERATOR = Path(__file__).parents[2] / "operator"

# Run without site-packages: what is not of the standard library cannot even be found.
IMPORT_EVERYTHING = """
import pkgutil, sys
sys.path.insert(0, sys.argv[1])
events = []
sys.addaudithook(lambda event, arguments: events.append((event, arguments)))
PROCESSES = ("subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork")
FORBIDDEN = ("socket.", "urllib.", "ctypes.", *PROCESSES)
def forbidden():
    return [event for event, _ in events if event.startswith(FORBIDDEN)]
import toolvet, toolvet.core, toolvet.runtime
for package in (toolvet.core, toolvet.runtime):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        __import__(module.name)
"""

IMPORTS = (
    IMPORT_EVERYTHING
    + """
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"toolvet", "__main__"}
assert not foreign, foreign
assert not forbidden(), forbidden()
opened = [arguments for event, arguments in events if event == "open"]
written = [path for path, mode, _ in opened if mode and set(mode) & set("wax+")]
assert not written, written
outside = [path for path, *_ in opened if not str(path).endswith((".py", ".pyc", ".so"))]
assert not outside, outside
"""
)

USE = (
    IMPORT_EVERYTHING
    + """
from toolvet.core.catalog_diff import diff_tool_catalogs
from toolvet.runtime import *

def work():
    spec = ToolSpec("count", "Count", {"type": "object"}, None, read_only_hint=True)
    registry = ToolRegistry()
    registry.register(spec, handler=lambda value=0: value + 1)
    record = ToolInventoryRecord(
        "tool:org.example/count", "1.0.0", "capability:org.example/local",
        tool_spec_side_effect_class(spec), tool_spec_schema_digest(spec),
    )
    inventory = ToolInventory.from_records([record])
    assert ToolInventory.from_dict(inventory.to_dict()) == inventory
    inventory.to_json(), inventory.to_markdown()
    diff = diff_tool_catalogs(ToolInventory.from_records([]), inventory)
    diff.to_json(), diff.to_markdown()
    names = {record.key: "count"}
    catalog = RunToolCatalog.capture(RunId.generate(), inventory, registry, names)
    assert catalog.check(registry).preview_valid
    assert catalog.invoke(registry, *record.key, {"value": 1}) == 2
    pending = catalog.ainvoke(registry, *record.key, {"value": 1})
    try:
        pending.send(None)
    except StopIteration as done:
        assert done.value == 2
    snapshot = RunToolCatalogSnapshot.from_dict(catalog.snapshot.to_dict())
    snapshot.to_json(), snapshot.digest, snapshot.catalog.digest
    assert RunToolCatalog.restore(snapshot, registry, names).snapshot == snapshot
    other = ToolRegistry()
    other.register(spec, handler=lambda: None)
    assert [finding.to_dict() for finding in catalog.findings(other)]
    for broken in (None, {}, {"schema_version": "x", "tools": []}):
        try:
            ToolInventory.from_dict(broken)
        except ContractError as error:
            str(error), repr(error)

def touched():
    files = {"open", "import", "os.listdir", "os.scandir"}
    return [event for event, _ in events if event in files] + forbidden()

events.clear()
work()
assert not touched(), touched()
open(__file__ if "__file__" in globals() else sys.executable, "rb").close()
assert touched() == ["open"]  # the hook does see what it looks for
"""
)


def run(script: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", script, str(OPERATOR)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


def test_importing_takes_the_standard_library_and_opens_no_file_but_modules():
    run(IMPORTS)


def test_check_render_diff_and_digest_touch_no_socket_process_or_file():
    run(USE)

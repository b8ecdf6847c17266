"""Bind an agent's tools to a reviewed catalog: capture, check, invoke, restore.

Needs `pip install toolvet` and nothing else. All that is printed but the result is fit for a log.
"""

# ruff: noqa: T201  # an example prints
from toolvet.runtime import (
    RunId,
    RunToolCatalog,
    RunToolCatalogSnapshot,
    ToolCatalogReviewRequired,
    ToolInventory,
    ToolInventoryRecord,
    ToolRegistry,
    ToolSpec,
    tool_spec_schema_digest,
    tool_spec_side_effect_class,
)

NOTES = {"milk": "two bottles"}
TOOL_ID = "tool:org.example/read-note"


def read_note(title: str) -> dict[str, str | None]:
    """Run the tool; a handler takes its arguments by keyword."""
    return {"text": NOTES.get(title)}


# What the process can run.
read = ToolSpec(
    name="read_note",
    description="Read one note",
    input_schema={"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    output_schema={"type": "object", "properties": {"text": {"type": ["string", "null"]}}},
    read_only_hint=True,
)
registry = ToolRegistry()
registry.register(read, handler=read_note)

# What it is reviewed as: no description, no schema, no name of a function.
inventory = ToolInventory.from_records(
    [
        ToolInventoryRecord(
            tool_id=TOOL_ID,
            version=read.version,
            capability_class="capability:org.example/notes@1.0.0",
            side_effect_class=tool_spec_side_effect_class(read),
            schema_digest=tool_spec_schema_digest(read),
        )
    ]
)
names = {(TOOL_ID, read.version): read.name}

# Capture binds each record to the handler that stands behind it now; a reviewer approves the digest.
catalog = RunToolCatalog.capture(RunId.generate(), inventory, registry, names)
print("captured:", catalog.snapshot.digest)
print("check:", catalog.check(registry).status)
print("result:", catalog.invoke(registry, TOOL_ID, "1.0.0", {"title": "milk"}))

# Evidence can be stored and taken up again, by the process whose registrations it names.
evidence = catalog.snapshot.to_dict()
restored = RunToolCatalog.restore(RunToolCatalogSnapshot.from_dict(evidence), registry, names)
print("restored:", restored.snapshot.digest == catalog.snapshot.digest)

# A reload that registers another function under the same name asks for a new review.
reloaded = ToolRegistry()
reloaded.register(read, handler=lambda title: {"text": title})
print("after a reload:", [finding.to_dict() for finding in catalog.findings(reloaded)])
try:
    catalog.invoke(reloaded, TOOL_ID, "1.0.0", {"title": "milk"})
except ToolCatalogReviewRequired as refusal:
    print("refused:", refusal.code)

"""An agent's own tools as a registry, to publish and to run.

The pipeline publishes them, with the digest of the image that runs them:

    toolvet publish publish_registry:registry --name assistant --id-namespace org.example
      --capability capability:org.example/notes --implementation-id "$IMAGE_DIGEST"

The agent captures them when it starts and calls nothing else: ``publish_registry.py`` shows it.
"""

import asyncio

from toolvet.runtime import RunId, RunToolCatalog, ToolRegistry, ToolSpec, inventory_of

NOTES = {"shopping": "Bread and salt."}
TEXT = {"type": "string"}


def read_note(name: str) -> dict:
    """Return the text of a note."""
    return {"text": NOTES[name]}


async def add_note(name: str, text: str) -> dict:
    """Write a new note."""
    NOTES[name] = text
    return {"notes": len(NOTES)}


def registry() -> ToolRegistry:
    """Return the tools of this agent; the classes follow from the hints."""
    found = ToolRegistry()
    found.register(
        ToolSpec(
            name="read_note",
            description="Return the text of a note.",
            input_schema={"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
            output_schema={"type": "object", "properties": {"text": TEXT}},
            version="1.2.0",
            read_only_hint=True,
        ),
        handler=read_note,
    )
    found.register(
        ToolSpec(
            name="add_note",
            description="Write a new note.",
            input_schema={"type": "object", "properties": {"name": TEXT, "text": TEXT}},
            output_schema={"type": "object", "properties": {"notes": {"type": "integer"}}},
            version="1.0.0",
            destructive_hint=False,
        ),
        handler=add_note,
    )
    return found


async def main() -> None:
    """Capture the catalog of this run and call a tool of it."""
    tools = registry()
    capability = "capability:org.example/notes"
    identities = {
        "read_note": ("tool:org.example/read-note", capability),
        "add_note": ("tool:org.example/add-note", capability),
    }
    inventory, names = inventory_of(tools, identities)
    catalog = RunToolCatalog.capture(RunId.generate(), inventory, tools, names)
    arguments = {"name": "today", "text": "Read the diff."}
    print(await catalog.ainvoke(tools, "tool:org.example/add-note", "1.0.0", arguments))  # noqa: T201  # an example


if __name__ == "__main__":
    asyncio.run(main())

"""A small real agent: it captures its catalog when it starts and asks every second if all is as reviewed.

Runs in a Pod, from a ConfigMap, in the product's image; ``toolvet publish`` imports it to publish its tools.
RELEASE 2 has one tool more and another schema.
"""

import json
import os
import signal
import threading

from toolvet.runtime import RunId, RunToolCatalog, ToolRegistry, ToolSpec, inventory_of

CAPABILITY = "capability:org.example/notes"
RELEASE = int(os.environ.get("RELEASE", "1"))
NOTES = {"shopping": "Bread and salt."}
SECONDS = 1.0


def read_note(name: str) -> dict:
    return {"text": NOTES[name]}


def delete_note(name: str) -> dict:
    return {"deleted": NOTES.pop(name, None) is not None}


def registry() -> ToolRegistry:
    found = ToolRegistry()
    named = {"type": "object", "properties": {"name": {"type": "string"}}}
    if RELEASE > 1:
        named["required"] = ["name"]
    found.register(
        ToolSpec(
            name="read_note",
            description="Return the text of a note.",
            input_schema=named,
            output_schema={"type": "object"},
            version="1.0.0",
            read_only_hint=True,
        ),
        handler=read_note,
    )
    if RELEASE > 1:
        found.register(
            ToolSpec(
                name="delete_note",
                description="Delete a note.",
                input_schema=named,
                output_schema={"type": "object"},
                version="1.0.0",
                destructive_hint=True,
            ),
            handler=delete_note,
        )
    return found


def main() -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    tools = registry()
    identities = {
        name: (f"tool:org.example/{name.replace('_', '-')}", CAPABILITY)
        for name in ("read_note", "delete_note")[:RELEASE]
    }
    inventory, names = inventory_of(tools, identities)
    catalog = RunToolCatalog.capture(RunId.generate(), inventory, tools, names)
    while not ended.wait(SECONDS):
        eligibility = catalog.check(tools).status.value
        told = catalog.invoke(tools, "tool:org.example/read-note", "1.0.0", {"name": "shopping"})
        print(json.dumps({"release": RELEASE, "eligibility": eligibility, "told": told}), flush=True)


if __name__ == "__main__":
    main()

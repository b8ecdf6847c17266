"""Two writers who change the same inventories, and a record of every generation they made."""

import random
from dataclasses import dataclass, field
from typing import Any

from controller.objects import binding, catalog, deployment, inventory
from faults.changes import DEPLOYMENTS, approve, tools
from toolvet.core.binding import Catalog
from toolvet.kube.client import HTTP_CONFLICT, ApiClient, ApiError
from toolvet.kube.names import INVENTORIES
from toolvet.kube.resources import catalog_from_inventory, tools_to_spec

EDITS_EACH = 8  # with the first generation fewer than a history keeps: nothing of it is dropped


@dataclass
class Record:
    """What every generation of every inventory held, by name."""

    generations: dict[str, dict[int, Catalog]] = field(default_factory=dict)

    def add(self, obj: dict[str, Any]) -> None:
        metadata = obj["metadata"]
        known = self.generations.setdefault(metadata["name"], {})
        known[metadata["generation"]] = catalog_from_inventory(obj)

    def last(self, name: str) -> tuple[int, Catalog]:
        return max(self.generations[name].items())


class Writer:
    """Reads an inventory, changes it and writes it; starts over where the other was faster."""

    def __init__(self, api: ApiClient, namespace: str, record: Record, seed: int) -> None:
        self._api = api
        self._namespace = namespace
        self._record = record
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.overtaken = 0

    async def edit(self, name: str) -> None:
        while True:
            found = await self._api.get(INVENTORIES, self._namespace, name)
            assert found is not None
            fresh = self._changed(name, catalog_from_inventory(found))
            spec = {**found["spec"], "tools": tools_to_spec(fresh)}
            try:
                written = await self._api.replace(INVENTORIES, self._namespace, {**found, "spec": spec})
            except ApiError as error:
                if error.status != HTTP_CONFLICT:
                    raise
                self.overtaken += 1
            else:
                self._record.add(written)
                return

    def _changed(self, name: str, live: Catalog) -> Catalog:
        """Go back to what was approved, or to something that never was."""
        first = tools(name)
        if live.digest != first.digest and self._chance.random() < 0.2:
            return first
        seed = self._chance.getrandbits(128)
        others = [item for item in live.bindings if self._chance.random() < 0.7]
        taken = {item.tool.tool_id.rpartition("/")[2] for item in others}
        free = [f"tool-{number}" for number in range(10) if f"tool-{number}" not in taken]
        return catalog(*others, binding(self._chance.choice(free), schema=seed))


async def settle(admin: ApiClient, namespace: str, name: str, live: Catalog) -> dict[str, Any]:
    """Make an agent: what was approved, its live catalog, a workload. Returns the inventory."""
    await approve(admin, namespace, name)
    made = await admin.apply(INVENTORIES, namespace, inventory(live, name), manager="tests")
    await admin.apply(DEPLOYMENTS, namespace, deployment(name, name), manager="tests")
    return made

"""``toolvet publish``: the catalog of a registry, written as the agent's ToolInventory."""

from __future__ import annotations

from toolvet.cli.inventory_manifest import inventory_object
from toolvet.cli.output import print_note
from toolvet.cli.registry_module import load_registry
from toolvet.cli.session import Session
from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.denial import short_digest
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_digest
from toolvet.core.tool_mapping import ToolIdentity, ToolMapping
from toolvet.kube.names import INVENTORIES
from toolvet.runtime import ToolNotRegisteredError, ToolRegistry, ToolSpec
from toolvet.runtime.inventory_of import record_of

FIELD_MANAGER = "toolvet-publish"


def registry_catalog(reference: str, mapping: ToolMapping, implementation_id: str) -> Catalog:
    """Return the catalog of the registry at MODULE:ATTRIBUTE, every tool bound to the one identity.

    The identities of the registry itself are those of this process and say nothing to another.
    """
    if not is_digest(implementation_id):
        raise ContractError("implementation_id", "invalid_digest")
    return catalog_of_registry(load_registry(reference), mapping, implementation_id)


def catalog_of_registry(registry: ToolRegistry, mapping: ToolMapping, implementation_id: str) -> Catalog:
    """Return the bindings of all registered versions of all tools; the class comes from the spec's hints.

    Raises ContractError: those of the mapping, and ``tools[INDEX]`` in the order of name and version:
    ``handler: missing`` for a tool that nothing runs, ``invalid_schema``.
    """
    specs = registry.all_specs()
    identities = mapping.resolve([spec.name for spec in specs], [spec.version for spec in specs])
    bindings = []
    for index, (spec, identity) in enumerate(zip(specs, identities, strict=True)):
        fault = None
        try:
            bindings.append(_binding(registry, spec, identity, implementation_id))
        except ContractError as error:
            fault = error
        if fault is not None:
            raise fault.under(f"tools[{index}]")
    return Catalog(tuple(bindings))


def _binding(
    registry: ToolRegistry, spec: ToolSpec, identity: ToolIdentity, implementation_id: str
) -> ToolBinding:
    runs = True
    try:
        registry.handler(spec.name, spec.version)
    except ToolNotRegisteredError:
        runs = False
    if not runs:
        # An agent could not capture it: its inventory would list what it cannot call.
        raise ContractError("handler", "missing")
    return ToolBinding(record_of(spec, identity.tool_id, identity.capability_class), implementation_id)


async def publish(session: Session, name: str, catalog: Catalog) -> dict[str, object]:
    """Write the inventory by server-side apply, taking its tools over from other field managers."""
    document = inventory_object(catalog, name=name, namespace=session.namespace)
    await session.api.apply(INVENTORIES, session.namespace, document, manager=FIELD_MANAGER)
    print_note(
        f"published {len(catalog.bindings)} tools of inventory {name} in namespace {session.namespace},"
        f" catalog {short_digest(catalog.digest)}"
    )
    return document

"""A reviewed catalog bound to what runs it: capture, check, invoke, restore (CONTRACTS 9)."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from contextlib import suppress
from inspect import isawaitable, iscoroutine
from types import MappingProxyType
from typing import Any, final

from toolvet.core.binding import RunToolCatalogSnapshot, ToolBinding
from toolvet.core.eligibility import CatalogEligibility
from toolvet.core.errors import ContractError, ToolCatalogBindingError, ToolCatalogReviewRequired
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import Key, ToolInventory
from toolvet.runtime.binding import Names, bind, selection
from toolvet.runtime.findings import Reason, ToolFinding, contract_codes, faults
from toolvet.runtime.lookup import Captured, difference, is_registry, plainly_unchanged
from toolvet.runtime.registry import Result, ToolRegistry


@final
class RunToolCatalog:
    """The tools that one run may call, each with the handler it was reviewed with; immutable.

    Made by ``capture`` or ``restore`` only. The catalog asks the registry passed in, every time, whether
    all is as reviewed, and calls only what it captured: nothing that is registered later is ever called.
    """

    __slots__ = ("_by_key", "_snapshot", "_tools")
    _snapshot: RunToolCatalogSnapshot
    _tools: tuple[Captured, ...]
    _by_key: Mapping[Key, Captured]

    def __init__(self) -> None:
        raise ToolCatalogBindingError("invalid_bindings")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a catalog is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a catalog is immutable")

    def __repr__(self) -> str:
        return f"RunToolCatalog(tool_count={len(self._tools)})"

    @property
    def snapshot(self) -> RunToolCatalogSnapshot:
        """The evidence of this catalog, to be reviewed and stored."""
        return self._snapshot

    @classmethod
    def capture(
        cls, run_id: RunId, inventory: ToolInventory, registry: ToolRegistry, tool_names: Names
    ) -> RunToolCatalog:
        """Bind every record of an inventory to what runs it now (CONTRACTS 9.4).

        The first tool at fault decides the code; ``faults`` of the error names the tools, by their index in
        the sorted inventory. A record of class ``none`` can never be captured, for hints never lead to it;
        its fault is ``none_is_never_derived``. Unlike the reference, an empty inventory needs a registry
        too. Raises ToolCatalogBindingError and its child ToolCatalogReviewRequired (9.2).
        """
        if type(run_id) is not RunId:
            raise ToolCatalogBindingError("invalid_snapshot", [ContractError("run_id", "invalid_type")])
        if type(inventory) is not ToolInventory:
            raise ToolCatalogBindingError("invalid_snapshot", [ContractError("inventory", "invalid_type")])
        names = selection(tool_names, [tool.key for tool in inventory.tools])
        if not is_registry(registry):
            raise ToolCatalogReviewRequired(
                str(Reason.CATALOG_UNAVAILABLE), [ContractError("registry", "invalid_type")]
            )
        captured = bind(registry, names, [(record, None) for record in inventory.tools])
        bindings = tuple(ToolBinding(tool.record, tool.identity) for tool in captured)
        return _catalog(RunToolCatalogSnapshot(run_id, bindings), captured)

    @classmethod
    def restore(
        cls, snapshot: RunToolCatalogSnapshot, registry: ToolRegistry, tool_names: Names
    ) -> RunToolCatalog:
        """Take up a reviewed catalog against the registrations it was captured from (CONTRACTS 9.7).

        Schemas, classes and identities must be those of the evidence; the handlers, which evidence cannot
        carry, are the current ones. Raises as ``capture`` does.
        """
        if type(snapshot) is not RunToolCatalogSnapshot:
            raise ToolCatalogBindingError("invalid_snapshot", [ContractError("snapshot", "invalid_type")])
        names = selection(tool_names, [binding.key for binding in snapshot.bindings])
        wanted = [(binding.tool, binding.implementation_id) for binding in snapshot.bindings]
        return _catalog(snapshot, bind(registry, names, wanted))

    def check(self, registry: ToolRegistry) -> CatalogEligibility:
        """Report whether everything is as reviewed, over all tools together (CONTRACTS 9.5); never raises."""
        codes: set[str] = set()
        for reasons in self._differences(registry):
            codes |= contract_codes(reasons)
        return CatalogEligibility(self._snapshot.digest, tuple(codes))

    def findings(self, registry: ToolRegistry) -> tuple[ToolFinding, ...]:
        """Return the tools that are not as reviewed, sorted, with all that differs (CONTRACTS 15.3)."""
        found = zip(self._tools, self._differences(registry), strict=False)
        return tuple(
            ToolFinding(tool.record.tool_id, tool.record.version, reasons)
            for tool, reasons in found
            if reasons
        )

    def invoke(
        self, registry: ToolRegistry, tool_id: str, version: str, arguments: Mapping[str, Any]
    ) -> Result:
        """Check all tools again, then call the captured handler of one (CONTRACTS 9.6).

        Arguments and result are not validated. A coroutine of an async handler is returned to be awaited,
        as the reference does; ours checks once more right before it starts, and detaches its exceptions.
        Raises ToolCatalogReviewRequired where a review is needed, and
        ToolCatalogBindingError("invocation_failed") where the handler failed, without its exception.
        """
        handler = self._reviewed(registry, tool_id, version).handler
        try:
            result = handler(**arguments)
            return self._deferred(registry, result) if iscoroutine(result) else result
        except Exception:  # noqa: BLE001, S110  # a handler may raise anything, and content with it
            pass
        del arguments  # so that what prints the frames of a traceback finds none here
        raise ToolCatalogBindingError("invocation_failed")

    async def ainvoke(
        self, registry: ToolRegistry, tool_id: str, version: str, arguments: Mapping[str, Any]
    ) -> Result:
        """Do as ``invoke`` does and await what an async handler returns; an ordinary one is just called.

        Nothing is awaited between the check and the handler's first step. Cancellation passes through.
        """
        handler = self._reviewed(registry, tool_id, version).handler
        try:
            result = handler(**arguments)
            return await result if isawaitable(result) else result
        except Exception:  # noqa: BLE001, S110  # as in ``invoke``
            pass
        result = None  # a future keeps its exception
        del arguments
        raise ToolCatalogBindingError("invocation_failed")

    async def _deferred(self, registry: ToolRegistry, running: Coroutine[Any, Any, Any]) -> Result:
        try:
            self._require_unchanged(registry)
        except ToolCatalogReviewRequired:
            running.close()
            raise
        with suppress(Exception):  # as in ``invoke``
            return await running
        raise ToolCatalogBindingError("invocation_failed")

    def _reviewed(self, registry: ToolRegistry, tool_id: str, version: str) -> Captured:
        known = type(tool_id) is str and type(version) is str
        tool = self._by_key.get((tool_id, version)) if known else None
        if tool is None:
            raise ToolCatalogReviewRequired("unreviewed_tool")
        self._require_unchanged(registry)
        return tool

    def _require_unchanged(self, registry: ToolRegistry) -> None:
        differences = self._differences(registry)
        codes = {code for reasons in differences for code in contract_codes(reasons)}
        if codes:
            records = (tool.record for tool in self._tools)
            raise ToolCatalogReviewRequired(min(codes), faults(records, differences))

    def _differences(self, registry: object) -> Collection[tuple[Reason, ...]]:
        """Return what differs for each tool in order; nothing at all where nothing differs."""
        tools = self._tools
        if plainly_unchanged(tools, registry):
            return ()
        return [difference(tool, registry) for tool in tools]


def _catalog(snapshot: RunToolCatalogSnapshot, tools: tuple[Captured, ...]) -> RunToolCatalog:
    catalog = object.__new__(RunToolCatalog)
    object.__setattr__(catalog, "_snapshot", snapshot)
    object.__setattr__(catalog, "_tools", tools)
    object.__setattr__(catalog, "_by_key", MappingProxyType({tool.record.key: tool for tool in tools}))
    return catalog

"""The tools that this process can run, each registration with an identity of its own (CONTRACTS 4)."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import deepcopy
from os import urandom
from threading import RLock
from typing import Any, TypeGuard

from toolvet.core.errors import ContractError, ToolCatalogBindingError
from toolvet.core.side_effect import SideEffectClass, side_effect_class_from_hints
from toolvet.core.tool_contract import schema_digest
from toolvet.runtime.tool_spec import ToolSpec

Result = Any
"""Whatever a handler returns; an awaitable of it where the handler is async."""

Handler = Callable[..., Result]
"""What runs a tool; called with its arguments by keyword, ordinary or async."""

Implementation = tuple[ToolSpec, Handler, str]
"""A copy of the spec, the handler itself, and the identity of the registration."""

_WITHOUT_REFERENCES = 2
"""The format of ``marshal`` in which equal bytes mean equal values of equal types."""


class ToolNotRegisteredError(ContractError, KeyError):
    """No such tool, or no such version of it, or none that can run; a KeyError as in the reference."""

    def __init__(self) -> None:
        super().__init__("tool", "not_registered")

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it

    def under(self, prefix: str) -> ContractError:
        """Return the error with its place; no longer a KeyError, which has none."""
        return ContractError(f"{prefix}.{self.field}", self.code)


class Registration:
    """One spec under its name and version, and what runs it."""

    __slots__ = ("_judged", "handler", "identity", "spec")

    def __init__(self, spec: ToolSpec, handler: Handler | None) -> None:
        self.spec = spec
        self.handler = handler
        self.identity = None if handler is None else "sha256:" + urandom(32).hex()
        self._judged: tuple[bytes, tuple[str, SideEffectClass]] | None = None

    def __repr__(self) -> str:
        return "Registration(<content-free>)"

    def contract(self) -> tuple[str, SideEffectClass] | None:
        """Return schema digest and class of the spec as it is now; None when that is not cheap to tell.

        Schemas are mutable, so every call reads them; only for bytes that were never seen is a digest
        made, and from those very bytes. What is not of JSON's plain types is left to the caller.
        """
        spec = self.spec
        if type(spec) is not ToolSpec:
            return None
        # Parameters are no part of the contract; but the lookup copies them, and what has plain types can be.
        read = (
            spec.input_schema,
            spec.output_schema,
            spec.read_only_hint,
            spec.destructive_hint,
            spec.idempotent_hint,
            spec.parameters,
        )
        try:
            written = marshal.dumps(read, _WITHOUT_REFERENCES)  # type: ignore[arg-type]  # else ValueError
        except ValueError:
            return None
        judged = self._judged
        if judged is None or judged[0] != written:
            found = _contract(written)
            if found is None:
                return None
            self._judged = judged = written, found
        return judged[1]


def _contract(written: bytes) -> tuple[str, SideEffectClass] | None:
    read = marshal.loads(written)  # noqa: S302  # written by this process a moment ago
    taken, given, read_only, destructive, idempotent, _ = read
    hints = {"readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent}
    try:
        return schema_digest(taken, given), side_effect_class_from_hints(hints)
    except ContractError:
        return None


class ToolRegistry:
    """Specs by name and version; no registration is ever replaced or removed.

    A registration with a handler gets a random identity, which attests this registration in this process
    and nothing about code; one without can be listed, not run. Safe to share between threads.
    """

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        self._lock = RLock()
        self._registrations: dict[tuple[str, str], Registration] = {}
        for spec in specs:
            self.register(spec)

    def __repr__(self) -> str:
        return f"ToolRegistry(tool_count={len(self._registrations)})"

    def register(self, spec: ToolSpec, *, handler: Handler | None = None) -> None:
        """Add a tool; ContractError for a wrong type and for a name and version that are taken."""
        if not isinstance(spec, ToolSpec):
            raise ContractError("spec", "invalid_type")
        if handler is not None and not callable(handler):
            raise ContractError("handler", "invalid_type")
        registration = Registration(spec, handler)
        with self._lock:
            if self._registrations.setdefault((spec.name, spec.version), registration) is not registration:
                raise ContractError("spec", "already_registered")

    def get(self, name: str, version: str | None = None) -> ToolSpec:
        """Return the registered spec itself, of this version or else the latest; ToolNotRegisteredError."""
        return self._find(name, version).spec

    def handler(self, name: str, version: str | None = None) -> Handler:
        """Return what runs a tool, of this version or else the latest; ToolNotRegisteredError."""
        handler = self._find(name, version).handler
        if handler is None:
            raise ToolNotRegisteredError
        return handler

    def all_specs(self) -> tuple[ToolSpec, ...]:
        """Return the registered specs, by name and then by version."""
        with self._lock:
            specs = [registration.spec for registration in self._registrations.values()]
        return tuple(sorted(specs, key=lambda spec: (spec.name, _version_order(spec.version))))

    def implementation_binding(self, name: str, version: str) -> Implementation:
        """Return what runs exactly this version; there is no fallback to another.

        Raises ToolNotRegisteredError, also for a tool without a handler, and
        ToolCatalogBindingError("invalid_schema") for a spec that can no longer be copied.
        """
        registration = self._find(name, version)
        if registration.handler is None or registration.identity is None:
            raise ToolNotRegisteredError
        copied = None
        with suppress(Exception):  # copying runs foreign code, which may raise anything
            copied = deepcopy(registration.spec)
        if copied is None:
            raise ToolCatalogBindingError("invalid_schema")
        return copied, registration.handler, registration.identity

    def registrations(self, keys: Iterable[tuple[str, str]]) -> list[Registration | None]:
        """Return the registrations of these names and versions, all of one moment."""
        with self._lock:
            return [self._registrations.get(key) for key in keys]

    def _find(self, name: str, version: str | None) -> Registration:
        found: Registration | None = None
        if type(name) is str and (version is None or type(version) is str):
            with self._lock:
                version = self._latest(name) if version is None else version
                found = None if version is None else self._registrations.get((name, version))
        if found is None:
            raise ToolNotRegisteredError
        return found

    def _latest(self, name: str) -> str | None:
        versions = [registered for known, registered in self._registrations if known == name]
        return max(versions, key=_version_order, default=None)


def _version_order(version: str) -> tuple[list[tuple[int, str]], bool, str]:
    """Order by number; a pre-release comes before its release."""
    numbers, dash, _ = version.partition("+")[0].partition("-")
    # By length and then as text: numbers of any size have no leading zeros, and int() has a limit.
    return [(len(number), number) for number in numbers.split(".")], not dash, version


_LOOKUP = ToolRegistry.implementation_binding


def has_plain_lookup(registry: object) -> TypeGuard[ToolRegistry]:
    """Tell whether looking a tool up in this registry means reading its own table, and nothing else."""
    return (
        type(registry) is ToolRegistry
        and "implementation_binding" not in vars(registry)
        and ToolRegistry.implementation_binding is _LOOKUP
    )

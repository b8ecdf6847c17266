"""From runtime tool names to canonical ids, versions and capabilities: stated by the user, never guessed.

MCP has neither canonical ids nor tool versions nor capabilities (CONTRACTS 15.8). They come from defaults
(flags, or ``defaults`` of a mapping document) and from entries for single tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from toolvet.core.canonical import domain_digest
from toolvet.core.errors import ContractError, GovernanceIdError
from toolvet.core.identifiers import GovernanceKind, is_semver, parse_governance_id

_TO_LOCAL_NAME: Final = str.maketrans({"_": "-", ".": "-"})
_UNLISTED_DOMAIN: Final = "toolvet.dev/unlisted-tool-name.v1"
_NAME_DIGITS: Final = 32
_DOCUMENT_FIELDS: Final = frozenset({"defaults", "tools"})
_DEFAULT_FIELDS: Final = frozenset({"idNamespace", "version", "capabilityClass"})
_TOOL_FIELDS: Final = frozenset({"toolId", "version", "capabilityClass"})


class Unlisted(StrEnum):
    """What the local name of a tool is made of that no entry names."""

    DIGEST = "Digest"
    """A digest of the runtime name: whoever chose that name chose no text of a record."""
    NAME = "Name"
    """The runtime name itself, where it can be one."""


@dataclass(frozen=True, slots=True)
class ToolIdentity:
    """What a record says about a tool that its definition does not."""

    tool_id: str
    version: str
    capability_class: str


@dataclass(frozen=True, slots=True, repr=False)
class ToolMapping:
    """Defaults for all tools, and entries by runtime name; an entry wins over a default."""

    id_namespace: str | None = None
    version: str | None = None
    capability_class: str | None = None
    tools: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unlisted: Unlisted = Unlisted.NAME

    def with_defaults(
        self, *, id_namespace: str | None, version: str | None, capability_class: str | None
    ) -> ToolMapping:
        """Put other defaults before the mapping's own, as flags stand before a file."""
        return replace(
            self,
            id_namespace=id_namespace or self.id_namespace,
            version=version or self.version,
            capability_class=capability_class or self.capability_class,
        )

    def resolve(self, names: Sequence[str], versions: Sequence[str] | None = None) -> list[ToolIdentity]:
        """Return the identity of every tool, in the order of the runtime names.

        ``versions`` holds those of the tools where they are stated elsewhere; a name may then come once a
        version, and the mapping may state none.

        Raises ContractError: ``tools[INDEX].name: unmapped_tool``, ``.tool_id``, ``.version`` or
        ``.capability_class`` with missing, invalid or collision codes,
        ``mapping.tools[INDEX]: stale_entry`` when an entry names no tool of the server, and
        ``mapping.defaults.version`` or ``mapping.tools[INDEX].version: stated_elsewhere``.
        """
        served = set(names)
        for index, name in enumerate(self.tools):
            if name not in served:
                raise ContractError(f"mapping.tools[{index}]", "stale_entry")
        self._check_defaults()
        if versions is not None:
            self._refuse_versions()
        identities: list[ToolIdentity] = []
        seen: set[tuple[str, str]] = set()
        for index, name in enumerate(names):
            place = f"tools[{index}]"
            identity = self._identity(name, place, None if versions is None else versions[index])
            key = (identity.tool_id, identity.version)
            if key in seen:
                raise ContractError(f"{place}.tool_id", "collision")
            seen.add(key)
            identities.append(identity)
        return identities

    def _check_defaults(self) -> None:
        """Refuse a bad default at its own place, not at the first tool that takes it."""
        if self.id_namespace is not None:
            _check_id(f"tool:{self.id_namespace}/a", GovernanceKind.TOOL, "id_namespace")
        if self.version is not None and not is_semver(self.version):
            raise ContractError("version", "invalid_semver")
        if self.capability_class is not None:
            _check_id(self.capability_class, GovernanceKind.CAPABILITY, "capability_class")

    def _refuse_versions(self) -> None:
        """Refuse a version that would have no effect."""
        if self.version is not None:
            raise ContractError("mapping.defaults.version", "stated_elsewhere")
        for index, entry in enumerate(self.tools.values()):
            if "version" in entry:
                raise ContractError(f"mapping.tools[{index}].version", "stated_elsewhere")

    def _identity(self, name: str, place: str, stated: str | None) -> ToolIdentity:
        entry = self.tools.get(name, {})
        tool_id = entry.get("toolId")
        if tool_id is None:
            tool_id = self._derived_id(name, place)
        version = stated if stated is not None else entry.get("version", self.version)
        if version is None:
            raise ContractError(f"{place}.version", "missing")
        capability_class = entry.get("capabilityClass", self.capability_class)
        if capability_class is None:
            raise ContractError(f"{place}.capability_class", "missing")
        _check_id(tool_id, GovernanceKind.TOOL, f"{place}.tool_id")
        if not is_semver(version):
            raise ContractError(f"{place}.version", "invalid_semver")
        _check_id(capability_class, GovernanceKind.CAPABILITY, f"{place}.capability_class")
        return ToolIdentity(tool_id, version, capability_class)

    def _derived_id(self, name: str, place: str) -> str:
        if self.id_namespace is None:
            raise ContractError(f"{place}.tool_id", "missing")
        if self.unlisted is Unlisted.DIGEST and name not in self.tools:
            return f"tool:{self.id_namespace}/{opaque_local_name(_UNLISTED_DOMAIN, name)}"
        # The whole documented rule. Lower-casing is for ASCII only: U+212A would become an ASCII k.
        local_name = name.lower().translate(_TO_LOCAL_NAME) if name.isascii() else ""
        tool_id = f"tool:{self.id_namespace}/{local_name}"
        if not _is_unversioned_tool_id(tool_id):
            raise ContractError(f"{place}.name", "unmapped_tool")
        return tool_id


def opaque_local_name(domain: str, name: str) -> str:
    """Return a local name that says nothing of a runtime name, and is the same for the same one."""
    digest = domain_digest(domain, name.encode("utf-8", "surrogatepass")).removeprefix("sha256:")
    return f"t-{digest[:_NAME_DIGITS]}"


def parse_mapping(document: object) -> ToolMapping:
    """Read a mapping document: ``defaults`` and ``tools``, both optional, nothing else.

    Raises ContractError with field ``mapping``, ``mapping.defaults``, ``mapping.tools`` or
    ``mapping.tools[INDEX]`` and code invalid_type, unknown_field or invalid_value; the names of the
    entries are the server's and stay out of the text.
    """
    members = _members(document, _DOCUMENT_FIELDS, "mapping")
    defaults = _strings(members.get("defaults", {}), _DEFAULT_FIELDS, "mapping.defaults")
    entries = members.get("tools", {})
    if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
        raise ContractError("mapping.tools", "invalid_type")
    return ToolMapping(
        id_namespace=defaults.get("idNamespace"),
        version=defaults.get("version"),
        capability_class=defaults.get("capabilityClass"),
        tools={
            name: _strings(entry, _TOOL_FIELDS, f"mapping.tools[{index}]")
            for index, (name, entry) in enumerate(entries.items())
        },
    )


def _members(value: object, allowed: frozenset[str], place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ContractError(place, "invalid_type")
    if not value.keys() <= allowed:
        raise ContractError(place, "unknown_field")
    return value


def _strings(value: object, allowed: frozenset[str], place: str) -> dict[str, str]:
    members: dict[str, str] = {}
    for name, text in _members(value, allowed, place).items():
        # Quoting is the usual fault: YAML reads an unquoted 1.0 as a number.
        if not isinstance(text, str) or not text:
            raise ContractError(f"{place}.{name}", "invalid_value")
        members[name] = text
    return members


def _is_unversioned_tool_id(text: str) -> bool:
    try:
        return parse_governance_id(text, GovernanceKind.TOOL).version is None
    except GovernanceIdError:
        return False


def _check_id(text: str, kind: GovernanceKind, place: str) -> None:
    version = None
    try:
        version = parse_governance_id(text, kind).version
        valid = True
    except GovernanceIdError:
        valid = False
    if not valid:
        raise ContractError(place, "invalid_identifier")
    if version is not None and kind is GovernanceKind.TOOL:
        raise ContractError(place, "version_must_be_separate")

"""Tool inventories: exact parsing, order and rendering (CONTRACTS 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from toolvet.core.errors import MAX_FAULTS, ContractError, GovernanceIdError, ToolInventoryError
from toolvet.core.identifiers import GovernanceKind, is_digest, is_semver, match_governance_id, version_key
from toolvet.core.markdown import inventory_markdown
from toolvet.core.side_effect import SideEffectClass

SCHEMA_VERSION = "openmed.agent.tool_inventory.v1"
MAX_RECORDS = 10_000
RECORD_FIELDS = ("tool_id", "version", "capability_class", "side_effect_class", "schema_digest")
_RECORD_KEYS = frozenset(RECORD_FIELDS)
_CLASSES = {str(member): member for member in SideEffectClass}

Key = tuple[str, str]
"""What identifies a tool: its id and its version."""


def check_tool_id(value: object) -> None:
    """Refuse what is no unversioned tool id (CONTRACTS 2.2)."""
    code = "version_must_be_separate"
    try:
        valid = match_governance_id(value, GovernanceKind.TOOL)[2] is None
    except GovernanceIdError:
        valid, code = False, "invalid_identifier"
    if not valid:
        raise ToolInventoryError("tool_id", code)


def check_version(value: object) -> None:
    """Refuse what is no strict number triple (CONTRACTS 2.3)."""
    if not is_semver(value):
        raise ToolInventoryError("version", "invalid_semver")


def check_capability_class(value: object) -> None:
    """Refuse what is no capability id, versioned or not (CONTRACTS 2.2)."""
    try:
        match_governance_id(value, GovernanceKind.CAPABILITY)
        valid = True
    except GovernanceIdError:
        valid = False
    if not valid:
        raise ToolInventoryError("capability_class", "invalid_identifier")


def check_schema_digest(value: object) -> None:
    """Refuse what is no digest (CONTRACTS 1.5)."""
    if not is_digest(value):
        raise ToolInventoryError("schema_digest", "invalid_digest")


def parse_side_effect_class(value: object) -> SideEffectClass:
    """Return the member for a member or its text; ToolInventoryError otherwise."""
    member = _CLASSES.get(value) if isinstance(value, str) else None
    if member is None:
        raise ToolInventoryError("side_effect_class", "invalid_class")
    return member


@dataclass(frozen=True, slots=True, repr=False)
class ToolInventoryRecord:
    """One tool: unversioned id, version, capability, side-effect class, schema digest."""

    tool_id: str
    version: str
    capability_class: str
    side_effect_class: SideEffectClass
    schema_digest: str

    def __post_init__(self) -> None:
        check_tool_id(self.tool_id)
        check_version(self.version)
        check_capability_class(self.capability_class)
        if type(self.side_effect_class) is not SideEffectClass:
            raise ToolInventoryError("side_effect_class", "invalid_class")
        check_schema_digest(self.schema_digest)

    def __repr__(self) -> str:
        return "ToolInventoryRecord(<content-free>)"

    @property
    def key(self) -> Key:
        """The (tool_id, version) that no two records of an inventory share."""
        return self.tool_id, self.version

    @property
    def sort_key(self) -> tuple[str, tuple[int, int, int]]:
        """Order of CONTRACTS 5.3: id by code point, then version by number."""
        return self.tool_id, version_key(self.version)

    @classmethod
    def from_dict(cls, mapping: object) -> ToolInventoryRecord:
        """Parse a mapping of exactly the five fields (CONTRACTS 5.2 a)."""
        if not isinstance(mapping, Mapping):
            raise ToolInventoryError("tool", "invalid_type")
        fields = exact_fields(mapping, _RECORD_KEYS)
        if fields is None:
            raise ToolInventoryError("tool", "unreadable_mapping")
        if not fields:
            raise ToolInventoryError("tool", "invalid_fields")
        side_effect_class = parse_side_effect_class(fields["side_effect_class"])
        return cls(
            tool_id=fields["tool_id"],  # type: ignore[arg-type]  # checked by the constructor
            version=fields["version"],  # type: ignore[arg-type]  # the same
            capability_class=fields["capability_class"],  # type: ignore[arg-type]  # the same
            side_effect_class=side_effect_class,
            schema_digest=fields["schema_digest"],  # type: ignore[arg-type]  # the same
        )

    def to_dict(self) -> dict[str, str]:
        """Return the dict form, fields in the contract's order."""
        return {
            "tool_id": self.tool_id,
            "version": self.version,
            "capability_class": self.capability_class,
            "side_effect_class": str(self.side_effect_class),
            "schema_digest": self.schema_digest,
        }

    def to_json(self) -> str:
        """Return canonical JSON: members by name, and no grammar of a field has what JSON would escape."""
        return (
            f'{{"capability_class":"{self.capability_class}","schema_digest":"{self.schema_digest}",'
            f'"side_effect_class":"{self.side_effect_class}","tool_id":"{self.tool_id}",'
            f'"version":"{self.version}"}}'
        )


def exact_fields(mapping: Mapping[object, object], expected: frozenset[str]) -> dict[str, object] | None:
    """Return the members when the keys are exactly these, {} when not, None when it cannot be read."""
    if type(mapping) is dict:
        exact = len(mapping) == len(expected) and all(type(name) is str for name in mapping)
        return mapping if exact and mapping.keys() == expected else {}
    try:
        items = list(islice(mapping.items(), len(expected) + 1))
    except Exception:  # noqa: BLE001  # a hostile mapping may raise anything; the contract names one code
        return None
    fields: dict[str, object] = {}
    for item in items:
        if type(item) is not tuple or len(item) != 2 or type(item[0]) is not str:  # noqa: PLR2004
            return {}
        fields[item[0]] = item[1]
    return fields if len(items) == len(expected) and fields.keys() == expected else {}


@dataclass(frozen=True, slots=True, repr=False)
class ToolInventory:
    """A sorted tuple of records without two of one key."""

    tools: tuple[ToolInventoryRecord, ...]
    schema_version: str = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION:
            raise ToolInventoryError("schema_version", "unsupported_version")
        if type(self.tools) is not tuple:
            raise ToolInventoryError("tools", "invalid_records")
        if len(self.tools) > MAX_RECORDS:
            raise ToolInventoryError("tools", "too_many_records")
        if any(type(tool) is not ToolInventoryRecord for tool in self.tools):
            raise ToolInventoryError("tools", "invalid_records")
        if len({tool.key for tool in self.tools}) != len(self.tools):
            raise ToolInventoryError("tools", "duplicate_record")
        object.__setattr__(self, "tools", tuple(sorted(self.tools, key=lambda tool: tool.sort_key)))

    def __repr__(self) -> str:
        return f"ToolInventory(tool_count={len(self.tools)})"

    @classmethod
    def from_records(cls, records: Iterable[ToolInventoryRecord]) -> ToolInventory:
        """Build from typed records in any order (CONTRACTS 5.2 d)."""
        taken: tuple[ToolInventoryRecord, ...] | None
        try:
            taken = tuple(islice(records, MAX_RECORDS + 1))
        except Exception:  # noqa: BLE001  # the iterable is the caller's code; the contract names one code
            taken = None
        if taken is None:
            raise ToolInventoryError("tools", "unreadable_records")
        return cls(taken)

    @classmethod
    def from_dict(cls, mapping: object) -> ToolInventory:
        """Parse a document; a record at fault is ``tools: unreadable_records`` (CONTRACTS 5.2 c).

        The error's ``faults`` name the records, such as ``tools[3].version: invalid_semver``.
        """
        if not isinstance(mapping, Mapping):
            raise ToolInventoryError("inventory", "invalid_type")
        fields = exact_fields(mapping, frozenset({"schema_version", "tools"}))
        if not fields:
            raise ToolInventoryError("inventory", "invalid_fields")
        if fields["schema_version"] != SCHEMA_VERSION:
            raise ToolInventoryError("schema_version", "unsupported_version")
        listed = fields["tools"]
        if type(listed) is not list:
            raise ToolInventoryError("tools", "invalid_records")
        return cls.from_records(_parse(listed))

    def to_dict(self) -> dict[str, object]:
        """Return the dict form, fields in the contract's order."""
        return {"schema_version": self.schema_version, "tools": [tool.to_dict() for tool in self.tools]}

    def to_json(self) -> str:
        """Return canonical JSON without a newline."""
        tools = ",".join([tool.to_json() for tool in self.tools])
        return f'{{"schema_version":"{SCHEMA_VERSION}","tools":[{tools}]}}'

    def to_markdown(self) -> str:
        """Return the Markdown of CONTRACTS 5.4."""
        return inventory_markdown(self.schema_version, self.tools)


def _parse(listed: list[object]) -> list[ToolInventoryRecord]:
    records: list[ToolInventoryRecord] = []
    faults: list[ContractError] = []
    for index, document in enumerate(islice(listed, MAX_RECORDS + 1)):
        try:
            records.append(ToolInventoryRecord.from_dict(document))
        except ToolInventoryError as error:
            place = f"tools[{index}]"
            # A fault of the record as a whole has the field `tool`: its place says that already.
            whole = error.field == "tool"
            faults.append(ToolInventoryError(place, error.code) if whole else error.under(place))
            if len(faults) == MAX_FAULTS:
                break
    if faults:
        raise ToolInventoryError("tools", "unreadable_records", faults)
    return records

"""The specs of what stands around live MCP servers: sources, changes, enablements, held calls.

As ``kube.shapes``: they accept what the CRDs accept and nothing else (tests/parity).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Final, Self

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.errors import ContractError, GovernanceIdError
from toolvet.core.identifiers import GovernanceKind, is_semver, parse_governance_id
from toolvet.core.tool_account import SEVERITIES, AccountRule, ChangeEvent
from toolvet.core.tool_mapping import Unlisted
from toolvet.kube.names import DEFAULT_SERVICE_ACCOUNT, is_object_name
from toolvet.kube.shapes import (
    MAX_TOOLS,
    Digest,
    InventoryName,
    SpecModel,
    UserName,
    UtcTime,
    fault,
    rule,
)

MAX_SOURCE_NAME: Final = 190
"""An enablement's name is the source's, a dot, and the account's."""
MAX_URL: Final = 2048
MAX_RUNTIME_NAME: Final = 256
MAX_POINTER: Final = 1024
MAX_IGNORED_PATHS: Final = 64
MIN_INTERVAL: Final = 10
MAX_INTERVAL: Final = 3600
MAX_REASONS: Final = 64
MAX_FLAGS: Final = 16
MAX_ACKNOWLEDGED: Final = 1000
MAX_PENDING: Final = 256
KAGENT: Final = "kagent.dev/"

_URL = re.compile(
    r'https?://([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?([/?][!"$-~]*)?'
)
_REFERENCE = re.compile(r"(kagent\.dev|toolhive\.stacklok\.dev)/v[1-9][0-9]?((alpha|beta)[1-9][0-9]?)?")
_POINTER = re.compile(r"(/([^~/]|~0|~1)*)+")
_DURATION = re.compile(r"([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _whole(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None


def _is_id(text: str, kind: GovernanceKind) -> bool:
    try:
        parse_governance_id(text, kind)
    except GovernanceIdError:
        return False
    return True


def _is_tool_id(text: str) -> bool:
    try:
        return parse_governance_id(text, GovernanceKind.TOOL).version is None
    except GovernanceIdError:
        return False


def _ascends(texts: Sequence[str]) -> bool:
    """Tell whether these are sorted by code points, each once: the order in which CEL compares, too."""
    return all(before < after for before, after in pairwise(texts))


def _is_duration(text: str) -> bool:
    return _whole(_DURATION, text) and any(digit in text for digit in "123456789")


ObjectName = Annotated[StrictStr, rule("invalid_name", is_object_name)]
SourceName = Annotated[StrictStr, Field(max_length=MAX_SOURCE_NAME), rule("invalid_name", is_object_name)]
ToolId = Annotated[StrictStr, rule("invalid_identifier", _is_tool_id)]
Version = Annotated[StrictStr, rule("invalid_semver", is_semver)]
Capability = Annotated[
    StrictStr, rule("invalid_identifier", lambda text: _is_id(text, GovernanceKind.CAPABILITY))
]
RuntimeName = Annotated[StrictStr, Field(max_length=MAX_RUNTIME_NAME), rule("empty_name", bool)]
Rule = Annotated[StrictStr, rule("invalid_rule", lambda text: text in set(AccountRule))]


class ReferenceModel(SpecModel):
    """``ref`` of an MCPSource."""

    api_version: Annotated[StrictStr, rule("unknown_reference", lambda text: _whole(_REFERENCE, text))]
    kind: StrictStr
    name: ObjectName

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        remote = self.kind == "RemoteMCPServer" and self.api_version.startswith(KAGENT)
        if self.kind != "MCPServer" and not remote:
            raise fault("unknown_reference")
        return self


class MappingDefaults(SpecModel):
    """``mapping.defaults`` of an MCPSource."""

    id_namespace: (
        Annotated[StrictStr, rule("invalid_identifier", lambda text: _is_tool_id(f"tool:{text}/a"))] | None
    ) = None
    version: Version | None = None
    capability_class: Capability | None = None


class MappingEntry(SpecModel):
    """One of ``mapping.tools``."""

    name: RuntimeName
    tool_id: ToolId | None = None
    version: Version | None = None
    capability_class: Capability | None = None


MappingEntries = Annotated[
    list[MappingEntry],
    Field(max_length=MAX_TOOLS),
    rule("unsorted_entries", lambda entries: _ascends([entry.name for entry in entries])),
]


class MappingModel(SpecModel):
    """``mapping`` of an MCPSource."""

    defaults: MappingDefaults | None = None
    tools: MappingEntries | None = None
    unlisted: Annotated[StrictStr, rule("invalid_unlisted", lambda text: text in set(Unlisted))] | None = None


class IgnoredPathModel(SpecModel):
    """One of ``ignorePaths``."""

    tool: RuntimeName | None = None
    path: Annotated[
        StrictStr,
        Field(max_length=MAX_POINTER),
        rule("invalid_pointer", lambda text: _whole(_POINTER, text)),
    ]


class SourceSpec(SpecModel):
    """``spec`` of an MCPSource."""

    url: (
        Annotated[StrictStr, Field(max_length=MAX_URL), rule("invalid_url", lambda text: _whole(_URL, text))]
        | None
    ) = None
    ref: ReferenceModel | None = None
    inventory_name: Annotated[
        InventoryName, rule("reserved_name", lambda name: name != DEFAULT_SERVICE_ACCOUNT)
    ]
    credentials_secret_name: ObjectName | None = None
    interval_seconds: Annotated[StrictInt, Field(ge=MIN_INTERVAL, le=MAX_INTERVAL)] | None = None
    list_changed: StrictBool | None = None
    max_observation_age: Annotated[StrictStr, rule("invalid_duration", _is_duration)] | None = None
    reading: (
        Annotated[StrictStr, rule("invalid_reading", lambda text: text in {"Strict", "Literal"})] | None
    ) = None
    mapping: MappingModel | None = None
    ignore_paths: Annotated[list[IgnoredPathModel], Field(max_length=MAX_IGNORED_PATHS)] | None = None

    @model_validator(mode="after")
    def _is_at_one_place(self) -> Self:
        if (self.url is None) == (self.ref is None):
            raise fault("one_of")
        return self


class ComponentsModel(SpecModel):
    """``before`` and ``after`` of a ToolChange."""

    fingerprint: Digest
    contract: Digest | None = None
    hints: Digest | None = None
    rest: Digest | None = None


def _among(known: Iterable[str]) -> Callable[[list[str]], bool]:
    codes = frozenset(known)
    return codes.issuperset


class ChangeSpec(SpecModel):
    """``spec`` of a ToolChange."""

    source_name: SourceName
    source_uid: Annotated[StrictStr, rule("invalid_uid", lambda text: _whole(_UID, text))]
    tool_id: ToolId | None = None
    version: Version | None = None
    event: Annotated[StrictStr, rule("invalid_event", lambda text: text in set(ChangeEvent))]
    severity: Annotated[StrictStr, rule("invalid_severity", lambda text: text in {"Material", "Minor"})]
    literal_severity: Annotated[StrictStr, rule("invalid_severity", lambda text: text in SEVERITIES)]
    reasons: Annotated[
        list[StrictStr],
        Field(min_length=1, max_length=MAX_REASONS),
        rule("unknown_reason", _among(ChangeReason)),
        rule("unsorted", _ascends),
    ]
    flags: (
        Annotated[
            list[StrictStr],
            Field(max_length=MAX_FLAGS),
            rule("unknown_flag", _among(ToolFlag)),
            rule("unsorted", _ascends),
        ]
        | None
    ) = None
    before: ComponentsModel
    after: ComponentsModel | None = None
    evidence_secret_name: ObjectName | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.tool_id is None) != (self.version is None):
            raise fault("one_of")
        if (self.after is None) != (self.event == ChangeEvent.REMOVED):
            raise fault("one_of")
        if self.severity != "Material" and self.literal_severity == "Material":
            # The strict reading only promotes, and the literal one is never above any.
            raise fault("invalid_severity")
        return self


class RuleModel(SpecModel):
    """One of ``rules`` of a ToolEnablement."""

    tool_id: ToolId
    rule: Rule


class AcknowledgementModel(SpecModel):
    """One of ``acknowledged`` of a ToolEnablement."""

    change_name: ObjectName
    fingerprint: Digest


class EnablementSpec(SpecModel):
    """``spec`` of a ToolEnablement."""

    subject: UserName
    source_name: SourceName
    default_rule: Rule | None = None
    rules: (
        Annotated[
            list[RuleModel],
            Field(max_length=MAX_TOOLS),
            rule("unsorted_rules", lambda rules: _ascends([item.tool_id for item in rules])),
        ]
        | None
    ) = None
    acknowledged: Annotated[list[AcknowledgementModel], Field(max_length=MAX_ACKNOWLEDGED)] | None = None


class HeldCallSpec(SpecModel):
    """``spec`` of a HeldToolCall."""

    enablement_name: ObjectName
    tool_id: ToolId
    definition_fingerprint: Digest
    arguments_digest: Digest
    requested_by: UserName
    expires_at: UtcTime


def check_source_name(name: str, field: str) -> None:
    """Refuse an object name that no source may have."""
    if len(name) > MAX_SOURCE_NAME:
        raise ContractError(field, "name_too_long")

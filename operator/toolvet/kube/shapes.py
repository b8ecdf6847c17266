"""The specs of our custom resources: members, types, bounds and the grammar of what is no tool record.

They accept what the CRDs accept and nothing else (tests/parity). So an optional member may be null, which the
API server drops before it judges, and a length is counted in code points, as it counts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from toolvet.core.approval import SNAPSHOT_NAME_DIGITS
from toolvet.core.errors import ContractError
from toolvet.core.identifiers import is_digest
from toolvet.core.policy import ReviewOn
from toolvet.kube.names import MAX_LABEL, MAX_OBJECT_NAME, is_namespace_name, is_object_name

MAX_TOOLS = 1000
MAX_INVENTORY_NAME = MAX_OBJECT_NAME - 1 - SNAPSHOT_NAME_DIGITS
"""A snapshot's name is the inventory's, a hyphen and the first digits of a digest."""
MAX_MINOR_CHANGES = 4
MAX_USER_NAME = 512
MAX_REQUIRED_APPROVALS = 10
MAX_SUBJECTS = 64
MAX_LABELS = 16
MAX_LABEL_KEY = MAX_OBJECT_NAME + 1 + MAX_LABEL
MAX_OVERRIDES = 16
MAX_OVERRIDE_NAMESPACES = 64

Object = Mapping[str, Any]
T = TypeVar("T")

# The days of a month are left to whoever parses it.
_UTC_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z")


_MEMBERS = {"spec"}
"""The names of members that we gave, and that a fault may tell."""
_OUR_CODES: set[str] = set()


def fault(code: str) -> PydanticCustomError:
    """Return what a validator of ours raises: a fixed code, which ``read_spec`` repeats."""
    _OUR_CODES.add(code)
    return PydanticCustomError(code, code)


def rule(code: str, holds: Callable[[T], bool]) -> AfterValidator:
    """Return what refuses, with a fixed code, a value for which this does not hold."""

    def check(value: T) -> T:
        if not holds(value):
            raise fault(code)
        return value

    return AfterValidator(check)


def _without_nulls(value: object) -> object:
    return {key: item for key, item in value.items() if item is not None} if type(value) is dict else value


class SpecModel(BaseModel):
    """An object of a spec: unknown members are refused, names are camelCase, faults repeat nothing."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        hide_input_in_errors=True,
        populate_by_name=False,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401  # pydantic's own signature
        """Note the names of its members, which a fault may tell."""
        super().__pydantic_init_subclass__(**kwargs)
        _MEMBERS.update(str(field.alias) for field in cls.model_fields.values())


class ToolModel(SpecModel):
    """One entry of ``spec.tools`` or ``spec.bindings``; its grammar is the core's."""

    tool_id: StrictStr
    version: StrictStr
    capability_class: StrictStr
    side_effect_class: StrictStr
    schema_digest: StrictStr
    implementation_id: StrictStr


Tools = Annotated[list[ToolModel], Field(max_length=MAX_TOOLS)]
Digest = Annotated[StrictStr, rule("invalid_digest", is_digest)]
InventoryName = Annotated[
    StrictStr, Field(max_length=MAX_INVENTORY_NAME), rule("invalid_name", is_object_name)
]
UtcTime = Annotated[StrictStr, rule("invalid_time", lambda text: _UTC_TIME.fullmatch(text) is not None)]
UserName = Annotated[StrictStr, Field(max_length=MAX_USER_NAME), rule("empty_name", bool)]


class ToolInventorySpec(SpecModel):
    """``spec`` of a ToolInventory."""

    tools: Tools
    minor_change_of: Annotated[list[Digest], Field(max_length=MAX_MINOR_CHANGES)] | None = None


class SnapshotSpec(SpecModel):
    """``spec`` of a RunToolCatalogSnapshot."""

    inventory_name: InventoryName
    catalog_digest: Digest
    bindings: Tools
    run_id: StrictStr | None = None
    captured_by: UserName | None = None


class ApprovalSpec(SpecModel):
    """``spec`` of a CatalogApproval."""

    inventory_name: InventoryName
    snapshot_name: StrictStr
    snapshot_digest: Digest
    catalog_digest: Digest
    approved_by: UserName
    expires_at: UtcTime | None = None
    revoked: StrictBool | None = None


RequiredApprovals = Annotated[StrictInt, Field(ge=1, le=MAX_REQUIRED_APPROVALS)]
Subjects = Annotated[list[UserName], Field(max_length=MAX_SUBJECTS)]
AccountName = Annotated[StrictStr, Field(max_length=MAX_OBJECT_NAME), rule("empty_name", bool)]
LabelKey = Annotated[
    StrictStr,
    rule("empty_key", bool),
    rule("key_too_long", lambda key: len(key) <= MAX_LABEL_KEY),
]
LabelValue = Annotated[StrictStr, Field(max_length=MAX_LABEL)]


class AgentsModel(SpecModel):
    """``agents``: which workloads must be governed."""

    all: StrictBool | None = None
    service_account_names: Annotated[list[AccountName], Field(max_length=MAX_SUBJECTS)] | None = None
    match_labels: (
        Annotated[dict[LabelKey, LabelValue], Field(max_length=MAX_LABELS), BeforeValidator(_without_nulls)]
        | None
    ) = None


class PolicyRules(SpecModel):
    """The settings that stand for the cluster and, again, in an override."""

    required_approvals: RequiredApprovals | None = None
    max_approval_age: StrictStr | None = None
    delivery_subjects: Subjects | None = None
    agents: AgentsModel | None = None
    review_on: Annotated[StrictStr, rule("invalid_choice", lambda text: text in list(ReviewOn))] | None = None


Namespace = Annotated[StrictStr, rule("invalid_name", is_namespace_name)]


class PolicyOverride(PolicyRules):
    """Rules of their own for some namespaces; what is absent is as for the cluster."""

    namespaces: Annotated[list[Namespace], Field(min_length=1, max_length=MAX_OVERRIDE_NAMESPACES)]


class PolicySpec(PolicyRules):
    """``spec`` of the CatalogPolicy."""

    overrides: Annotated[list[PolicyOverride], Field(max_length=MAX_OVERRIDES)] | None = None


SpecT = TypeVar("SpecT", bound=SpecModel)

_CODES = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "string_too_long": "too_long",
    "too_long": "too_many_items",
    "too_short": "too_few_items",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
}


def _place(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        if isinstance(part, str) and part not in _MEMBERS:
            break  # the key of a mapping, hence the sender's text
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
        if part == "matchLabels":
            break  # what follows is such a key, even where it is a name of ours, too
    return text.lstrip(".")


def read_spec(model: type[SpecT], obj: Object) -> SpecT:
    """Read ``spec`` of an object; ContractError with the place of the first fault and its code."""
    code = ""
    location: tuple[int | str, ...] = ()
    try:
        return model.model_validate(obj.get("spec"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        code = first["type"] if first["type"] in _OUR_CODES else _CODES.get(first["type"], "invalid_type")
        # The name of an unknown member is the sender's text: only its place is told.
        location = first["loc"][:-1] if code == "unknown_field" else first["loc"]
    raise ContractError(_place(("spec", *location)), code)

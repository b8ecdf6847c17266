"""``toolvet changes list`` and ``ack``: what changed in live tools, and that one account has seen it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolvet.cli.output import print_note
from toolvet.cli.session import Session
from toolvet.core.change_reason import ChangeResult
from toolvet.core.denial import short_digest
from toolvet.core.errors import ContractError
from toolvet.core.tool_account import SEVERITIES, Enablement, RecordedChange, enablement_name
from toolvet.kube.account_resources import change_from_object, enablement_from_object
from toolvet.kube.client import HTTP_CONFLICT, HTTP_FORBIDDEN, ApiError
from toolvet.kube.names import TOOL_CHANGES, TOOL_ENABLEMENTS, is_object_name

Object = dict[str, Any]

_ATTEMPTS = 5
_SEVERITY_TEXTS = {result: text for text, result in SEVERITIES.items()}


@dataclass(frozen=True, slots=True)
class Change:
    """A change, and whether it waits for the caller; None where their enablements may not be read."""

    record: RecordedChange
    waits: bool | None

    def to_dict(self) -> Object:
        """Return the JSON form; content-free, as the ToolChange is."""
        record = self.record
        return {
            "name": record.name,
            "source": record.source_name,
            "toolId": record.tool_id,
            "version": record.version,
            "event": str(record.event),
            "severity": _SEVERITY_TEXTS[record.severity],
            "literalSeverity": _SEVERITY_TEXTS[record.literal_severity],
            "reasons": [str(reason) for reason in record.reasons],
            "flags": [str(flag) for flag in record.flags],
            "before": record.before.fingerprint,
            "after": None if record.after is None else record.after.fingerprint,
            "detectedAt": None if record.created_at is None else record.created_at.isoformat(),
            "evidence": record.evidence_secret_name,
            "waits": self.waits,
        }

    def __str__(self) -> str:
        """One line: which tool, what became of it, how much it matters, why, and both definitions."""
        record = self.record
        tool = "instructions" if record.tool_id is None else f"{record.tool_id} {record.version}"
        after = "-" if record.after is None else short_digest(record.after.fingerprint)
        reasons = ", ".join([*record.reasons, *record.flags])
        return (
            f"{record.name}: {tool}: {record.event}, {_SEVERITY_TEXTS[record.severity]}: {reasons};"
            f" {short_digest(record.before.fingerprint)} -> {after}"
        )


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which changes to list; None is no restriction."""

    source: str | None = None
    tool: str | None = None
    severity: ChangeResult | None = None
    waiting: bool = False

    def includes(self, change: Change) -> bool:
        """Tell whether a change is listed. One of which it is not known whether it waits is."""
        record = change.record
        return (
            self.source in {None, record.source_name}
            and self.tool in {None, record.tool_id}
            and self.severity in {None, record.severity}
            and not (self.waiting and change.waits is False)
        )


async def changes(session: Session, wanted: Wanted) -> list[Change]:
    """Read the changes of the namespace, the oldest first; raises ContractError and ApiError."""
    records = await _records(session)
    waiting: set[str] | None = None
    try:
        user = await session.user_name()
        stored = await session.api.items(TOOL_ENABLEMENTS, session.namespace)
    except ApiError as error:
        if error.status != HTTP_FORBIDDEN:
            raise
        print_note("note: you may not read enablements here, so it is not known what waits for you")
    else:
        mine = [item for item in map(enablement_from_object, stored) if item.subject == user]
        waiting = {change.name for item in mine for change in item.waiting(records)}
    listed = [Change(record, None if waiting is None else record.name in waiting) for record in records]
    listed.sort(key=lambda change: (str(change.record.created_at or ""), change.record.name))
    return [change for change in listed if wanted.includes(change)]


async def _records(session: Session) -> list[RecordedChange]:
    return [change_from_object(item) for item in await session.api.items(TOOL_CHANGES, session.namespace)]


async def change(session: Session, name: str) -> RecordedChange:
    """Read one change; raises ContractError("change", "not_found")."""
    stored = await session.api.get(TOOL_CHANGES, session.namespace, name) if is_object_name(name) else None
    if stored is None:
        raise ContractError("change", "not_found")
    return change_from_object(stored)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What came of it: the changes acknowledged now, and how many of the sources wait still."""

    names: tuple[str, ...]
    waiting: int

    def to_dict(self) -> Object:
        """Return the JSON form."""
        return {"acknowledged": list(self.names), "waiting": self.waiting}


async def acknowledge(
    session: Session, names: Sequence[str], source: str | None, *, dry_run: bool
) -> Acknowledged:
    """Acknowledge changes as the caller: those named, or all of ``source`` that wait.

    Raises ContractError: ``change: not_found``, ``enablement: not_found`` or ``another_account``.
    """
    given = [await change(session, name) for name in dict.fromkeys(names)]
    sources = [source] if source is not None else list(dict.fromkeys(each.source_name for each in given))
    user = await session.user_name()
    done: list[str] = []
    waiting = 0
    for each in sources:
        chosen = None if source is not None else {item.name for item in given if item.source_name == each}
        now, left = await _acknowledge(session, user, each, chosen, dry_run=dry_run)
        done += now
        waiting += left
    return Acknowledged(tuple(done), waiting)


async def _acknowledge(
    session: Session, user: str, source: str, chosen: set[str] | None, *, dry_run: bool
) -> tuple[list[str], int]:
    for attempt in range(_ATTEMPTS):
        stored, enablement = await _own(session, user, source)
        waiting = enablement.waiting(await _records(session))
        taken = [item for item in waiting if chosen is None or item.name in chosen]
        if taken:
            for item in taken:
                print_note(f"acknowledging as {user}: {Change(item, waits=True)}")
            try:
                await session.api.replace(
                    TOOL_ENABLEMENTS, session.namespace, _with(stored, taken), dry_run=dry_run
                )
            except ApiError as error:
                # Only ever added to: whoever was faster took nothing away from what is to be added.
                if error.status != HTTP_CONFLICT or attempt == _ATTEMPTS - 1:
                    raise
                print_note("the enablement was changed meanwhile: once more")
                continue
        names = [item.name for item in taken]
        for name in sorted((chosen or set()) - set(names)):
            print_note(f"note: {name} does not wait for {user}: nothing to acknowledge")
        left = sum(item.name not in names for item in waiting)
        return names, left
    raise AssertionError("the last attempt returns or raises")


async def _own(session: Session, user: str, source: str) -> tuple[Object, Enablement]:
    name = enablement_name(source, user)
    stored = None
    if name is not None and is_object_name(name):
        stored = await session.api.get(TOOL_ENABLEMENTS, session.namespace, name)
    if stored is None:
        raise ContractError("enablement", "not_found")
    enablement = enablement_from_object(stored)
    if enablement.subject != user:
        # Two subjects may come to one name; this is the other's.
        raise ContractError("enablement", "another_account")
    return stored, enablement


def _with(stored: Mapping[str, Any], taken: Sequence[RecordedChange]) -> Object:
    more = [{"changeName": item.name, "fingerprint": item.acknowledged_by} for item in taken]
    spec = stored["spec"]
    return {**stored, "spec": {**spec, "acknowledged": [*(spec.get("acknowledged") or []), *more]}}

"""Changes of live tools as text: a table, one change whole, and both sides of it for who may see them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolvet.cli.session import Session
from toolvet.cli.table import table
from toolvet.cli.tool_changes import Change
from toolvet.core.errors import ContractError
from toolvet.core.text_flags import escape_concealed
from toolvet.core.tool_account import RecordedChange
from toolvet.kube.client import Object
from toolvet.kube.names import EVIDENCE_TYPE, SECRETS

_SIDES: Final = ("before", "after")
_WAITS: Final = {True: "yes", False: "no", None: "unknown"}
_MAX_REASONS: Final = 3


@dataclass(frozen=True, slots=True, repr=False)
class ShownSide:
    """One side of a change: the server's own text, concealed characters escaped."""

    text: str
    digest: str
    size: int
    hidden: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"text": self.text, "digest": self.digest, "bytes": self.size, "hiddenBytes": self.hidden}


def list_text(changes: Sequence[Change]) -> str:
    """Return a table; empty where there is nothing."""
    if not changes:
        return ""
    rows = [("NAME", "TOOL", "VERSION", "CHANGE", "CLASS", "WAITS", "DETECTED", "REASONS")]
    for each in changes:
        item = each.to_dict()
        reasons = [*item["reasons"], *item["flags"]]
        more = f" and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
        rows.append(
            (
                item["name"],
                item["toolId"] or "(instructions)",
                item["version"] or "-",
                item["event"],
                item["severity"],
                _WAITS[each.waits],
                item["detectedAt"] or "-",
                ", ".join(reasons[:_MAX_REASONS]) + more,
            )
        )
    return table(rows)


def list_json(changes: Sequence[Change]) -> str:
    """Return the changes as JSON."""
    return json.dumps({"changes": [each.to_dict() for each in changes]}, indent=2) + "\n"


def change_text(change: Change, sides: dict[str, ShownSide | None] | None) -> str:
    """Return one change whole, a fact a line, and what each side says below."""
    facts = change.to_dict()
    rows = [
        (f"{name}:", "-" if value is None else ", ".join(value) if isinstance(value, list) else str(value))
        for name, value in facts.items()
        if name != "waits"
    ]
    text = table([*rows, ("waits:", _WAITS[change.waits])])
    for name, side in (sides or {}).items():
        if side is None:
            text += f"\n{name}: none, or not known any more\n"
        else:
            cut = f", {side.hidden} not shown" if side.hidden else ""
            text += f"\n{name} ({side.size} bytes{cut}, {side.digest}):\n{side.text}\n"
    return text


def change_json(change: Change, sides: dict[str, ShownSide | None] | None) -> str:
    """Return one change as JSON; ``evidence`` has its sides where they were asked for."""
    whole = change.to_dict()
    if sides is not None:
        whole["sides"] = {name: None if side is None else side.to_dict() for name, side in sides.items()}
    return json.dumps(whole, indent=2) + "\n"


async def read_sides(session: Session, change: RecordedChange) -> dict[str, ShownSide | None]:
    """Read what the change showed, as whoever may read that Secret.

    Raises ContractError: ``evidence: not_kept``, or ``unreadable`` for a Secret that is none of ours.
    """
    name = change.evidence_secret_name
    stored = None if name is None else await session.api.get(SECRETS, session.namespace, name)
    if stored is None:
        raise ContractError("evidence", "not_kept")
    if stored.get("type") != EVIDENCE_TYPE:
        raise ContractError("evidence", "unreadable")
    return {side: _side(stored, f"{side}.json") for side in _SIDES}


def _side(secret: Object, key: str) -> ShownSide | None:
    data = (secret.get("data") or {}).get(key)
    if data is None:
        return None
    found: ShownSide | None = None
    try:
        document = json.loads(base64.b64decode(data, validate=True))
        # Escaped when it was written; a terminal must not have to trust whoever wrote it.
        found = ShownSide(
            escape_concealed(str(document["text"])),
            escape_concealed(str(document["digest"])),
            int(document["bytes"]),
            int(document["hiddenBytes"]),
        )
    except (binascii.Error, KeyError, TypeError, ValueError):
        found = None
    if found is None:
        raise ContractError("evidence", "unreadable")
    return found

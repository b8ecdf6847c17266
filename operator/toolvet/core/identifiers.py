"""Grammars of identifiers, versions and digests (CONTRACTS 1.5, 2.1-2.5).

Every grammar matches the whole string, ASCII only; nothing is trimmed, folded or normalised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from os import urandom
from typing import TypeGuard

from toolvet.core.errors import CorrelationIdError, GovernanceIdError

MAX_IDENTIFIER_LENGTH = 512
MAX_NAMESPACE_LENGTH = 253
MAX_VERSION_LENGTH = 64
DIGEST_LENGTH = 71

_NUMBER = r"(?:0|[1-9][0-9]*)"
_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"

_IDENTIFIER = re.compile(
    rf"([a-z]+):({_LABEL}(?:\.{_LABEL})+)"  # kind, namespace
    rf"/([a-z][a-z0-9-]{{0,63}})(?:@({_VERSION}))?"  # local name, version
)
_SEMVER = re.compile(_VERSION)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CORRELATION = re.compile(r"(?P<kind>run|act)_[0-9a-f]{32}")
_SUMMARY_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9])?")
_TOKEN_BYTES = 16

TokenSource = Callable[[int], bytes]
"""Gives that many unpredictable bytes (CONTRACTS 2.4)."""


class GovernanceKind(StrEnum):
    """The closed set of identifier kinds (CONTRACTS 2.1)."""

    CAPABILITY = "capability"
    PURPOSE = "purpose"
    POLICY = "policy"
    WORKFLOW = "workflow"
    TOOL = "tool"


_KINDS = frozenset(GovernanceKind)


@dataclass(frozen=True, slots=True, repr=False)
class GovernanceId:
    """A parsed governance identifier; ``text`` is what was given, byte for byte."""

    text: str
    kind: GovernanceKind
    namespace: str
    local_name: str
    version: str | None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.kind.capitalize()}Id(<redacted>)"


def match_governance_id(text: object, kind: GovernanceKind) -> tuple[str, str, str | None]:
    """Return namespace, local name and version of an identifier of the kind asked for.

    Raises GovernanceIdError; the first failing step of CONTRACTS 2.1 decides.
    """
    if type(text) is not str:
        raise GovernanceIdError("identifier", "invalid_identifier_type")
    if len(text) > MAX_IDENTIFIER_LENGTH:
        raise GovernanceIdError("identifier", "identifier_too_long")
    match = _IDENTIFIER.fullmatch(text)
    if match is None:
        raise GovernanceIdError("identifier", "invalid_identifier")
    found, namespace, local_name, version = match.groups()
    if found != kind:
        raise GovernanceIdError("kind", "wrong_kind" if found in _KINDS else "unknown_kind")
    if len(namespace) > MAX_NAMESPACE_LENGTH:
        raise GovernanceIdError("namespace", "namespace_too_long")
    return namespace, local_name, version


def parse_governance_id(text: object, kind: GovernanceKind) -> GovernanceId:
    """Parse an identifier of the kind asked for; raises as ``match_governance_id``."""
    namespace, local_name, version = match_governance_id(text, kind)
    return GovernanceId(str(text), kind, namespace, local_name, version)


def is_semver(value: object) -> bool:
    """Tell whether this is a strict number triple of at most 64 characters (CONTRACTS 2.3)."""
    return type(value) is str and len(value) <= MAX_VERSION_LENGTH and _SEMVER.fullmatch(value) is not None


def version_key(version: str) -> tuple[int, int, int]:
    """Numeric sort key of a valid version: 1.9.0 before 1.10.0 (CONTRACTS 5.3)."""
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def is_digest(value: object) -> TypeGuard[str]:
    """Tell whether this is ``sha256:`` and 64 lower-case hex digits (CONTRACTS 1.5)."""
    return type(value) is str and len(value) == DIGEST_LENGTH and _DIGEST.fullmatch(value) is not None


def is_summary_workflow_id(value: object) -> TypeGuard[str]:
    """Tell whether this is a workflow id of a run summary: no governance identifier (CONTRACTS 2.5)."""
    return type(value) is str and _SUMMARY_ID.fullmatch(value) is not None


def _check_correlation_id(text: object, kind: str, field: str) -> None:
    match = _CORRELATION.fullmatch(text) if type(text) is str else None
    if match is None:
        raise CorrelationIdError(field, "invalid_identifier")
    if match["kind"] != kind:
        raise CorrelationIdError(field, "wrong_identifier_kind")


def _token(source: TokenSource) -> str:
    drawn = source(_TOKEN_BYTES)
    if type(drawn) is not bytes or len(drawn) != _TOKEN_BYTES:
        raise CorrelationIdError("", "invalid_token_source")
    return drawn.hex()


@dataclass(frozen=True, slots=True, repr=False)
class RunId:
    """An opaque run identifier, ``run_`` and 32 hex digits (CONTRACTS 2.4)."""

    text: str

    def __post_init__(self) -> None:
        _check_correlation_id(self.text, "run", "run_id")

    @classmethod
    def generate(cls, *, token_source: TokenSource = urandom) -> RunId:
        """Draw a new one; only a test has a reason to bring its own source."""
        return cls("run_" + _token(token_source))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "RunId(<opaque>)"


@dataclass(frozen=True, slots=True, repr=False)
class ActionId:
    """An opaque action identifier, ``act_`` and 32 hex digits (CONTRACTS 2.4)."""

    text: str

    def __post_init__(self) -> None:
        _check_correlation_id(self.text, "act", "action_id")

    @classmethod
    def generate(cls, *, token_source: TokenSource = urandom) -> ActionId:
        """Draw a new one; only a test has a reason to bring its own source."""
        return cls("act_" + _token(token_source))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "ActionId(<opaque>)"

"""What is remembered of a live server between looks: the baselines, and what was recorded last.

A baseline is the definition that was approved, that every account acknowledged, or that was seen first. It
does not follow the server: what is merely observed never becomes the baseline, and a tool that was removed
meets its own when it is back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from toolvet.core.tool_account import Components
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_mapping import ToolIdentity

MAX_GONE: Final = 1000
"""Removed tools that are remembered; more than that many names is no server's honest history."""
COMPONENTS: Final = ("fingerprint", "contract", "hints", "rest")


@dataclass(frozen=True, slots=True, repr=False)
class ToolMemory:
    """One tool. A definition is None where it did not fit into what can be stored."""

    baseline: Definition | None
    baseline_exact: str
    baseline_components: Components
    latest: Definition | None
    """What was confirmed last: the baseline, or the ``after`` of the newest change."""
    latest_exact: str
    latest_components: Components
    identity: ToolIdentity
    """Under which id and version it stood last; of a removed tool, for its return."""
    present: bool = True
    approved: bool = False
    """Whether the baseline is that of an approved catalog."""
    change_name: str | None = None
    """The newest change since the baseline. Acknowledged by every account, it makes a new baseline."""
    flags: tuple[str, ...] = ()
    """What only the listing at first sight could tell, such as a name that can be taken for another."""
    seen: Components | None = None
    """The components of the last look, confirmed or not."""
    flips: Mapping[str, int] = field(default_factory=dict)
    """How often each component came out otherwise while the server said it had not changed."""

    def recalled(self, definition: Definition, exact: str) -> ToolMemory:
        """Return the memory with what it lacked: an equal digest says that this is the definition."""
        baseline = definition if self.baseline is None and exact == self.baseline_exact else self.baseline
        latest = definition if self.latest is None and exact == self.latest_exact else self.latest
        if baseline is self.baseline and latest is self.latest:
            return self
        return replace(self, baseline=baseline, latest=latest)

    def rebased(self, *, approved: bool) -> ToolMemory:
        """Return the memory with what was confirmed last as its baseline."""
        return replace(
            self,
            baseline=self.latest,
            baseline_exact=self.latest_exact,
            baseline_components=self.latest_components,
            approved=approved,
            change_name=None,
            flags=(),
        )


@dataclass(frozen=True, slots=True, repr=False)
class TextMemory:
    """The instructions of the server."""

    baseline: str | None
    latest: str | None
    change_name: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class SourceMemory:
    """One source, by the runtime names of its tools."""

    tools: Mapping[str, ToolMemory]
    instructions: TextMemory
    sequence: int = 0
    """Changes recorded so far; it tells one fact from the next that looks like it."""
    approved_digest: str | None = None
    """The catalog whose definitions the approved baselines are."""
    approved_names: frozenset[str] = frozenset()
    """The tools of that catalog."""
    flips_of: str = ""
    """For which version of the server, and generation of the source, flips are counted."""


def rebuilt(
    digests: Mapping[str, Components], exacts: Mapping[str, str], identities: Mapping[str, ToolIdentity]
) -> SourceMemory:
    """Return what a status and an inventory still tell of a lost memory: its loss starts nobody afresh.

    ``digests`` and ``exacts`` go by tool id. Definitions are not known: unless one turns out to be the
    same, its next change cannot be classified and is material.
    """
    tools: dict[str, ToolMemory] = {}
    for name, identity in identities.items():
        components, exact = digests.get(identity.tool_id), exacts.get(identity.tool_id)
        if components is not None and exact is not None:
            tools[name] = ToolMemory(None, exact, components, None, exact, components, identity)
    return SourceMemory(tools, TextMemory(None, None))

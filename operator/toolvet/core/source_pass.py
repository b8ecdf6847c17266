"""One look at a live server against what is remembered of it: what to publish, what to record (DESIGN 6).

An inventory follows the first look that differs, so that an approval stops matching at once; a change is
recorded when the next look agrees, and an inventory goes back to what was confirmed only then, too. A look
that came to nothing is no look: this is not called for it, and so nothing is removed and nothing cleared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolvet.core.binding import Catalog, ToolBinding
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag
from toolvet.core.inventory import Key, ToolInventoryRecord
from toolvet.core.listing_change import ObservedListing, Presence, ToolStanding, compare_listings
from toolvet.core.source_change import Judged, NewChange, judge, judged_by, record
from toolvet.core.source_identity import Identities, identify
from toolvet.core.source_look import Forms, Look, ToolSight, instructions_digest, see
from toolvet.core.source_memory import COMPONENTS, MAX_GONE, SourceMemory, TextMemory, ToolMemory
from toolvet.core.text_flags import EDGE_BLANKS
from toolvet.core.tool_account import ChangeEvent, Components, RecordedChange
from toolvet.core.tool_mapping import ToolIdentity
from toolvet.core.tool_source import ToolSource

MAX_CHANGES: Final = 64
"""Changes that one pass records; the next ones record the rest, of which nothing is remembered yet."""
UNSTABLE_FLIPS: Final = 2
"""A component is unstable that came out otherwise so often from a server that says it is the same."""


@dataclass(frozen=True, slots=True, repr=False)
class Circumstances:
    """What the pass is told beside the look itself."""

    source: ToolSource
    source_uid: str
    generation: int
    previous: Look | None
    """The look before this one, where this process had one."""
    published: Mapping[Key, ToolBinding]
    """The inventory as it is; empty where there is none."""
    approved_digest: str | None
    """The digest of the catalog that was approved last."""
    acknowledged: frozenset[str]
    """Changes that every account they concern has acknowledged."""
    may_record: bool = True
    """False while the history is full of changes that nobody has looked at."""


@dataclass(frozen=True, slots=True, repr=False)
class Passed:
    """What to write. ``memory`` is to be kept once the changes are recorded, and not before."""

    memory: SourceMemory
    catalog: Catalog
    changes: tuple[NewChange, ...]
    identities: Identities
    minor_change_of: tuple[str, ...] = ()
    unstable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Components that do not stay, by runtime name."""
    unconfirmed: int = 0
    """Tools that the next look has to confirm."""
    flags: Mapping[str, tuple[ToolFlag, ...]] = field(default_factory=dict)


def run(memory: SourceMemory | None, look: Look, told: Circumstances, forms: Forms) -> Passed:
    """Compare a look with the memory; None at the first sight of the source.

    First sight is a baseline and no change. The order of the listing plays no part.
    """
    identities = identify(look.tools, told.source.mapping, look.server_version)
    known = memory or SourceMemory({}, TextMemory(look.instructions, look.instructions))
    worker = _Pass(known, look, told, forms, identities)
    return worker.run()


class _Pass:
    def __init__(
        self, known: SourceMemory, look: Look, told: Circumstances, forms: Forms, identities: Identities
    ) -> None:
        self._known = known
        self._look = look
        self._told = told
        self._forms = forms
        self._identities = identities
        self._tools: dict[str, ToolMemory] = {}
        self._changes: list[NewChange] = []
        self._sequence = known.sequence
        self._unconfirmed = 0
        self._flips_of = f"{look.server_version}\0{told.generation}"
        self._baselines: dict[str, ToolSight | None] = {}
        self._severities: dict[str, ChangeResult] = {}
        self._compared: Mapping[str, ToolStanding] | None = None

    def run(self) -> Passed:
        names = [*self._look.tools, *(name for name in self._known.tools if name not in self._look.tools)]
        new = [name for name in self._look.tools if name not in self._known.tools]
        new_flags = self._flags_of_new(new) if self._known.tools and new else {}
        for name in names:
            sight, known = self._look.tools.get(name), self._known.tools.get(name)
            if known is None and sight is not None:
                self._tools[name] = self._first_sight(name, sight, new_flags.get(name, ()))
            elif known is not None:
                self._tools[name] = self._again(name, known, sight)
        instructions = self._instructions()
        catalog = Catalog(tuple(self._bindings()))
        memory = replace(
            self._known,
            tools=_bounded(self._tools),
            instructions=instructions,
            sequence=self._sequence,
            flips_of=self._flips_of,
        )
        memory = self._approved(memory, catalog)
        return Passed(
            memory,
            catalog,
            tuple(self._changes),
            self._identities,
            self._minor_change_of(memory, catalog),
            _unstable(memory),
            self._unconfirmed,
            self._flags(memory),
        )

    # -- one tool

    def _first_sight(self, name: str, sight: ToolSight, flags: Iterable[ToolFlag]) -> ToolMemory:
        return ToolMemory(
            baseline=sight.definition,
            baseline_exact=sight.exact,
            baseline_components=sight.components,
            latest=sight.definition,
            latest_exact=sight.exact,
            latest_components=sight.components,
            identity=self._identities.tools[name],
            flags=tuple(sorted(flags)),
            seen=sight.components,
        )

    def _again(self, name: str, known: ToolMemory, sight: ToolSight | None) -> ToolMemory:
        if known.change_name is not None and known.change_name in self._told.acknowledged:
            known = known.rebased(approved=False)
        if sight is None:
            return self._absent(name, known)
        known = known.recalled(sight.definition, sight.exact)
        known = self._flipped(replace(known, identity=self._identities.tools[name]), sight)
        if known.present and known.latest_exact == sight.exact:
            return known
        if not self._agrees(name, sight):
            self._unconfirmed += 1
            return known
        return self._confirmed(name, known, sight)

    def _agrees(self, name: str, sight: ToolSight | None) -> bool:
        previous = self._told.previous
        if previous is None:
            return False
        before = previous.tools.get(name)
        return (before.exact if before else None) == (sight.exact if sight else None)

    def _absent(self, name: str, known: ToolMemory) -> ToolMemory:
        if not known.present:
            return known
        if not self._agrees(name, None) or not self._may_record():
            self._unconfirmed += 1
            return known
        flags = self._flags_of_gone().get(name, ())
        judged = replace(judged_by(ChangeReason.TOOL_REMOVED), flags=tuple(sorted(flags)))
        change = self._record(known.identity, ChangeEvent.REMOVED, judged, known.baseline_components, None)
        self._changes.append(NewChange(change, known.baseline, None))
        return replace(known, present=False, latest_exact="", change_name=None)

    def _confirmed(self, name: str, known: ToolMemory, sight: ToolSight) -> ToolMemory:
        judged = self._judge(name, known, sight)
        latest = replace(
            known,
            latest=sight.definition,
            latest_exact=sight.exact,
            latest_components=sight.components,
            present=True,
        )
        before, before_text = known.baseline_components, known.baseline
        event = ChangeEvent.CHANGED if known.present else ChangeEvent.RETURNED
        if not judged.reasons and known.present and known.change_name is not None:
            # Back to what was reviewed: a fact of the history, and nothing that has to wait.
            judged = judge(self._sight(known.latest), sight).at_most_minor()
            before, before_text = known.latest_components, known.latest
        elif not judged.reasons and not known.present:
            judged = judged_by(ChangeReason.TOOL_ADDED).at_most_minor()
        if not judged.reasons:
            return latest  # such as blanks at an edge: no change, and a memory that follows
        if not self._may_record():
            self._unconfirmed += 1
            return known
        change = self._record(latest.identity, event, judged, before, sight.components)
        self._changes.append(NewChange(change, before_text, sight.definition))
        reverted = sight.exact == known.baseline_exact
        return replace(latest, change_name=None if reverted else change.name)

    def _judge(self, name: str, known: ToolMemory, sight: ToolSight) -> Judged:
        judged = judge(self._baseline(name, known), sight)
        self._severities[name] = judged.severity(self._told.source.reading)
        return judged

    def _baseline(self, name: str, known: ToolMemory) -> ToolSight | None:
        if name not in self._baselines:
            self._baselines[name] = self._sight(known.baseline)
        return self._baselines[name]

    def _sight(self, definition: Mapping[str, object] | None) -> ToolSight | None:
        if definition is None:
            return None
        return see(definition, self._told.source.ignored_paths, self._forms)

    def _may_record(self) -> bool:
        return self._told.may_record and len(self._changes) < MAX_CHANGES

    def _record(
        self,
        identity: ToolIdentity | None,
        event: ChangeEvent,
        judged: Judged,
        before: Components,
        after: Components | None,
    ) -> RecordedChange:
        source = self._told.source
        change = record(
            source.name,
            self._told.source_uid,
            identity,
            event,
            judged,
            source.reading,
            before,
            after,
            self._sequence,
        )
        self._sequence += 1
        return change

    def _flipped(self, known: ToolMemory, sight: ToolSight) -> ToolMemory:
        flips = dict(known.flips) if self._known.flips_of == self._flips_of else {}
        if known.seen is not None and known.seen != sight.components:
            for component in COMPONENTS:
                if getattr(known.seen, component) != getattr(sight.components, component):
                    flips[component] = flips.get(component, 0) + 1
        return replace(known, seen=sight.components, flips=flips)

    # -- the listing as a whole

    def _instructions(self) -> TextMemory:
        known = self._known.instructions
        if known.change_name is not None and known.change_name in self._told.acknowledged:
            known = TextMemory(known.latest, known.latest)
        now, previous = self._look.instructions, self._told.previous
        if _shown(now) == _shown(known.latest) or previous is None:
            return known
        if _shown(previous.instructions) != _shown(now) or not self._may_record():
            return known
        judged = judged_by(ChangeReason.INSTRUCTIONS_CHANGED)
        reverted = _shown(now) == _shown(known.baseline)
        before = known.latest if reverted else known.baseline
        if reverted:
            judged = judged.at_most_minor()
        sides = Components(instructions_digest(before)), Components(instructions_digest(now))
        change = self._record(None, ChangeEvent.CHANGED, judged, *sides)
        self._changes.append(NewChange(change, before or "", now or ""))
        return replace(known, latest=now, change_name=None if reverted else change.name)

    def _bindings(self) -> Iterable[ToolBinding]:
        for name, sight in self._look.tools.items():
            identity = self._identities.tools[name]
            binding = _binding(identity, sight)
            published = self._told.published.get(binding.key)
            known = self._known.tools.get(name)
            confirmed = known is not None and known.present and known.latest_exact == sight.exact
            if confirmed and self._told.published and published != binding and not self._agrees(name, sight):
                # It went away from what was confirmed and is back: that has to last before it counts.
                self._unconfirmed += 1
                if published is not None:
                    yield published
                continue
            yield binding

    def _approved(self, memory: SourceMemory, catalog: Catalog) -> SourceMemory:
        """Make what is served the baseline where just that catalog was approved."""
        digest = catalog.digest
        if self._told.approved_digest != digest or self._unconfirmed:
            return memory
        tools = {
            name: tool.rebased(approved=True) if name in self._look.tools else tool
            for name, tool in memory.tools.items()
        }
        text = memory.instructions
        return replace(
            memory,
            tools=tools,
            instructions=TextMemory(text.latest, text.latest),
            approved_digest=digest,
            approved_names=frozenset(self._look.tools),
        )

    def _minor_change_of(self, memory: SourceMemory, catalog: Catalog) -> tuple[str, ...]:
        """Return the approved catalog where each tool differs from it, all in all, by minor changes only."""
        digest = memory.approved_digest
        if (
            self._unconfirmed
            or digest is None
            or digest == catalog.digest
            or memory.approved_names != self._look.tools.keys()
        ):
            return ()
        text = memory.instructions
        if _shown(self._look.instructions) != _shown(text.baseline) or self._identities.faults:
            return ()
        for name, sight in self._look.tools.items():
            tool = memory.tools.get(name)
            if tool is None or not tool.approved:
                return ()
            if sight.exact == tool.baseline_exact:
                continue
            if name not in self._severities:
                self._judge(name, tool, sight)
            if self._severities[name] is not ChangeResult.MINOR:
                return ()
        return (digest,)

    def _flags_of_new(self, new: Sequence[str]) -> dict[str, tuple[ToolFlag, ...]]:
        standings = self._standings()
        own = {ToolFlag.CONFUSABLE_NAME, ToolFlag.LOOKS_RENAMED}
        return {
            name: tuple(flag for flag in standings[name].verdict.flags if flag in own)
            for name in new
            if name in standings
        }

    def _flags_of_gone(self) -> dict[str, tuple[ToolFlag, ...]]:
        return {
            name: standing.verdict.flags
            for name, standing in self._standings().items()
            if standing.presence is Presence.REMOVED
        }

    def _standings(self) -> Mapping[str, ToolStanding]:
        if self._compared is not None:
            return self._compared
        former = {
            name: sight.parts
            for name, tool in self._known.tools.items()
            if tool.present and (sight := self._sight(tool.latest)) is not None and sight.parts is not None
        }
        now = {name: sight.parts for name, sight in self._look.tools.items() if sight.parts is not None}
        self._compared = compare_listings(ObservedListing(former), ObservedListing(now), Reading.STRICT).tools
        return self._compared

    def _flags(self, memory: SourceMemory) -> dict[str, tuple[ToolFlag, ...]]:
        return {
            name: tuple(sorted({*sight.flags, *(ToolFlag(flag) for flag in memory.tools[name].flags)}))
            for name, sight in self._look.tools.items()
            if sight.flags or (name in memory.tools and memory.tools[name].flags)
        }


def _binding(identity: ToolIdentity, sight: ToolSight) -> ToolBinding:
    tool = ToolInventoryRecord(
        tool_id=identity.tool_id,
        version=identity.version,
        capability_class=identity.capability_class,
        side_effect_class=sight.side_effect_class,
        schema_digest=sight.schema_digest,
    )
    return ToolBinding(tool, sight.exact)


def _bounded(tools: Mapping[str, ToolMemory]) -> dict[str, ToolMemory]:
    gone = [name for name, tool in tools.items() if not tool.present]
    forgotten = frozenset(gone[: max(0, len(gone) - MAX_GONE)])
    return {name: tool for name, tool in tools.items() if name not in forgotten}


def _unstable(memory: SourceMemory) -> dict[str, tuple[str, ...]]:
    found = {
        name: tuple(component for component in COMPONENTS if tool.flips.get(component, 0) >= UNSTABLE_FLIPS)
        for name, tool in memory.tools.items()
        if tool.present
    }
    return {name: components for name, components in found.items() if components}


def _shown(text: str | None) -> str:
    return (text or "").strip(EDGE_BLANKS)

"""``toolvet check``: the gate's own decision over manifests, before anything is applied."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolvet.cli.manifest_files import read_manifests
from toolvet.cli.output import ExitCode
from toolvet.cli.session import Session
from toolvet.cli.table import table
from toolvet.core.denial import denial_text, minor_change_text
from toolvet.core.errors import ContractError
from toolvet.kube.certainty import Certainty, Judge, Judgement
from toolvet.kube.declared import Declared, Subject, declare
from toolvet.kube.modes import ENFORCED, ModeOfNamespace, mode_of
from toolvet.kube.names import is_object_name
from toolvet.kube.reads import Reader
from toolvet.kube.review import nameable
from toolvet.kube.stored import Nowhere, Stored

_DEFAULT_NAMESPACE = "default"
_MAX_TOLD = 4
_AT_ONCE = 8
"""Workloads judged at a time: the reads of one go out together already."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One workload, what becomes of it, and why."""

    subject: Subject
    mode: ModeOfNamespace
    judgement: Judgement

    @property
    def certainty(self) -> Certainty:
        """What becomes of it in the mode of its namespace."""
        return self.mode.outcome(self.judgement.certainty)

    @property
    def code(self) -> str | None:
        """The reason in enforce mode, or of the warning it admits with; None where it says nothing."""
        reason = self.judgement.decision.code
        return None if reason is None else str(reason)

    @property
    def title(self) -> str:
        """Kind and name."""
        return f"{self.subject.kind.resource.kind}/{self.subject.title}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        decision = nameable(self.judgement.decision)
        return {
            "file": self.subject.file,
            "document": self.subject.document,
            "namespace": self.subject.namespace,
            "kind": self.subject.kind.resource.kind,
            "name": self.subject.title,
            "mode": self.mode.text,
            "verdict": str(self.certainty),
            "code": self.code,
            "inventory": decision.inventory,
            "catalogDigest": decision.live_digest,
            "snapshot": decision.snapshot,
            "unknown": list(self.judgement.missing) if self.certainty is Certainty.UNKNOWN else [],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding, in the order of the files."""

    findings: tuple[Finding, ...]
    live: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many workloads of each verdict."""
        found = Counter(finding.certainty for finding in self.findings)
        return {str(verdict): found[verdict] for verdict in Certainty}

    @property
    def exit_code(self) -> ExitCode:
        """Denied beats unknown."""
        if self.counts[Certainty.DENIED]:
            return ExitCode.DIFFERS
        return ExitCode.UNKNOWN if self.counts[Certainty.UNKNOWN] else ExitCode.CLEAN

    @property
    def json_text(self) -> str:
        """The report as JSON."""
        whole = {"workloads": [finding.to_dict() for finding in self.findings], "counts": self.counts}
        return json.dumps(whole, indent=2) + "\n"

    @property
    def text(self) -> str:
        """One line a workload: file, kind/name, verdict, code."""
        rows = [
            (item.subject.file, item.title, str(item.certainty), item.code or "-") for item in self.findings
        ]
        return table(rows)

    @property
    def notes(self) -> list[str]:
        """What a person wants to know of every workload that is not simply allowed."""
        found = [note for finding in self.findings if (note := self._note(finding)) is not None]
        assumed = sorted({item.subject.namespace for item in self.findings if item.mode.assumed})
        if assumed:
            found.append(f"note: mode not known, judged as enforced: namespace {_some(assumed)}")
        if not self.findings:
            found.append("note: no workload of a governed kind among the manifests")
        elif not self.live and self.counts[Certainty.UNKNOWN]:
            found.append("note: --live reads from the cluster what is not among the manifests")
        return found

    def _note(self, finding: Finding) -> str | None:
        head = f"{finding.subject.file}: {finding.title}: "
        decision = nameable(finding.judgement.decision)
        if finding.certainty is Certainty.UNKNOWN:
            missing = list(finding.judgement.missing) or [
                f"the mode of namespace {finding.subject.namespace}"
            ]
            return f"{head}unknown: it depends on {_some(missing)}"
        if finding.certainty is Certainty.DENIED:
            return head + denial_text(decision, finding.subject.namespace)
        if finding.judgement.certainty is not Certainty.ALLOWED and finding.mode.possible != (None,):
            text = denial_text(decision, finding.subject.namespace)
            return f"{head}not refused in mode {finding.mode.text}: {text}"
        if decision.minor_change:
            return head + minor_change_text(decision, finding.subject.namespace)
        return None


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _MAX_TOLD
    return ", ".join(names[:_MAX_TOLD]) + (f" and {rest} more" if rest > 0 else "")


async def judged(
    declared: Declared, stored: Reader, now: datetime, *, live: bool, mode_any: bool = False
) -> Report:
    """Judge every declared workload; ``mode_any`` takes every namespace for enforced."""
    judge = Judge(declared, stored, now)
    modes: dict[str, ModeOfNamespace] = {}
    for namespace in {subject.namespace for subject in declared.subjects}:
        known = None if mode_any else await mode_of(declared.modes.get(namespace), stored, namespace)
        modes[namespace] = known or ENFORCED
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(subject: Subject) -> Finding:
        namespace = subject.namespace
        async with turns:
            found = await judge.creation(namespace, subject.workload, kind=subject.kind, name=subject.name)
        return Finding(subject, modes[namespace], found)

    findings = await asyncio.gather(*(one(subject) for subject in declared.subjects))
    return Report(tuple(findings), live)


def check_offline(paths: Sequence[str], namespace: str | None, now: datetime, *, mode_any: bool) -> Report:
    """Judge manifests by themselves alone; raises ContractError."""
    declared = declare(read_manifests(paths), _namespace(namespace) or _DEFAULT_NAMESPACE)
    return asyncio.run(judged(declared, Nowhere(), now, live=False, mode_any=mode_any))


async def check_live(session: Session, paths: Sequence[str], now: datetime, *, mode_any: bool) -> Report:
    """Judge manifests as if all of them had been applied to the cluster; raises ContractError."""
    declared = declare(read_manifests(paths), session.namespace)
    return await judged(declared, Stored(session.api), now, live=True, mode_any=mode_any)


def _namespace(name: str | None) -> str | None:
    if name is not None and not is_object_name(name):
        raise ContractError("namespace", "invalid_name")
    return name

"""Which mode a namespace has once manifests are applied, and what a verdict comes to in it."""

from __future__ import annotations

from dataclasses import dataclass

from toolvet.kube.certainty import Certainty
from toolvet.kube.client import ApiError
from toolvet.kube.names import MODE_LABEL, NAMESPACES, Mode
from toolvet.kube.reads import Reader

_STRICTNESS: dict[Mode | None, int] = {None: 0, Mode.AUDIT: 1, Mode.WARN: 2, Mode.ENFORCE: 3}


@dataclass(frozen=True, slots=True)
class ModeOfNamespace:
    """The modes that may be in force: more than one where that is not certain; None = not governed."""

    possible: tuple[Mode | None, ...]
    assumed: bool = False
    """Nothing is known of it: judged as enforced."""

    def outcome(self, found: Certainty) -> Certainty:
        """Tell what becomes of a change: only enforce refuses."""
        outcomes = {found if mode is Mode.ENFORCE else Certainty.ALLOWED for mode in self.possible}
        return outcomes.pop() if len(outcomes) == 1 else Certainty.UNKNOWN

    @property
    def text(self) -> str:
        """The mode for a report."""
        names = " or ".join(str(mode) if mode is not None else "none" for mode in self.possible)
        return f"{names} (assumed)" if self.assumed else names


ENFORCED = ModeOfNamespace((Mode.ENFORCE,))
_ASSUMED = ModeOfNamespace((Mode.ENFORCE,), assumed=True)


async def mode_of(declared: Mode | None, stored: Reader, namespace: str) -> ModeOfNamespace:
    """Find the mode: the declared one over the label that is stored.

    A declared mode that is lower than the stored one, or than one that is not known, is not certain:
    whoever applies it needs the verb ``exempt``.
    """
    try:
        found = await stored.get(NAMESPACES, None, namespace)
    except ApiError:
        found = None
    if found is None:
        if declared in {None, Mode.ENFORCE}:
            return _ASSUMED if declared is None else ENFORCED
        return ModeOfNamespace((declared, Mode.ENFORCE))
    label = ((found.get("metadata") or {}).get("labels") or {}).get(MODE_LABEL)
    current = Mode(label) if label in list(Mode) else None
    if declared is None or declared is current:
        return ModeOfNamespace((current,))
    if _STRICTNESS[declared] > _STRICTNESS[current]:
        return ModeOfNamespace((declared,))
    return ModeOfNamespace((declared, current))

"""Differences of two definitions outside their schemas: titles, description, hints, and the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from toolvet.core.change_findings import Findings, Place
from toolvet.core.change_reason import ChangeReason, ToolFlag
from toolvet.core.json_identity import StructuralKeys
from toolvet.core.schema_text import has_prose, texts
from toolvet.core.text_flags import looks_alike
from toolvet.core.tool_parts import HINT_DEFAULTS, ToolParts, trimmed

MAX_EDGE_BLANKS: Final = 64

_R = ChangeReason
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ANNOTATIONS = Place("annotations")


def compare_texts(before: ToolParts, after: ToolParts, findings: Findings) -> None:
    """Compare what is displayed: blanks at the edges are no difference, unless they are many."""
    pairs = (
        (_R.TITLE_CHANGED, "title", before.displayed_title, after.displayed_title),
        (_R.DESCRIPTION_CHANGED, "description", trimmed(before.description), trimmed(after.description)),
    )
    for reason, member, old, new in pairs:
        if old != new:
            findings.add(reason, Place(member))
            if looks_alike(old or "", new or ""):
                findings.flags.add(ToolFlag.CONFUSABLE)
    _compare_second_title(before, after, findings)
    edges = (
        (Place("title"), before.title, after.title),
        (Place("description"), before.description, after.description),
        (_ANNOTATIONS.at("title"), before.annotations_title, after.annotations_title),
    )
    for place, earlier, later in edges:
        blanks = len(later or "") - len(trimmed(later) or "")
        if earlier != later and trimmed(earlier) == trimmed(later) and blanks > MAX_EDGE_BLANKS:
            findings.add(_R.EDGE_WHITESPACE_LARGE, place)


def _compare_second_title(before: ToolParts, after: ToolParts, findings: Findings) -> None:
    if trimmed(before.title) is None and trimmed(after.title) is None:
        return  # the annotations' title is the displayed one
    old, new = trimmed(before.annotations_title), trimmed(after.annotations_title)
    displayed = after.displayed_title
    if displayed == before.displayed_title and {old, new} <= {None, displayed}:
        if old != new or trimmed(before.title) != trimmed(after.title):
            findings.add(_R.TITLE_MOVED, Place("title"))
    elif old != new:
        findings.add(_R.ANNOTATIONS_TITLE_CHANGED, _ANNOTATIONS.at("title"))


def compare_hints(before: ToolParts, after: ToolParts, findings: Findings) -> None:
    """Compare the behaviour hints with MCP's defaults applied, and the class that follows from them."""
    old, new = before.effective_hints, after.effective_hints
    for name in HINT_DEFAULTS:
        if old[name] != new[name]:
            findings.add(_R.HINT_CHANGED, _ANNOTATIONS.at(name))
        elif (name in before.hints) != (name in after.hints):
            findings.add(_R.HINT_RESTATED, _ANNOTATIONS.at(name))
    if before.side_effect_class is not after.side_effect_class:
        findings.add(_R.SIDE_EFFECT_CHANGED, _ANNOTATIONS)


def compare_rest(before: ToolParts, after: ToolParts, keys: StructuralKeys, findings: Findings) -> None:
    """Compare what stands in no other component."""
    annotation = (_R.ANNOTATION_CHANGED, _R.ANNOTATION_WORDING_CHANGED)
    unknown = (_R.UNKNOWN_MEMBER_CHANGED, _R.UNKNOWN_MEMBER_WORDING_CHANGED)
    _compare_members(before.annotations, after.annotations, _ANNOTATIONS, annotation, keys, findings)
    _compare_members(before.unknown, after.unknown, Place("definition"), unknown, keys, findings)
    _compare_meta(before.meta, after.meta, keys, findings)
    if keys.key(before.icons) != keys.key(after.icons):
        findings.add(_R.ICONS_CHANGED, Place("icons"))
        if _hosts(after.icons) - _hosts(before.icons):
            findings.flags.add(ToolFlag.ICON_HOST_CHANGED)
    if keys.key(before.execution) != keys.key(after.execution):
        findings.add(_R.EXECUTION_CHANGED, Place("execution"))


def _compare_members(
    before: Mapping[str, object],
    after: Mapping[str, object],
    place: Place,
    reasons: tuple[ChangeReason, ChangeReason],
    keys: StructuralKeys,
    findings: Findings,
) -> None:
    for index, name in enumerate(sorted(before.keys() | after.keys())):
        sides = [{name: side[name]} if name in side else {} for side in (before, after)]
        if keys.key(sides[0]) != keys.key(sides[1]):
            worded = has_prose(_changed_texts(*sides))
            findings.add(reasons[worded], place.at(f"member[{index}]"))


def _compare_meta(before: object, after: object, keys: StructuralKeys, findings: Findings) -> None:
    if keys.key(before) == keys.key(after):
        return
    changed = _changed_texts(before, after)
    if has_prose(changed):
        findings.add(_R.META_WORDING_CHANGED, Place("_meta"))
    elif any(_LINK.search(text) for text in changed):
        findings.add(_R.META_LINK_CHANGED, Place("_meta"))
    else:
        findings.add(_R.META_CHANGED, Place("_meta"))


def _changed_texts(before: object, after: object) -> list[str]:
    return sorted(set(texts(before)) ^ set(texts(after)))


def _hosts(icons: object) -> set[str]:
    hosts = set()
    for icon in icons if isinstance(icons, list) else []:
        source = icon.get("src") if isinstance(icon, dict) else None
        if isinstance(source, str):
            hosts.add(_host(source))
    return hosts


def _host(source: str) -> str:
    host = source  # no URL: another text is another host
    with suppress(ValueError):
        parts = urlsplit(source)
        host = parts.hostname or parts.scheme
    return host

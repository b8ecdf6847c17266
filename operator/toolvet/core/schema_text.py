"""The strings inside JSON values, as far as a model may read them."""

from __future__ import annotations

from toolvet.core.text_flags import is_prose


def texts(value: object) -> list[str]:
    """Return all strings in a value, sorted, and of the member names those that may be read as language."""
    found: list[str] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, list):
            stack.extend(part)
        elif isinstance(part, dict):
            stack.extend(part.values())
            found.extend(name for name in part if is_prose(name))
    return sorted(found)


def has_prose(value: object) -> bool:
    """Tell whether any string in a value may be read as language."""
    return any(is_prose(text) for text in texts(value))


def looks_generated(title: object, name: str | None) -> bool:
    """Tell whether a schema title is an identifier, or the name of its own input written apart."""
    if not isinstance(title, str):
        return False
    return not is_prose(title) or (name is not None and _letters(title) == _letters(name))


def _letters(text: str) -> str:
    return text.replace(" ", "").replace("_", "").replace("-", "").casefold()

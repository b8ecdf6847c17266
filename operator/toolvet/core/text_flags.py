"""What a reader does not see in a text: concealed characters, and letters that look like others."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

EDGE_BLANKS: Final = " \t\r\n"
"""JSON's own four. More would be trimmed by one reader and not by another, and so carry what nobody sees."""

_CONCEALED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WHITESPACE = re.compile(r"\s")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_EMOJI_STYLE = "\ufe0f"
_JOINER = "\u200d"
_KEYCAP = "\u20e3"

# Cyrillic, Greek, Armenian and Latin letters that common fonts draw like an ASCII letter.
_DRAWN_LIKE = {
    "a": "\u0430\u03b1\u0251",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0456\u03b9\u0131",
    "j": "\u0458\u03f3",
    "k": "\u043a\u03ba",
    "l": "\u04cf",
    "n": "\u0578",
    "o": "\u043e\u03bf\u0585",
    "p": "\u0440\u03c1",
    "q": "\u051b",
    "s": "\u0455",
    "u": "\u03c5\u057d",
    "v": "\u0475\u03bd",
    "w": "\u051d",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3",
    "A": "\u0410\u0391",
    "B": "\u0412\u0392",
    "C": "\u0421",
    "E": "\u0415\u0395",
    "H": "\u041d\u0397",
    "I": "\u0406\u0399\u04c0",
    "J": "\u0408",
    "K": "\u041a\u039a",
    "M": "\u041c\u039c",
    "N": "\u039d",
    "O": "\u041e\u039f",
    "P": "\u0420\u03a1",
    "S": "\u0405",
    "T": "\u0422\u03a4",
    "X": "\u0425\u03a7",
    "Y": "\u0423\u03a5",
    "Z": "\u0396",
}
_TO_ASCII = {ord(char): ascii_ for ascii_, chars in _DRAWN_LIKE.items() for char in chars}
_LOOKALIKE = re.compile(f"[{''.join(_DRAWN_LIKE.values())}]")
_ASCII_TWINS = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "o"})


def is_prose(text: str) -> bool:
    """Tell whether a text may be read as language: it has a blank, or something concealed."""
    return _WHITESPACE.search(text) is not None or _CONCEALED.search(text) is not None


def conceals(text: str) -> bool:
    """Tell whether a text has characters that are not shown; emoji written as Unicode wants it have none."""
    if text.isascii() and text.isprintable():
        return False
    return any(not _belongs_to_emoji(text, match.start()) for match in _CONCEALED.finditer(text))


def _belongs_to_emoji(text: str, place: int) -> bool:
    char, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if char == _EMOJI_STYLE:
        return after == _KEYCAP or _is_symbol(before)
    return char == _JOINER and _is_symbol(after) and (before == _EMOJI_STYLE or _is_symbol(before))


def _is_symbol(char: str) -> bool:
    return bool(char) and unicodedata.category(char) in ("So", "Sk", "Sm")


def escape_concealed(text: str) -> str:
    """Return the text with every character that is not shown written as its number in braces."""
    if text.isascii() and text.isprintable():
        return text
    return _CONCEALED.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


def confuses(text: str) -> bool:
    """Tell whether a text is not in NFC form, or has a word of Latin letters and others drawn like them."""
    if text.isascii():
        return False
    if not unicodedata.is_normalized("NFC", text):
        return True
    return _LOOKALIKE.search(text) is not None and any(
        _LATIN.search(word) and _LOOKALIKE.search(word) for word in _WORD.findall(text)
    )


def looks_alike(one: str, other: str) -> bool:
    """Tell whether two different texts are drawn alike."""
    return one != other and _drawn(one) == _drawn(other)


def name_skeleton(name: str) -> str:
    """Return what is left of a name when case and look-alikes are set aside: equal ones can be mistaken."""
    shown = "".join(char for char in unicodedata.normalize("NFKD", _drawn(name)) if not _is_mark(char))
    return shown.translate(_ASCII_TWINS).casefold().replace("rn", "m")


def confuses_name(name: str) -> bool:
    """Tell whether a name has a character outside ASCII, or one that is not shown."""
    return _NOT_ASCII.search(name) is not None or _CONCEALED.search(name) is not None


def _drawn(text: str) -> str:
    if text.isascii():
        return text
    return _CONCEALED.sub("", unicodedata.normalize("NFKC", text)).translate(_TO_ASCII)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) == "Mn"

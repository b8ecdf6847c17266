"""Fenced blocks of a Markdown page, and the commands and expected output in its transcripts.

A block marked ``console`` is a transcript: ``$ `` begins a command, a backslash continues it, other lines
are its output. In those, ``...`` stands for any text, a line of it alone for any lines, and runs of blanks
are equal. A command without output may print anything. One whose output has a line that begins with
``Error`` or ``error:`` has to fail, every other has to succeed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PROMPT = "$ "
ANY = "..."
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<language>.*)$")


class PageError(ValueError):
    """A page breaks the form above; the text names the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the line it opens on, and what is in it."""

    language: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a transcript and what the page says it prints."""

    line: int
    command: str
    expected: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Tell whether the page shows it failing."""
        return any(line.startswith(("Error", "error:")) for line in self.expected)

    def matches(self, output: str) -> bool:
        """Tell whether the output is the expected one."""
        if not self.expected:
            return True
        given = output if output.endswith("\n") or not output else output + "\n"
        return re.fullmatch("".join(map(_pattern, self.expected)), given) is not None


def _pattern(line: str) -> str:
    if line.strip() == ANY:
        return r"(?:.*\n)*?"
    parts = [re.sub(r"(\\ )+", " +", re.escape(part)) for part in line.rstrip().split(ANY)]
    return ".*?".join(parts) + r" *\n"


def blocks(text: str) -> Iterator[Block]:
    """Yield every fenced block of a page; PageError where one is not closed."""
    opened: tuple[int, re.Match[str]] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, inside = (number, fence), []
        elif fence is not None and fence["ticks"] == opened[1]["ticks"] and not fence["language"].strip():
            yield Block(opened[1]["language"].strip(), opened[0], tuple(inside))
            opened = None
        else:
            inside.append(line.removeprefix(opened[1]["indent"]))
    if opened is not None:
        raise PageError(f"line {opened[0]}: the block is not closed")


def steps(block: Block) -> list[Step]:
    """Return the commands of a transcript, at least one; PageError where a line belongs to none."""
    found: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith(PROMPT):
            found.append((number, [line.removeprefix(PROMPT)], []))
        elif not found:
            raise PageError(f"line {number}: output before the first command")
        elif found[-1][1][-1].endswith("\\") and not found[-1][2]:
            found[-1][1].append(line)
        else:
            found[-1][2].append(line)
    if not found:
        raise PageError(f"line {block.line}: a transcript without a command")
    return [Step(number, "\n".join(command), tuple(output)) for number, command, output in found]


def transcript(text: str) -> list[Step]:
    """Return every command of a page, in its order."""
    return [step for block in blocks(text) if block.language == "console" for step in steps(block)]

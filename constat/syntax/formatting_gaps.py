"""What stands between two tokens: comments, and the lines they stand on.

In: a text and the offsets of a gap. Out: a `Gap`. Invariant: every comment of the gap is in it,
once and in order; what follows a token on its line trails it, what stands on the next token's line
leads it. Example: `, // why` and a new line give a gap that trails `// why`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PART: Final = re.compile(r"\n|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")
_BLANKS: Final = " \t\r\f\v"


@dataclass(frozen=True, slots=True)
class Gap:
    """Comments by where they stand; `own` has an empty text for each blank line."""

    trailing: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    breaks: bool = False
    """Whether a comment ends a line here, so that the next token cannot stay on it."""


EMPTY: Final = Gap()


def read_gap(text: str, start: int, end: int) -> Gap:
    """Read a gap between two tokens."""
    if text.find("/", start, end) < 0:
        return EMPTY
    lines = _lines(text, start, end)
    if len(lines) == 1:
        return Gap(leading=tuple(lines[0]))
    return Gap(tuple(lines[0]), _own(lines[1:-1]), tuple(lines[-1]), breaks=True)


def read_edge(text: str, start: int, end: int) -> Gap:
    """Read the gap before a statement or before the end, with its blank lines."""
    lines = _lines(text, start, end)
    if start == 0:
        # Nothing stands before the first token, so nothing can trail it.
        lines.insert(0, [])
    if end == len(text) and lines[-1]:
        # Nor does anything stand behind the end.
        lines.append([])
    if len(lines) == 1:
        return Gap(leading=tuple(lines[0]))
    return Gap(tuple(lines[0]), _own(lines[1:-1]), tuple(lines[-1]), breaks=True)


def _lines(text: str, start: int, end: int) -> list[list[str]]:
    """Give the comments of each line; a comment over several lines counts for its first."""
    lines: list[list[str]] = [[]]
    for found in _PART.finditer(text, start, end):
        part = found.group()
        if part == "\n":
            lines.append([])
        else:
            lines[-1].append(part if part[1] == "*" else part.rstrip(_BLANKS))
    return lines


def _own(lines: list[list[str]]) -> tuple[str, ...]:
    """Join the comments of each line; a blank line gives an empty text."""
    return tuple(" ".join(line) for line in lines)

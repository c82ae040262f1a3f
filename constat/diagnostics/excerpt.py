r"""Show one line of a text with a mark under a part of it.

In: a line, columns, a width. Out: two strings of equal scale: the line as it may appear in a
terminal, and the mark. Invariant: no control, bidirectional or half character of the text gets
through as itself; the mark stands under what it means, also behind tabs and wide characters.
Example: tabs are four blanks, ESC is `\x1b`, `日` is two columns wide.
"""

from __future__ import annotations

import unicodedata
from typing import Final

TAB: Final = 4
WIDEST: Final = 100
_BEFORE: Final = 40
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def visible(text: str) -> str:
    """Escape what a terminal would obey or hide."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_cell, text))


def _cell(character: str) -> str:
    """One character as it is shown."""
    if character == "\t":
        return " " * TAB
    if character.isascii():
        return character if character.isprintable() else f"\\x{ord(character):02x}"
    if unicodedata.category(character) in _INVISIBLE:
        return f"\\u{{{ord(character):x}}}"
    return character


def _width(cell: str) -> int:
    """The number of columns a shown character takes."""
    if cell.isascii():
        return len(cell)
    if unicodedata.combining(cell):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in {"W", "F"} else 1


def excerpt(line: str, start: int, end: int, sign: str) -> tuple[str, str]:
    """Give the line, cut around `start` (from 0), and `sign` repeated under it up to `end`."""
    first = max(0, min(start, len(line)) - WIDEST)
    cells = [_cell(character) for character in line[first : first + 3 * WIDEST]]
    start, end = start - first, end - first
    widths = [_width(cell) for cell in cells]
    left, before = _left_edge(widths, min(start, len(cells))), ""
    if left or first:
        before = "…"
    shown, used, right = [], 0, left
    while right < len(cells) and used + widths[right] <= WIDEST:
        shown.append(cells[right])
        used += widths[right]
        right += 1
    after = "…" if right < len(cells) or first + len(cells) < len(line) else ""
    indent = len(before) + sum(widths[left:start])
    marked = sum(widths[start : max(start, min(end, right))])
    text = before + "".join(shown).rstrip() + after
    return text, " " * indent + sign * max(1, marked)


def _left_edge(widths: list[int], start: int) -> int:
    """The first character to show, so that the mark is not far to the right."""
    if sum(widths) <= WIDEST:
        return 0
    left, distance = start, 0
    while left > 0 and distance + widths[left - 1] <= _BEFORE:
        left -= 1
        distance += widths[left]
    return left

"""Rows as a table for people.

In: cells as texts, and whether they are numbers. Out: lines with columns of one width, numbers to
the right. Invariants: a character that takes two places on a terminal counts as two, one that takes
none as none (UAX 11); no cell draws on the terminal; cells are cut only to fit a terminal, and what
is cut ends with an ellipsis. Example: `Table(("c", "n"), (False, True), 80).fit(rows)`.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from constat.cli.output import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_GAP: Final = "  "
_LEAST: Final = 4
_ELLIPSIS: Final = "…"


class Table:
    """Columns whose widths are found first; then lines are written one by one."""

    def __init__(self, names: Sequence[str], numbers: Sequence[bool], most: int | None) -> None:
        self._names = [plain(name) for name in names]
        self._numbers = tuple(numbers)
        self._most = most
        self.widths = [width(name) for name in self._names]
        self.cut: tuple[str, ...] = ()

    def fit(self, rows: Iterable[Sequence[str]]) -> None:
        """Make the columns as wide as their cells, and no wider together than allowed."""
        for row in rows:
            for place, cell in enumerate(row):
                self.widths[place] = max(self.widths[place], width(plain(cell)))
        if self._most is None or not self.widths:
            return
        full = list(self.widths)
        space = self._most - len(_GAP) * (len(self.widths) - 1)
        while sum(self.widths) > space and max(self.widths) > _LEAST:
            self.widths[self.widths.index(max(self.widths))] -= 1
        self.cut = tuple(
            name
            for name, now, then in zip(self._names, self.widths, full, strict=True)
            if now < then
        )

    def heading(self) -> str:
        """Write the names."""
        return self.line(self._names)

    def line(self, cells: Sequence[str]) -> str:
        """Write one row."""
        return _GAP.join(self._padded(cells)).rstrip()

    def _padded(self, cells: Sequence[str]) -> Iterator[str]:
        for cell, wide, number in zip(cells, self.widths, self._numbers, strict=True):
            text = shortened(plain(cell), wide)
            blank = " " * (wide - width(text))
            yield blank + text if number else text + blank


def plain(text: str) -> str:
    """Show line ends and tabs too as escapes, so that a cell is one line."""
    if text.isprintable():
        return text
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def width(text: str) -> int:
    """Count the places that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_places, text))


def _places(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Me", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def shortened(text: str, most: int) -> str:
    """Cut a text to so many places; a cut one ends with an ellipsis."""
    if width(text) <= most:
        return text
    kept, room = [], most - 1
    for character in text:
        room -= _places(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS

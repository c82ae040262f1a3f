"""What a document is once it was read: its text, and where sections, tables and fields stand in it.

In: the text that a reader made of a file. Out: sections by their headings, rows of tables, lines
`key: value`, each with its place. Invariant: a place is a range of characters of the text, and
`Places` tells the bytes of its UTF-8 form; the words there are the words that are quoted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, chain
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE: Final = re.compile(r"\r\n|\r|\n")
"""What ends a line."""
MARKS: Final = "*_`"
"""Letters that stand for emphasis in Markdown, and for nothing that is said."""
_LISTED: Final = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t]+")
_LONGEST_KEY: Final = 80
_LONGEST_VALUE: Final = 2_000
_NO_KEY: Final = re.compile(r"[.!?;]\s|https?$|[|<>{}\[\]]")


@frozen
class Section:
    """A part of a document under a heading, up to the next one of its level or above.

    Characters `start` to `end` of the text, heading included. What stands before the first heading
    lies in no section.
    """

    title: str
    level: int
    start: int
    end: int


@frozen
class TableRow:
    """A row of a table, and where it stands."""

    cells: tuple[str, ...]
    start: int
    end: int


@frozen
class Table:
    """A table with a row of headings. With `trouble` its rows cannot be told apart for certain."""

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    start: int
    trouble: str = ""


@frozen
class Field:
    """A line that says `key: value`."""

    key: str
    value: str
    start: int
    end: int


@frozen
class Parsed:
    """A document that was read.

    `reader` names what made the text of the file, with its version, and is empty where the text is
    the file itself. `marked` says that marks of Markdown stand between words.
    """

    text: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    tables: tuple[Table, ...] = ()
    reader: str = ""
    marked: bool = False

    def fields(self) -> Iterator[Field]:
        """Yield the lines that say `key: value`, lists and emphasis taken away."""
        begun = 0
        for ending in chain(LINE.finditer(self.text), (None,)):
            end = len(self.text) if ending is None else ending.start()
            found = self._field(begun, end)
            if found is not None:
                yield found
            begun = end if ending is None else ending.end()

    def _field(self, start: int, end: int) -> Field | None:
        if end - start > _LONGEST_KEY + _LONGEST_VALUE:
            return None
        listed = _LISTED.match(self.text, start, end)
        line = self.text[start if listed is None else listed.end() : end]
        key, colon, value = line.partition(":")
        if not colon or value[:1] not in {"", " ", "\t", *MARKS}:
            return None
        key, value = self.plain(key), self.plain(value)
        if not key or not value or len(key) > _LONGEST_KEY or _NO_KEY.search(key):
            return None
        first = end - len(line.lstrip())
        return Field(key, value, first, start + len(self.text[start:end].rstrip()))

    def plain(self, words: str) -> str:
        """Give words without blanks around them, and without marks of emphasis."""
        return words.strip(f" \t{MARKS}" if self.marked else " \t")

    def within(self, title: str) -> tuple[tuple[int, int], ...]:
        """Give the ranges of the sections with a title."""
        return tuple((one.start, one.end) for one in self.sections if one.title == title)


class Places:
    """Where things stand in one document: bytes, lines and the section around a place."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._lines = [0, *(found.end() for found in LINE.finditer(parsed.text))]
        ends = [*self._lines[1:], len(parsed.text)]
        stretches = zip(self._lines, ends, strict=True)
        sizes = (len(parsed.text[start:end].encode()) for start, end in stretches)
        self._bytes = self._lines if parsed.text.isascii() else [0, *accumulate(sizes)]
        self._borders, self._titles = _innermost(parsed.sections)

    def byte(self, place: int) -> int:
        """Give the byte of a character."""
        line = bisect_right(self._lines, place) - 1
        return self._bytes[line] + len(self._parsed.text[self._lines[line] : place].encode())

    def line(self, place: int) -> int:
        """Give the number of the line of a character, from 1."""
        return bisect_right(self._lines, place)

    def section(self, place: int) -> str:
        """Give the title of the innermost section around a character; empty outside of all."""
        at = bisect_right(self._borders, place) - 1
        return self._titles[at] if at >= 0 else ""


def _innermost(sections: tuple[Section, ...]) -> tuple[list[int], list[str]]:
    """Give where the innermost section changes, ascending, and the titles from there on."""
    borders: list[int] = []
    titles: list[str] = []
    around: list[Section] = []

    def change(place: int, title: str) -> None:
        if borders and borders[-1] == place:
            titles[-1] = title
            return
        borders.append(place)
        titles.append(title)

    def leave(place: int) -> None:
        while around and around[-1].end <= place:
            ended = around.pop()
            change(ended.end, around[-1].title if around else "")

    for one in sorted(sections, key=lambda one: (one.start, -one.end)):
        leave(one.start)
        around.append(one)
        change(one.start, one.title)
    if around:
        leave(max(one.end for one in around))
    return borders, titles


def sections_of(headings: list[tuple[int, int, str]], length: int) -> tuple[Section, ...]:
    """Make sections of headings: where each stands, its level and its title, in their order."""
    found: list[Section] = []
    waiting: list[tuple[int, int, str]] = []

    def close(level: int, end: int) -> None:
        while waiting and waiting[-1][1] >= level:
            start, own, title = waiting.pop()
            found.append(Section(title, own, start, end))

    for start, level, title in headings:
        close(level, start)
        waiting.append((start, level, title))
    close(0, length)
    return tuple(sorted(found, key=lambda one: (one.start, one.level)))


def kind_of(name: str) -> str:
    """Give the format of a file by the ending of its name; empty where none is known."""
    return ENDINGS.get(PurePosixPath(name).suffix.lower(), "")


ENDINGS: Final = MappingProxyType(
    {
        ".txt": "text",
        ".text": "text",
        ".md": "markdown",
        ".markdown": "markdown",
        ".html": "html",
        ".htm": "html",
        ".pdf": "pdf",
        ".docx": "docx",
        ".eml": "mail",
    }
)
"""Endings of files, and the formats they stand for."""

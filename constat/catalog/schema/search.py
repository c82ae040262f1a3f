"""Tables as words to find them by, and columns found by words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.described import Hit, to_json
from constat.catalog.schema.words import singular, words_of
from constat.store.catalog import Entry, KeptTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.catalog.schema.described import ColumnSchema, SourceSchema, TableSchema
    from constat.store.catalog import Found

# No name holds either: the guard takes no control characters.
_WORD: Final = "\x1f"
_CELL: Final = "\t"
_LONGEST_ABOUT: Final = 200
_MOST_ALIKE: Final = 200
_PATHS: Final = frozenset({"table", "operation"})


def lines_of(columns: Iterable[ColumnSchema]) -> str:
    """Write a line for each column: its words in the singular, its name, its comment."""
    return "".join(map(_line, columns))


def column_hits(
    words: Sequence[str], tables: Iterable[tuple[str, str, str]], most: int
) -> list[Hit]:
    """Find columns; a table is given as its source, its label and its lines."""
    wanted = stems(words)
    found = [
        (fitting, Hit("column", f"{source}.{label}.{name}", source, comment))
        for source, label, lines in tables
        for fitting, name, comment in _fitting(lines, wanted)
    ]
    found.sort(key=lambda one: -one[0])
    return [hit for _, hit in found[:most]]


def hits(words: Sequence[str], found: list[Found]) -> list[Hit]:
    """Give entries as hits; what is called exactly so comes before what is called so and more."""
    whole = singular(tuple(words))
    found.sort(key=lambda one: singular(words_of(one.label.partition("(")[0])) != whole)
    return [
        Hit(
            one.kind,
            f"{one.source}.{one.label}" if one.kind in _PATHS else one.label,
            one.place,
            one.about,
        )
        for one in found
    ]


def merged(first: list[Hit], second: list[Hit], most: int) -> list[Hit]:
    """Take turns, so that neither kind hides the other."""
    found: list[Hit] = []
    for place in range(max(len(first), len(second))):
        found += first[place : place + 1] + second[place : place + 1]
    return found[:most]


def stems(words: Sequence[str]) -> set[str]:
    """Give words in the singular."""
    return {word for one in words for word in singular((one,))}


def _line(column: ColumnSchema) -> str:
    known = sorted(stems(words_of(column.name)))
    comment = " ".join(column.comment.split())[:_LONGEST_ABOUT]
    return f"{_WORD}{_WORD.join(known)}{_WORD}{_CELL}{column.name}{_CELL}{comment}\n"


def _fitting(lines: str, wanted: set[str]) -> Iterator[tuple[int, str, str]]:
    """Give the columns that have any of the words, in their order, with how many they have."""
    marked = [f"{_WORD}{word}{_WORD}" for word in wanted]
    for begin in sorted({begin for word in marked for begin in _places(lines, word)}):
        known, name, comment = lines[begin : lines.index("\n", begin)].split(_CELL, 2)
        yield sum(word in known for word in marked), name, comment


def _places(lines: str, word: str) -> Iterator[int]:
    """Give where the lines with a word begin: the first ones, if nearly all have it."""
    place = lines.find(word)
    for _ in range(_MOST_ALIKE):
        if place < 0:
            return
        yield lines.rfind("\n", 0, place) + 1
        place = lines.find(word, lines.index("\n", place))


# No value of a row is among them.

_LONGEST: Final = 20_000


def kept_tables(source: SourceSchema) -> Iterator[KeptTable]:
    """Give what is kept of the tables."""
    for table in source.tables:
        yield KeptTable(
            source.database,
            table.label,
            table.kind,
            table.rows,
            len(table.columns),
            table.comment[:_LONGEST_ABOUT],
            json.dumps(to_json(table), ensure_ascii=False, separators=(",", ":")),
            tuple(dict.fromkeys(one.target for one in table.relationships)),
            lines_of(table.columns),
        )


def entries_of(source: SourceSchema) -> Iterator[Entry]:
    """Give the words by which the tables are found."""
    for table in source.tables:
        yield Entry(
            source.database,
            "operation" if table.kind == "operation" else "table",
            table.label,
            source.database,
            table.comment[:_LONGEST_ABOUT],
            _spread(table.name),
            _spread(" ".join([table.schema, *(one.name for one in table.columns)])),
            _comments(table),
        )


def _comments(table: TableSchema) -> str:
    said = [table.comment, *(one.comment for one in table.columns if one.comment)]
    return " ".join(said)[:_LONGEST]


def _spread(names: str) -> str:
    """Give the words in some names, each once, and the names as they are."""
    words = [word for name in names.split(" ") for word in (*words_of(name), name.lower())]
    return " ".join(dict.fromkeys(words))[:_LONGEST]

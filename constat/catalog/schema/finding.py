"""Find columns by words, and put what was found into one list.

In: tables that fit a search, with the words of their columns as one text. Out: hits. Invariants:
what has more of the words comes first; a table of thousands of columns takes no longer than reading
over that text. Example: `amount` finds `sales.orders.amount` and `sales.orders.total_amount`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog.schema.answers import Hit
from constat.catalog.schema.words import singular, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.catalog.schema.described import ColumnSchema
    from constat.store.catalog_index import Found

# No name holds either: the guard takes no control characters.
_WORD: Final = "\x1f"
_CELL: Final = "\t"
_LONGEST_ABOUT: Final = 200
_MOST_ALIKE: Final = 200


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
            f"{one.source}.{one.label}" if one.kind == "table" else one.label,
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

"""Tables as words to find them by, and columns found by words."""

from __future__ import annotations

import json
import math
import operator
from collections import Counter, defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.described import Hit, to_json
from constat.catalog.schema.words import singular, words_of
from constat.store.catalog import Entry, KeptTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from constat.catalog.schema.described import ColumnSchema, SourceSchema, TableSchema
    from constat.store.catalog import Found

# No name holds either: the guard takes no control characters.
_WORD: Final = "\x1f"
_CELL: Final = "\t"
_LONGEST_ABOUT: Final = 200
_MOST_ALIKE: Final = 200
_BY_SYNONYM: Final = 0.6
_PATHS: Final = frozenset({"table", "operation"})


def lines_of(columns: Iterable[ColumnSchema]) -> str:
    """Write a line for each column: its words in the singular, its name, its comment."""
    return "".join(map(_line, columns))


def column_hits(
    words: Sequence[str],
    tables: Iterable[tuple[str, str, str]],
    most: int,
    synonyms: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[Hit]:
    """Find columns; a table is given as its source, its label and its lines.

    `synonyms` has other words for a word, which count for less.
    """
    wanted = {singular((one,))[0]: stems(synonyms.get(one, ())) for one in words}
    found = [
        (fitting, Hit("column", f"{source}.{label}.{name}", source, comment))
        for source, label, lines in tables
        for fitting, name, comment in _fitting(lines, wanted)
    ]
    # What few columns have tells more.
    often = [sum(one[place] > 0 for one, _ in found) for place in range(len(wanted))]
    weights = [1 / (1 + math.log(max(1, one))) for one in often]
    found.sort(key=lambda one: -sum(map(operator.mul, one[0], weights)))
    return [hit for _, hit in found[:most]]


def ordered(
    words: Sequence[str], found: Iterable[Found], synonyms: Mapping[str, Sequence[str]]
) -> list[Found]:
    """Put what is called exactly so before what is called so and more.

    Between them is what is called by nothing but the words and their synonyms.
    """
    whole = singular(tuple(words))
    others = [stems((word, *synonyms.get(word, ()))) for word in words]

    def place(one: Found) -> int:
        name = singular(words_of(one.label.partition("(")[0]))
        if name == whole:
            return 0
        alike = len(name) == len(others) and all(map(set.__contains__, others, name))
        return 1 if alike else 2

    return sorted(found, key=place)


def hits(found: Iterable[Found]) -> list[Hit]:
    """Give entries as hits."""
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


def _fitting(
    lines: str, wanted: Mapping[str, Collection[str]]
) -> Iterator[tuple[Sequence[float], str, str]]:
    """Give the columns that have any of the words, in their order, with how each word fits."""
    marked = [
        (_marked(word), [_marked(other) for other in others]) for word, others in wanted.items()
    ]
    every = {one for word, others in marked for one in (word, *others)}
    for begin in sorted({begin for word in every for begin in _places(lines, word)}):
        known, name, comment = lines[begin : lines.index("\n", begin)].split(_CELL, 2)
        yield [_fit(known, *one) for one in marked], name, comment


def _marked(word: str) -> str:
    return f"{_WORD}{word}{_WORD}"


def _fit(known: str, word: str, others: Sequence[str]) -> float:
    if word in known:
        return 1.0
    return _BY_SYNONYM if any(other in known for other in others) else 0.0


def _places(lines: str, word: str) -> Iterator[int]:
    """Give where the lines with a word begin: the first ones, if nearly all have it."""
    place = lines.find(word)
    for _ in range(_MOST_ALIKE):
        if place < 0:
            return
        yield lines.rfind("\n", 0, place) + 1
        place = lines.find(word, lines.index("\n", place))


# What comments call the words of names: `client number` beside `cust_no` makes `client` stand for
# `cust`, also where a column has no comment. Rules do the same for the tables that they read.

_LONGEST_COMMENT: Final = 8
_MOST_LEARNED: Final = 20_000
_SHARE: Final = 0.5
_EMPTY: Final = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "if", "in"),
        *("is", "it", "its", "no", "not", "of", "on", "or", "per", "that", "the", "this", "to"),
        *("was", "were", "which", "who", "with", "der", "die", "das", "des", "dem", "den"),
        *("ein", "eine", "und", "oder", "von", "vom", "zu", "im", "am", "ist"),
    )
)

Naming = tuple[str, str]
"""Words that are said of something, and its name."""


def namings_of(source: SourceSchema) -> Iterator[Naming]:
    """Give what comments say of tables and columns."""
    for table in source.tables:
        yield table.comment, table.name
        for column in table.columns:
            yield column.comment, column.name


def learned_synonyms(namings: Iterable[Naming]) -> list[tuple[str, str]]:
    """Give words with the words of names that they stand for.

    A word stands for another where at least half of what has it is said of names that have the
    other; of several it stands for the one that is least often called anything else. Long texts
    tell nothing.
    """
    both: Counter[tuple[str, str]] = Counter()
    said: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for text, name in namings:
        words = stems(words_of(text)) - _EMPTY
        if not words or len(words) > _LONGEST_COMMENT:
            continue
        names = {word for word in stems(words_of(name)) if not word.isdigit()}
        said.update(words)
        named.update(names)
        both.update((word, one) for word in words - names for one in names)
    best: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for (word, name), count in both.items():
        if count >= _SHARE * said[word]:
            best[word].append((count / named[name], name))
    found = [
        (word, name)
        for word, others in best.items()
        for share, name in others
        if share == max(others)[0]
    ]
    return found[:_MOST_LEARNED]


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

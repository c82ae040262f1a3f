"""Turn tables into what is kept of them, and into words to find them by.

In: the tables of a source. Out: rows and entries of the index. Invariant: no value of a row is
among them. Example: the table `OrderLines` is found by `order`, `line`, and the words of its
columns and comments.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.described import to_json
from constat.catalog.schema.finding import lines_of
from constat.catalog.schema.words import words_of
from constat.store.catalog_index import Entry, KeptTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.catalog.schema.described import SourceSchema, TableSchema

_LONGEST: Final = 20_000
_LONGEST_ABOUT: Final = 200


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
            "table",
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

"""The dictionary: each text once, with a number.

In: a table with columns of texts. Out: the statements that enter its new texts, and the query of
its rows with numbers in their place. Invariant: numbers are dense from 0, and a number never
changes its text. Example: three rows of the texts `a`, `b`, `a` give the numbers 0, 1, 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import Kind
from constat.sql import changes, trees
from constat.sql.rows import TEXTS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlglot import exp


def new_texts(table: str, columns: Sequence[str], known: int) -> exp.Expr:
    """Enter the texts of these columns that the dictionary lacks; it has `known` so far."""
    listed = trees.union(
        [
            trees.select([("text", trees.bare(label))], source=trees.table(table), distinct=True)
            for label in columns
        ]
    )
    same = trees.binary("=", trees.column("d", "text"), trees.column("q", "text"))
    entry = trees.select(
        [("found", trees.integer(1))], source=trees.table(TEXTS, "d"), where=[same]
    )
    new = trees.select(
        [("text", trees.column("q", "text"))],
        source=trees.nested(listed, "q"),
        where=[trees.opposite(trees.exists(entry))],
        distinct=True,
    )
    place = trees.binary("+", trees.row_number(), trees.constant(known - 1, Kind.NUMBER))
    numbered = trees.select(
        [("number", place), ("text", trees.column("n", "text"))], source=trees.nested(new, "n")
    )
    return changes.insert(TEXTS, numbered)


def numbered_rows(table: str, width: int, texts: Collection[int], *, distinct: bool) -> exp.Select:
    """The rows of a table with the numbers of the texts in these columns."""
    outputs = [
        (f"c{place}", trees.column(f"d{place}", "number"))
        if place in texts
        else (f"c{place}", trees.column("q", f"c{place}"))
        for place in range(width)
    ]
    query = trees.select(outputs, source=trees.table(table, "q"), distinct=distinct)
    for place in sorted(texts):
        same = trees.binary("=", trees.column(f"d{place}", "text"), trees.column("q", f"c{place}"))
        trees.add_join(query, trees.table(TEXTS, f"d{place}"), [same])
    return query


def spelled_rows(table: str, encoded: Sequence[bool]) -> exp.Select:
    """The rows of a table with texts in place of numbers."""
    outputs = [
        (f"c{place}", trees.column(f"d{place}", "text") if one else trees.column("q", f"c{place}"))
        for place, one in enumerate(encoded)
    ]
    query = trees.select(outputs, source=trees.table(table, "q"))
    for place, one in enumerate(encoded):
        if one:
            number = trees.column(f"d{place}", "number")
            same = trees.binary("=", number, trees.column("q", f"c{place}"))
            trees.add_join(query, trees.table(TEXTS, f"d{place}"), [same])
    return query

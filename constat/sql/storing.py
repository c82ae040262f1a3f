"""Put rows into the tables of a database: rows of Python, arrays, or a table of exact values.

In: values in canonical form. Out: the table of a relation, with numbers where the plan wants them.
Invariants: rows go over in batches; a Decimal that its column would round is refused; a failure
leaves the relation as it was. Example: `load_rows(database, "edge", [(1, 2)])`.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from constat.evaluation import StrategyError
from constat.logic import Kind, Row
from constat.sql import changes, trees
from constat.sql.dictionary import new_texts, numbered_rows
from constat.sql.distinct import make_distinct
from constat.sql.layouts import columns_of
from constat.sql.rows import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from constat.sql.relations import Relations, Stored

_BATCH: Final = 20_000
_STAGED: Final = "staged_arrays"


def load_rows(database: Relations, name: str, rows: Iterable[Row]) -> int:
    """Add rows; give how many there were, repeated ones included."""
    stored = database.stored(name)
    relation = stored.relation
    staging = database.fresh_name(f"new {name}")
    columns = [(f"c{place}", trees.type_of(kind)) for place, kind in enumerate(relation.kinds)]
    columns = columns or [("c0", trees.type_of(Kind.NUMBER))]
    database.connection.run(changes.create_empty(staging, columns))
    decimals = [place for place, kind in enumerate(relation.kinds) if kind is Kind.DECIMAL]
    total, remaining = 0, iter(rows)
    try:
        while batch := list(islice(remaining, _BATCH)):
            for place in decimals:
                for row in batch:
                    if row[place] is not None:
                        trees.checked_decimal(Decimal(row[place]))
            database.connection.append(staging, batch if relation.arity else [(0,)] * len(batch))
            total += len(batch)
        take_staged(database, stored, staging)
    finally:
        database.connection.run(changes.drop(staging))
    return total


def take_staged(database: Relations, stored: Stored, staging: str) -> None:
    """Add the rows of a table with plain values to a relation; others drop what is left of it."""
    relation = stored.relation
    texts = [place for place, one in enumerate(relation.encoded) if one]
    if not texts and not database.estimate(relation.name):
        database.connection.run(changes.drop(stored.table))
        database.connection.run(changes.rename(staging, stored.table))
        stored.distinct, stored.rows = False, None
        return
    if texts:
        enter_texts(database, staging, texts)
    width = max(relation.arity, 1)
    query = numbered_rows(staging, width, texts, distinct=False)
    database.connection.run(changes.insert(stored.table, query))
    stored.distinct, stored.rows = False, None


def enter_texts(database: Relations, table: str, columns: Sequence[int]) -> None:
    """Enter the texts of some columns into the dictionary."""
    known = database.count_rows(TEXTS)
    labels = [f"c{place}" for place in columns]
    database.connection.run(new_texts(table, labels, known))


def store_columns(database: Relations, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
    """Take arrays, whose rows are distinct, for the rows of a relation."""
    stored = database.stored(name)
    if not columns:
        raise StrategyError("a relation without columns is no array")
    arrays = {f"c{place}": np.ascontiguousarray(one) for place, one in enumerate(columns)}
    table = database.fresh_name(name)
    outputs = [
        (label, trees.cast(trees.bare(label), kind))
        for (label, kind) in columns_of(stored.relation)
    ]
    database.connection.register(_STAGED, arrays)
    try:
        query = trees.select(outputs, source=trees.table(_STAGED))
        database.connection.run(changes.create(table, query))
    finally:
        database.connection.unregister(_STAGED)
    database.replace(name, table)


def read_columns(database: Relations, name: str) -> tuple[npt.NDArray[np.int64], ...]:
    """Give the columns of a relation of integers and numbers as arrays of int64, rows distinct."""
    make_distinct(database, name)
    stored = database.stored(name)
    relation = stored.relation
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if not encoded and kind not in {Kind.NUMBER, Kind.UNSIGNED}:
            raise StrategyError(f"{name} has a column that is no integer")
    outputs = [
        (label, trees.cast(trees.bare(label), trees.typed("BIGINT")))
        for label, _ in columns_of(relation)
    ]
    query = trees.select(outputs, source=trees.table(stored.table))
    written = database.connection.written(query)
    driver = database.connection.driver
    found = database.guarded(lambda: driver.execute(written).fetchnumpy())
    return tuple(np.asarray(found[label], dtype=np.int64) for label, _ in outputs)


def texts(database: Relations, numbers: Sequence[int]) -> list[str]:
    """Give the texts of numbers of the dictionary, in their order."""
    wanted = np.asarray(numbers, dtype=np.int64)
    arrays = {"place": np.arange(len(wanted)), "number": wanted}
    database.connection.register(_STAGED, arrays)
    try:
        query = trees.select(
            [("place", trees.column("q", "place")), ("text", trees.column("d", "text"))],
            source=trees.table(_STAGED, "q"),
        )
        same = trees.binary("=", trees.column("d", "number"), trees.column("q", "number"))
        trees.add_join(query, trees.table(TEXTS, "d"), [same])
        found = database.connection.run(query)
    finally:
        database.connection.unregister(_STAGED)
    by_place = {int(str(place)): str(value) for place, value in found}
    return [by_place[place] for place in range(len(wanted))]

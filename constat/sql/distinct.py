"""Make the table of a relation a set.

In: a relation, whose loaded rows may repeat. Out: its table without repeated rows. Invariant: a key
that is seen cheaply spares the work: a column of integers in which no value comes twice. Example:
five million orders with a number each are a set, which takes a look at one column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from constat.logic import Kind
from constat.sql import changes, trees

if TYPE_CHECKING:
    from constat.sql.relations import Relations, Stored

_ALMOST: Final = 0.7
_SPARSE: Final = 8
_SMALL: Final = 20_000
_FAR: Final = 1 << 62


def make_distinct(relations: Relations, name: str) -> None:
    """Take repeated rows away, where there are any."""
    stored = relations.stored(name)
    if stored.distinct:
        return
    if not _has_key(relations, stored):
        table = relations.fresh_name(name)
        query = trees.distinct_rows(relations.whole(stored))
        relations.connection.run(changes.create(table, query))
        relations.replace(name, table)
    stored.distinct = True


def _has_key(relations: Relations, stored: Stored) -> bool:
    """Whether one column of integers tells all rows apart."""
    total = relations.estimate(stored.relation.name)
    if not total:
        return True
    listed = zip(stored.relation.kinds, stored.relation.encoded, strict=True)
    for place, (kind, encoded) in enumerate(listed):
        if encoded or kind in {Kind.NUMBER, Kind.UNSIGNED}:
            node = trees.bare(f"c{place}")
            about = relations.aggregate(stored.table, "approx_count_distinct", node)
            if about >= _ALMOST * total and _is_key(relations, stored.table, f"c{place}", total):
                return True
    return False


def _is_key(relations: Relations, table: str, label: str, total: int) -> bool:
    known = _marked(relations, table, label, total)
    if known is not None:
        return known
    values = trees.select([("c", trees.bare(label))], source=trees.table(table), distinct=True)
    query = trees.select(
        [("n", trees.call("count", trees.integer(1)))], source=trees.nested(values, "q")
    )
    return int(str(relations.connection.run(query)[0][0])) == total


def _marked(relations: Relations, table: str, label: str, total: int) -> bool | None:
    """Whether no integer comes twice; nothing where that costs too much in this way.

    Integers that lie close together are marked in an array, which is many times faster than to
    group them.
    """
    low = relations.aggregate(table, "min", trees.bare(label))
    high = relations.aggregate(table, "max", trees.bare(label))
    if not -_FAR < low <= high < _FAR or high - low >= max(_SPARSE * total, _SMALL):
        return None
    query = trees.select([(label, trees.bare(label))], source=trees.table(table))
    read = relations.connection.written(query)
    driver = relations.connection.driver
    found = relations.guarded(lambda: driver.execute(read).fetchnumpy())
    marks = np.zeros(high - low + 1, dtype=np.bool_)
    marks[np.asarray(found[label]).astype(np.int64) - low] = True
    return int(np.count_nonzero(marks)) == total
